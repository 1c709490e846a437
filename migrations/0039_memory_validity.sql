-- When what a memory says holds: [valid_from, valid_until) in UTC, null is open, each known to its precision. `stated_until` is the
-- end that its writer gave; `valid_until` is that, or the start of a memory that corrected or contradicted it if that is earlier.
-- `valid_until`, `until_precision` and `is_compressed` follow from the live edges, and are settled in each transaction that changes
-- one. A memory written before this is open at both ends.
ALTER TABLE memories
    ADD COLUMN valid_from timestamptz,
    ADD COLUMN stated_until timestamptz,
    ADD COLUMN valid_precision text NOT NULL DEFAULT 'instant' CHECK (valid_precision IN ('instant', 'day', 'month', 'year')),
    ADD COLUMN valid_until timestamptz,
    ADD COLUMN until_precision text NOT NULL DEFAULT 'instant' CHECK (until_precision IN ('instant', 'day', 'month', 'year')),
    ADD COLUMN is_compressed boolean NOT NULL DEFAULT false;

-- The memories whose place was taken, which a forgotten memory may give back.
CREATE INDEX memories_superseded ON memories (tenant_id, owner_id) WHERE is_compressed OR valid_until IS NOT NULL;

-- What the edges say of a memory: as they are now, or, with an instant, as they were known then. An edge counts unless it was
-- undone or its newer memory is rejected; an accepted memory yields to accepted ones only. A compressed memory stays valid.
CREATE FUNCTION memory_standing(p_tenant uuid, p_owner uuid, p_memory_id text, p_known_at timestamptz)
RETURNS TABLE (status text, is_compressed boolean, valid_until timestamptz, until_precision text) LANGUAGE sql STABLE AS $$
    WITH known AS (
        SELECT m.memory_id, m.stated_until, m.valid_precision, coalesce((
            SELECT c.old_status FROM memory_status_changes c
            WHERE c.tenant_id = p_tenant AND c.owner_id = p_owner AND c.memory_id = m.memory_id AND c.changed_at > p_known_at
            ORDER BY c.change_seq LIMIT 1), m.status) AS status
        FROM memories m WHERE m.tenant_id = p_tenant AND m.owner_id = p_owner AND m.memory_id = p_memory_id
    ), newer AS (
        SELECT s.reason, coalesce(n.valid_from, n.occurred_at) AS starts,
            CASE WHEN n.valid_from IS NULL THEN 'day' ELSE n.valid_precision END AS precision,
            coalesce((
                SELECT c.old_status FROM memory_status_changes c
                WHERE c.tenant_id = p_tenant AND c.owner_id = p_owner AND c.memory_id = n.memory_id AND c.changed_at > p_known_at
                ORDER BY c.change_seq LIMIT 1), n.status) AS status
        FROM memory_supersessions s
        JOIN memories n ON n.tenant_id = p_tenant AND n.owner_id = p_owner AND n.memory_id = s.memory_id
        WHERE s.tenant_id = p_tenant AND s.owner_id = p_owner AND s.superseded_id = p_memory_id
            AND (CASE WHEN p_known_at IS NULL THEN s.undone_at IS NULL
                ELSE s.created_at <= p_known_at AND n.created_at <= p_known_at
                    AND (s.undone_at IS NULL OR s.undone_at > p_known_at) END)
    ), live AS (
        SELECT n.reason, n.starts, n.precision FROM newer n CROSS JOIN known k
        WHERE n.status = 'accepted' OR n.status = 'candidate' AND k.status <> 'accepted'
    ), ended AS (
        SELECT min(starts) AS starts, min(precision) AS precision FROM live
        WHERE reason <> 'compressed' AND starts = (SELECT min(starts) FROM live WHERE reason <> 'compressed')
    )
    SELECT k.status, EXISTS (SELECT 1 FROM live WHERE reason = 'compressed'), least(k.stated_until, e.starts),
        CASE WHEN e.starts IS NOT NULL AND (k.stated_until IS NULL OR e.starts < k.stated_until) THEN e.precision
            WHEN k.stated_until IS NULL THEN 'instant' ELSE k.valid_precision END
    FROM known k CROSS JOIN ended e
$$;
GRANT EXECUTE ON FUNCTION memory_standing(uuid, uuid, text, timestamptz) TO sidecar_app, sidecar_worker;

-- The hash of a memory as a compile reads it: that of its text, and of when it holds if it is not open at both ends.
CREATE FUNCTION memory_hash(p_hash bytea, p_from timestamptz, p_until timestamptz, p_from_precision text, p_until_precision text)
RETURNS bytea LANGUAGE sql STABLE AS $$
    SELECT CASE WHEN p_from IS NULL AND p_until IS NULL THEN p_hash ELSE sha256(p_hash || convert_to(concat_ws('|',
        coalesce(extract(epoch FROM p_from)::text || p_from_precision, '-'),
        coalesce(extract(epoch FROM p_until)::text || p_until_precision, '-')), 'UTF8')) END
$$;
GRANT EXECUTE ON FUNCTION memory_hash(bytea, timestamptz, timestamptz, text, text) TO sidecar_app, sidecar_worker;

-- Sources of summaries, as they are.
UPDATE memories m SET is_compressed = true
FROM (SELECT DISTINCT tenant_id, owner_id, superseded_id FROM memory_supersessions WHERE reason = 'compressed') s
WHERE m.tenant_id = s.tenant_id AND m.owner_id = s.owner_id AND m.memory_id = s.superseded_id
    AND (SELECT k.is_compressed FROM memory_standing(m.tenant_id, m.owner_id, m.memory_id, NULL) k);
