-- What the ranker reads of a text itself stands beside it, as one small number with the rule's version: see store/text/marks.py. A
-- text without one is read as before. Such texts are found by indexes that hold no others, so that the worker fills them in, and
-- later those that the release before this one writes.
ALTER TABLE turns ADD COLUMN marks smallint;
ALTER TABLE memories ADD COLUMN marks smallint;
ALTER TABLE chunks ADD COLUMN marks smallint;
CREATE INDEX turns_without_marks ON turns (tenant_id, owner_id, thread_id) WHERE marks IS NULL;
CREATE INDEX memories_without_marks ON memories (tenant_id, owner_id) WHERE marks IS NULL;
CREATE INDEX chunks_without_marks ON chunks (tenant_id, base_id) WHERE marks IS NULL;

-- One place of each kind that has such texts: ids, never content.
CREATE FUNCTION places_without_marks() RETURNS TABLE (kind text, tenant_id uuid, owner_id uuid, ref text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp SET enable_seqscan = off
AS $$
    (SELECT 'turns', t.tenant_id, t.owner_id, t.thread_id FROM turns t WHERE t.marks IS NULL
        ORDER BY t.tenant_id, t.owner_id, t.thread_id LIMIT 1)
    UNION ALL
    (SELECT 'memories', m.tenant_id, m.owner_id, '' FROM memories m WHERE m.marks IS NULL ORDER BY m.tenant_id, m.owner_id LIMIT 1)
    UNION ALL
    (SELECT 'chunks', c.tenant_id, NULL, c.base_id::text FROM chunks c WHERE c.marks IS NULL ORDER BY c.tenant_id, c.base_id LIMIT 1)
$$;
ALTER FUNCTION places_without_marks() OWNER TO sidecar_search;
REVOKE ALL ON FUNCTION places_without_marks() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION places_without_marks() TO sidecar_app, sidecar_worker;
