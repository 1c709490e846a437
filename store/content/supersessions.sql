-- name: insert_edges!
-- Inserts edges, given as columns.
INSERT INTO memory_supersessions (tenant_id, owner_id, memory_id, superseded_id, created_at, reason, place, job_id, evidence,
    undone_at)
SELECT :tenant_id, :owner_id, s.memory_id, s.superseded_id, s.created_at, s.reason, s.place, s.job_id, s.evidence, s.undone_at
FROM unnest(:memory_ids::text[], :superseded_ids::text[], :created_at::timestamptz[], :reasons::text[], :places::int[],
    :job_ids::uuid[], :evidence::text[], :undone_at::timestamptz[])
    AS s (memory_id, superseded_id, created_at, reason, place, job_id, evidence, undone_at);

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
-- Every edge from or to a memory, undone ones too, oldest first.
SELECT memory_id, superseded_id, created_at, reason, place, job_id, evidence, undone_at FROM memory_supersessions
WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND (memory_id = :memory_id OR superseded_id = :memory_id)
ORDER BY created_at, memory_id, place;
