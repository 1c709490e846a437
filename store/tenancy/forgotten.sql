-- name: hold_alone$
-- Waits for who keeps receipts of an owner's, and keeps them out until the transaction ends.
SELECT pg_advisory_xact_lock(hashtextextended('forgotten ' || :tenant_id::uuid || :owner_id::uuid, 0));

-- name: note_forgotten!
-- Notes what is forgotten, given in the order of hashes, without a date: as of a day far off, which the release before can compare too.
INSERT INTO forgotten_refs (tenant_id, ref_hash, forgotten_at)
SELECT :tenant_id, r.ref_hash, '9999-12-01 00:00:00+00' FROM unnest(:ref_hashes::bytea[]) AS r (ref_hash)
ON CONFLICT (tenant_id, ref_hash) DO UPDATE SET forgotten_at = excluded.forgotten_at, dated_by = NULL;

-- name: date_notes!
-- Dates notes that have none yet; what another transaction dates meanwhile is left to it.
UPDATE forgotten_refs SET forgotten_at = :now, dated_by = :dated_by WHERE tenant_id = :tenant_id AND ref_hash = ANY(ARRAY(
    SELECT ref_hash FROM forgotten_refs
    WHERE tenant_id = :tenant_id AND ref_hash = ANY(:ref_hashes::bytea[]) AND forgotten_at >= '9999-12-01 00:00:00+00'
    FOR UPDATE SKIP LOCKED));

-- name: let_notes_go!
-- Deletes notes that no turn can be older than; what another transaction deletes meanwhile is left to it.
DELETE FROM forgotten_refs WHERE tenant_id = :tenant_id AND ref_hash = ANY(ARRAY(
    SELECT ref_hash FROM forgotten_refs WHERE tenant_id = :tenant_id AND forgotten_at < :before::timestamptz
    FOR UPDATE SKIP LOCKED));

-- name: is_forgotten_since$
-- Whether one reference was forgotten since an instant, or has no date yet.
SELECT EXISTS (SELECT FROM forgotten_refs
    WHERE tenant_id = :tenant_id AND ref_hash = :ref_hash AND forgotten_at >= :since::timestamptz);

-- name: notify_forgotten
-- Tells listeners, when the transaction commits, that something of an owner's was forgotten.
SELECT pg_notify('forgotten', :tenant_id::uuid || ' ' || :owner_id::uuid);

-- name: forgotten_since
-- What was forgotten since an instant, or has no date yet; nothing more of the owner's is until the transaction ends.
SELECT ref_hash, CASE WHEN forgotten_at < '9999-12-01 00:00:00+00' THEN forgotten_at END AS forgotten_at, dated_by
FROM forgotten_since(:tenant_id::uuid, :owner_id::uuid, :since::timestamptz);
