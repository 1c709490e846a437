-- name: owners_with_old_rows
-- Owners with rows from before the given instants.
SELECT tenant_id, owner_id FROM owners_with_old_rows(:receipts::timestamptz, :accounts::timestamptz, :limit::int);

-- name: delete_old_receipts!
-- Deletes some of an owner's old receipts, the oldest first, with what was reported about them.
DELETE FROM receipts WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND receipt_id = ANY(ARRAY(
    SELECT receipt_id FROM receipts WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND created_at < :before::timestamptz
    ORDER BY created_at LIMIT :limit::int));

-- name: delete_old_accounts!
-- Deletes some of an owner's old accounts of turns, the oldest first.
DELETE FROM turn_accounts WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND receipt_id = ANY(ARRAY(
    SELECT receipt_id FROM turn_accounts WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND created_at < :before::timestamptz
    ORDER BY created_at LIMIT :limit::int));
