-- name: insert_entries!
-- Inserts a tenant's entries, given as columns.
INSERT INTO audit_entries (tenant_id, entry_id, called_at, role, subject, token_id, via, method, about_owner, object, outcome)
SELECT :tenant_id, e.entry_id, e.called_at, e.role, e.subject, e.token_id, e.via, e.method, e.about_owner, e.object, e.outcome
FROM unnest(:entry_ids::uuid[], :called_at::timestamptz[], :roles::text[], :subjects::text[], :token_ids::text[], :vias::text[],
    :methods::text[], :owners::uuid[], :objects::text[], :outcomes::text[])
    AS e (entry_id, called_at, role, subject, token_id, via, method, about_owner, object, outcome)
ON CONFLICT (tenant_id, entry_id) DO NOTHING;

-- name: list_entries
-- A page of a tenant's entries in a time range, newest first.
SELECT entry_id, called_at, role, subject, token_id, via, method, about_owner, object, outcome FROM audit_entries
WHERE tenant_id = :tenant_id AND called_at >= :since::timestamptz
    AND (called_at, entry_id) < (:before::timestamptz, :before_id::uuid)
ORDER BY called_at DESC, entry_id DESC LIMIT :limit;

-- name: list_entries_about
-- A page of a tenant's entries about one owner in a time range, newest first.
SELECT entry_id, called_at, role, subject, token_id, via, method, about_owner, object, outcome FROM audit_entries
WHERE tenant_id = :tenant_id AND about_owner = :owner_id AND called_at >= :since::timestamptz
    AND (called_at, entry_id) < (:before::timestamptz, :before_id::uuid)
ORDER BY called_at DESC, entry_id DESC LIMIT :limit;

-- name: blank_objects!
-- Blanks the ids in the entries about an owner.
UPDATE audit_entries SET object = '' WHERE tenant_id = :tenant_id AND about_owner = :owner_id AND object <> '';

-- name: tenants_with_old_audit
-- Tenants with entries older than an instant.
SELECT tenant_id FROM tenants_with_old_audit(:before, :limit);

-- name: delete_old!
-- Deletes some of a tenant's entries older than an instant, the oldest first.
DELETE FROM audit_entries WHERE tenant_id = :tenant_id AND entry_id = ANY(ARRAY(
    SELECT entry_id FROM audit_entries WHERE tenant_id = :tenant_id AND called_at < :before::timestamptz
    ORDER BY called_at LIMIT :limit::int));
