-- name: set_status<!
-- Changes a memory's status with the feed's next number; returns the old status, or nothing.
WITH old AS (
    SELECT status FROM memories
    WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND memory_id = :memory_id AND status <> :status FOR UPDATE
)
UPDATE memories m SET status = :status, change_seq = :change_seq, updated_at = :now FROM old
WHERE m.tenant_id = :tenant_id AND m.owner_id = :owner_id AND m.memory_id = :memory_id
RETURNING old.status;

-- name: record_status_change!
-- Records a change of a memory's status.
INSERT INTO memory_status_changes (tenant_id, owner_id, memory_id, change_seq, old_status, new_status, changed_by, rule, changed_at)
VALUES (:tenant_id, :owner_id, :memory_id, :change_seq, :old_status, :new_status, :changed_by, :rule, :now);

-- name: list_status_changes
-- The changes of a memory's status, oldest first.
SELECT change_seq, old_status, new_status, changed_by, rule, changed_at FROM memory_status_changes
WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND memory_id = :memory_id ORDER BY change_seq;

-- name: settle_memories
-- Derives validity and compression from the edges again, for the given memories or, if none are given, for all that are compressed
-- or have an end of validity. Each changed memory takes the feed's next number and is returned.
WITH wanted AS (
    SELECT memory_id, valid_until, until_precision, is_compressed FROM memories
    WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND CASE WHEN :memory_ids::text[] IS NULL
        THEN is_compressed OR valid_until IS NOT NULL ELSE memory_id = ANY(:memory_ids::text[]) END
), changed AS (
    SELECT w.memory_id, k.is_compressed, k.valid_until, k.until_precision, row_number() OVER (ORDER BY w.memory_id COLLATE "C") AS step
    FROM wanted w CROSS JOIN LATERAL memory_standing(:tenant_id, :owner_id, w.memory_id, NULL) k
    WHERE (w.valid_until, w.until_precision, w.is_compressed)
        IS DISTINCT FROM (k.valid_until, k.until_precision, k.is_compressed)
)
UPDATE memories m SET valid_until = c.valid_until, until_precision = c.until_precision, is_compressed = c.is_compressed,
    change_seq = :change_seq::bigint + c.step, updated_at = :now
FROM changed c WHERE m.tenant_id = :tenant_id AND m.owner_id = :owner_id AND m.memory_id = c.memory_id
RETURNING m.memory_id, m.status, m.is_compressed;
