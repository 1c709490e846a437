-- name: settle_edges!
-- Updates the typed edges of some pages and types from their present statements.
UPDATE wiki_page_links l SET valid_until = k.valid_until, properties = k.properties
FROM (SELECT DISTINCT page_id, edge_type FROM unnest(:page_ids::uuid[], :edge_types::text[]) AS r (page_id, edge_type)) r
JOIN wiki_page_links o ON o.tenant_id = :tenant_id AND o.from_page_id = r.page_id AND o.edge_type = r.edge_type AND o.edge_type <> ''
CROSS JOIN LATERAL edge_standing(:tenant_id, :owner_id, o.link_id, NULL) k
WHERE l.tenant_id = :tenant_id AND l.owner_id = :owner_id AND l.link_id = o.link_id
    AND (l.valid_until IS DISTINCT FROM k.valid_until OR l.properties <> k.properties);

-- name: edges_stated_by
-- The pages from which typed edges lead that some memories state, and the types of these edges.
SELECT DISTINCT l.from_page_id, l.edge_type FROM wiki_link_evidence e
CROSS JOIN LATERAL (SELECT from_page_id, edge_type FROM wiki_page_links WHERE tenant_id = :tenant_id AND link_id = e.link_id LIMIT 1) l
WHERE e.tenant_id = :tenant_id AND e.owner_id = :owner_id AND e.ref = ANY(:memory_ids::text[]) AND l.edge_type <> '';

-- name: edges_to
-- The pages from which typed edges lead to a page, and the types of these edges.
SELECT DISTINCT from_page_id, edge_type FROM wiki_page_links WHERE tenant_id = :tenant_id AND to_page_id = :page_id AND edge_type <> '';
