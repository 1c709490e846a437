-- A statement that leaves no room for another object: from when it was said, its subject works at, or is married to, this one alone.
ALTER TABLE wiki_link_evidence ADD COLUMN is_sole boolean NOT NULL DEFAULT false;

-- What the newest statement of a typed edge says, as it is now, or, with an instant, as it was known then. The edge ends at the
-- earliest of the end that the statement gives, the end of the memory that says it, and the beginning of what a later sole
-- statement of its subject and type puts in its place. An edge that ends before it begins holds for no moment that is told.
CREATE FUNCTION edge_standing(p_tenant uuid, p_owner uuid, p_link_id uuid, p_known_at timestamptz)
RETURNS TABLE (valid_until timestamptz, properties jsonb) LANGUAGE sql STABLE AS $$
    WITH said AS (
        SELECT e.said_at, e.properties, e.valid_until, e.ref, l.from_page_id, l.to_page_id, l.edge_type, l.valid_from
        FROM wiki_page_links l JOIN wiki_link_evidence e ON e.tenant_id = p_tenant AND e.link_id = l.link_id
        WHERE l.tenant_id = p_tenant AND l.link_id = p_link_id
            AND (p_known_at IS NULL OR coalesce(e.recorded_at, l.created_at) <= p_known_at)
        ORDER BY e.said_at DESC NULLS LAST, e.origin, e.ref DESC LIMIT 1
    ), of_memory AS (
        SELECT CASE WHEN p_known_at IS NULL THEN m.valid_until
            ELSE (SELECT k.valid_until FROM memory_standing(p_tenant, p_owner, m.memory_id, p_known_at) k) END AS ended_at
        FROM said s JOIN memories m ON m.tenant_id = p_tenant AND m.owner_id = p_owner AND m.memory_id = s.ref
    ), replaced AS (
        SELECT min(CASE WHEN o.valid_from > s.said_at AND o.valid_from < e.said_at THEN o.valid_from ELSE e.said_at END) AS ended_at
        FROM said s
        JOIN wiki_page_links o ON o.tenant_id = p_tenant AND o.from_page_id = s.from_page_id AND o.edge_type = s.edge_type
            AND o.edge_type <> '' AND o.to_page_id <> s.to_page_id
        JOIN wiki_link_evidence e ON e.tenant_id = p_tenant AND e.link_id = o.link_id AND e.is_sole AND e.said_at > s.said_at
            AND (p_known_at IS NULL OR coalesce(e.recorded_at, o.created_at) <= p_known_at)
    )
    SELECT CASE WHEN t.ended_at <= s.valid_from THEN s.valid_from + interval '1 microsecond' ELSE t.ended_at END, s.properties
    FROM said s CROSS JOIN (
        SELECT least((SELECT valid_until FROM said), (SELECT ended_at FROM of_memory), (SELECT ended_at FROM replaced)) AS ended_at) t
$$;
GRANT EXECUTE ON FUNCTION edge_standing(uuid, uuid, uuid, timestamptz) TO sidecar_app, sidecar_worker;
