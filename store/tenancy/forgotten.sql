-- name: hold_alone$
-- Waits for writes of an owner's receipts in progress, and blocks others until the transaction ends.
SELECT pg_advisory_xact_lock(hashtextextended('forgotten ' || :tenant_id::uuid || :owner_id::uuid, 0));

-- name: note_forgotten!
-- Writes undated notes, given in order of hash. Undated is a date in the far future, which the previous release can compare too.
INSERT INTO forgotten_refs (tenant_id, ref_hash, forgotten_at)
SELECT :tenant_id, r.ref_hash, '9999-12-01 00:00:00+00' FROM unnest(:ref_hashes::bytea[]) AS r (ref_hash)
ON CONFLICT (tenant_id, ref_hash) DO UPDATE SET forgotten_at = excluded.forgotten_at, dated_by = NULL;

-- name: date_notes!
-- Dates undated notes, skipping those that another transaction is dating.
UPDATE forgotten_refs SET forgotten_at = :now, dated_by = :dated_by WHERE tenant_id = :tenant_id AND ref_hash = ANY(ARRAY(
    SELECT ref_hash FROM forgotten_refs
    WHERE tenant_id = :tenant_id AND ref_hash = ANY(:ref_hashes::bytea[]) AND forgotten_at >= '9999-12-01 00:00:00+00'
    FOR UPDATE SKIP LOCKED));

-- name: let_notes_go!
-- Deletes notes older than any turn can be, skipping those that another transaction is deleting.
DELETE FROM forgotten_refs WHERE tenant_id = :tenant_id AND ref_hash = ANY(ARRAY(
    SELECT ref_hash FROM forgotten_refs WHERE tenant_id = :tenant_id AND forgotten_at < :before::timestamptz
    FOR UPDATE SKIP LOCKED));

-- name: is_forgotten_since$
-- Whether one reference was forgotten since an instant, or its note is undated.
SELECT EXISTS (SELECT FROM forgotten_refs
    WHERE tenant_id = :tenant_id AND ref_hash = :ref_hash AND forgotten_at >= :since::timestamptz);

-- name: notify_forgotten
-- Notifies listeners, when the transaction commits, that content of an owner was forgotten.
SELECT pg_notify('forgotten', :tenant_id::uuid || ' ' || :owner_id::uuid);

-- name: forgotten_since
-- Notes since an instant, and undated ones; blocks further forgetting for the owner until the transaction ends.
SELECT ref_hash, CASE WHEN forgotten_at < '9999-12-01 00:00:00+00' THEN forgotten_at END AS forgotten_at, dated_by
FROM forgotten_since(:tenant_id::uuid, :owner_id::uuid, :since::timestamptz);
