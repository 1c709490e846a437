-- name: insert_edges!
-- Inserts edges, given as columns; an edge that was undone at the instant of its creation is live again.
INSERT INTO memory_supersessions (tenant_id, owner_id, memory_id, superseded_id, created_at, reason, place, job_id, evidence,
    undone_at)
SELECT :tenant_id, :owner_id, s.memory_id, s.superseded_id, s.created_at, s.reason, s.place, s.job_id, s.evidence, s.undone_at
FROM unnest(:memory_ids::text[], :superseded_ids::text[], :created_at::timestamptz[], :reasons::text[], :places::int[],
    :job_ids::uuid[], :evidence::text[], :undone_at::timestamptz[])
    AS s (memory_id, superseded_id, created_at, reason, place, job_id, evidence, undone_at)
ON CONFLICT (tenant_id, owner_id, memory_id, superseded_id, created_at) DO UPDATE SET reason = excluded.reason,
    place = excluded.place, job_id = excluded.job_id, evidence = excluded.evidence, undone_at = excluded.undone_at;

-- name: edges_to
-- The live edges to the given memories, for one reason.
SELECT memory_id, superseded_id, created_at, reason, place, job_id, evidence, undone_at FROM memory_supersessions
WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND superseded_id = ANY(:memory_ids::text[]) AND reason = :reason
    AND undone_at IS NULL
ORDER BY memory_id, place;

-- name: edges_from
-- The live edges from the given memories, for one reason, in the order of their sources.
SELECT memory_id, superseded_id, created_at, reason, place, job_id, evidence, undone_at FROM memory_supersessions
WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND memory_id = ANY(:memory_ids::text[]) AND reason = :reason
    AND undone_at IS NULL
ORDER BY memory_id, place;

-- name: edges_of
-- Every edge from or to a memory, including undone ones, oldest first.
SELECT memory_id, superseded_id, created_at, reason, place, job_id, evidence, undone_at FROM memory_supersessions
WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND (memory_id = :memory_id OR superseded_id = :memory_id)
ORDER BY created_at, memory_id, place;

-- name: superseded_by
-- The memories that live edges of the given ones lead to.
SELECT DISTINCT superseded_id FROM memory_supersessions
WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND memory_id = ANY(:memory_ids::text[]) AND undone_at IS NULL
ORDER BY superseded_id;

-- name: undo_edges!
-- Undoes the live edges that ended a memory: those of one newer memory, or of all.
UPDATE memory_supersessions SET undone_at = :now
WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND superseded_id = :superseded_id AND reason <> 'compressed'
    AND undone_at IS NULL AND (:memory_id::text IS NULL OR memory_id = :memory_id::text);

-- name: leads_to$
-- The first target that live edges lead to from a memory, or nothing.
WITH RECURSIVE reached AS (
    SELECT :memory_id::text AS memory_id
    UNION
    SELECT s.superseded_id FROM reached r CROSS JOIN LATERAL (
        SELECT superseded_id FROM memory_supersessions
        WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND memory_id = r.memory_id AND undone_at IS NULL) s
)
SELECT memory_id FROM reached WHERE memory_id = ANY(:targets::text[]) ORDER BY memory_id LIMIT 1;

-- name: ends_from
-- The live edges by which a memory ended others.
SELECT memory_id, superseded_id, created_at, reason, place, job_id, evidence, undone_at FROM memory_supersessions
WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND memory_id = :memory_id AND reason <> 'compressed' AND undone_at IS NULL
ORDER BY superseded_id;

-- name: ends_between
-- The edges, including undone ones, by which the first memory of a pair ended the second.
SELECT s.memory_id, s.superseded_id, s.created_at, s.reason, s.place, s.job_id, s.evidence, s.undone_at
FROM unnest(:memory_ids::text[], :superseded_ids::text[]) AS g (memory_id, superseded_id)
JOIN memory_supersessions s ON s.tenant_id = :tenant_id AND s.owner_id = :owner_id AND s.memory_id = g.memory_id
    AND s.superseded_id = g.superseded_id AND s.reason <> 'compressed'
ORDER BY s.created_at, s.memory_id, s.superseded_id;

-- name: planned_ends
-- The live edges by which compile jobs ended memories.
SELECT memory_id, superseded_id, created_at, reason, place, job_id, evidence, undone_at FROM memory_supersessions
WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND reason <> 'compressed' AND job_id IS NOT NULL AND undone_at IS NULL
ORDER BY created_at, memory_id, superseded_id;

-- name: drop_planned_ends
-- Deletes the edges by which compile jobs ended memories, from or to the given ones.
DELETE FROM memory_supersessions
WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND reason <> 'compressed' AND job_id IS NOT NULL
    AND (memory_id = ANY(:memory_ids::text[]) OR superseded_id = ANY(:memory_ids::text[]))
RETURNING superseded_id;

-- name: edges_below
-- The live edges on the way from a memory down to its sources, nearest first.
WITH RECURSIVE reached AS (
    SELECT :memory_id::text AS memory_id, 0 AS depth
    UNION
    SELECT s.superseded_id, r.depth + 1 FROM reached r CROSS JOIN LATERAL (
        SELECT superseded_id FROM memory_supersessions
        WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND memory_id = r.memory_id AND undone_at IS NULL
        ORDER BY place LIMIT :limit) s
    WHERE r.depth < 20
), nearest AS (
    SELECT memory_id, min(depth) AS depth FROM reached GROUP BY memory_id
)
SELECT s.memory_id, s.superseded_id, s.created_at, s.reason, s.place, s.job_id, s.evidence, s.undone_at
FROM nearest n CROSS JOIN LATERAL (
    SELECT * FROM memory_supersessions
    WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND memory_id = n.memory_id AND undone_at IS NULL) s
ORDER BY n.depth, s.memory_id, s.place, s.superseded_id LIMIT :limit;

-- name: source_turns
-- The owner's turns with the given ids, in order of time, with the beginning of their texts.
SELECT turn_id::text AS turn_id, thread_id, position, role, left(text, :chars::int) AS text, said_at FROM turns
WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND turn_id = ANY(:turn_ids::uuid[]) ORDER BY said_at, thread_id, position;

-- name: sources_of_memories
-- The memories and turns behind summaries of the given statuses.
SELECT r.memory_id, s.sources, s.events FROM unnest(:memory_ids::text[], :statuses::text[]) AS r (memory_id, status)
CROSS JOIN LATERAL (
    SELECT source_events_json FROM memories
    WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND memory_id = r.memory_id LIMIT 1) m
CROSS JOIN LATERAL memory_sources(:tenant_id, :owner_id, r.memory_id, r.status, m.source_events_json) s;
