-- What a summary stands for: the memories it was made from, down the chain, and the turns among its events. An unconfirmed summary
-- stands for no accepted memory.
CREATE FUNCTION memory_sources(p_tenant uuid, p_owner uuid, p_memory_id text, p_status text, p_events jsonb)
RETURNS TABLE (sources text[], events text[]) LANGUAGE sql STABLE AS $$
    SELECT coalesce(array_agg(o.memory_id ORDER BY o.memory_id) FILTER (WHERE o.memory_id IS NOT NULL), '{}'),
        coalesce(array_agg(g.id ORDER BY g.id) FILTER (WHERE o.memory_id IS NULL), '{}')
    FROM (
        SELECT s.superseded_id AS id FROM memory_supersessions s
        WHERE s.tenant_id = p_tenant AND s.owner_id = p_owner AND s.memory_id = p_memory_id AND s.reason = 'compressed'
            AND s.undone_at IS NULL AND p_events <> '[]'
        UNION
        SELECT e.id FROM jsonb_array_elements_text(p_events) AS e (id)) g
    LEFT JOIN memories o ON o.tenant_id = p_tenant AND o.owner_id = p_owner AND o.memory_id = g.id
    WHERE o.memory_id IS NULL OR p_status = 'accepted' OR o.status <> 'accepted'
$$;
GRANT EXECUTE ON FUNCTION memory_sources(uuid, uuid, text, text, jsonb) TO sidecar_app, sidecar_worker;
