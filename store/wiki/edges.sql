-- name: edges_at
-- The typed edges of some pages with other active pages, as of an instant and as known at one; out of them, into them, or both. In
-- order of the page, the type and the other page. An edge is known at an instant if it was recorded by then, with the end by the
-- statements recorded by then.
SELECT l.link_id, l.from_page_id, l.to_page_id, l.edge_type, l.properties, l.valid_from, l.valid_until, l.created_at,
    r.page_id, o.page_id AS other_id, o.type, o.slug, o.title
FROM unnest(:page_ids::uuid[]) WITH ORDINALITY AS r (page_id, place) CROSS JOIN LATERAL (
    SELECT k.link_id, k.from_page_id, k.to_page_id, k.edge_type, k.valid_from, k.created_at,
        CASE WHEN :known_at::timestamptz IS NULL THEN k.properties ELSE coalesce(s.properties, '{}') END AS properties,
        CASE WHEN :known_at::timestamptz IS NULL THEN k.valid_until ELSE s.valid_until END AS valid_until
    FROM (
        SELECT * FROM wiki_page_links WHERE tenant_id = :tenant_id AND from_page_id = r.page_id AND edge_type <> '' AND held_reason = ''
            AND (:types::text[] = '{}' OR edge_type = ANY(:types)) AND :outward
        UNION ALL
        SELECT * FROM wiki_page_links WHERE tenant_id = :tenant_id AND to_page_id = r.page_id AND edge_type <> '' AND held_reason = ''
            AND (:types::text[] = '{}' OR edge_type = ANY(:types)) AND :inward) k
    LEFT JOIN LATERAL edge_standing(:tenant_id, :owner_id, k.link_id, :known_at) s ON :known_at::timestamptz IS NOT NULL
    WHERE :known_at::timestamptz IS NULL OR k.created_at <= :known_at) l
CROSS JOIN LATERAL (SELECT page_id, type, slug, title FROM wiki_pages WHERE tenant_id = :tenant_id
    AND page_id = CASE WHEN l.from_page_id = r.page_id THEN l.to_page_id ELSE l.from_page_id END AND status = 'active' LIMIT 1) o
WHERE (:other_type = '' OR o.type = :other_type)
    AND (:as_of::timestamptz IS NULL OR ((l.valid_from IS NULL OR l.valid_from <= :as_of) AND (l.valid_until IS NULL OR :as_of < l.valid_until)))
ORDER BY r.place, l.edge_type, o.type, o.slug, l.valid_from, l.link_id LIMIT :limit;

-- name: edge_evidence
-- The memories and the origins of some edges' evidence, as known at an instant.
SELECT r.link_id,
    ARRAY(SELECT DISTINCT e.ref FROM wiki_link_evidence e
        WHERE e.tenant_id = :tenant_id AND e.link_id = r.link_id AND e.ref <> ''
            AND (:known_at::timestamptz IS NULL OR coalesce(e.recorded_at, l.created_at) <= :known_at) ORDER BY 1 LIMIT :most_refs) AS memory_ids,
    ARRAY(SELECT DISTINCT e.origin FROM wiki_link_evidence e
        WHERE e.tenant_id = :tenant_id AND e.link_id = r.link_id
            AND (:known_at::timestamptz IS NULL OR coalesce(e.recorded_at, l.created_at) <= :known_at) ORDER BY 1) AS origins
FROM unnest(:link_ids::uuid[]) AS r (link_id) CROSS JOIN LATERAL (
    SELECT created_at FROM wiki_page_links WHERE tenant_id = :tenant_id AND link_id = r.link_id LIMIT 1) l;

-- name: pages_with_edges
-- The pages of a scope from which a typed edge leads, or to which one does, in order of type and slug; from a place in it on.
SELECT p.page_id, p.type, p.slug, p.title FROM wiki_pages p
WHERE p.tenant_id = :tenant_id AND p.owner_id = :owner_id AND p.status = 'active' AND (p.type, p.slug) >= (:type, :slug) AND (
    (:outward AND EXISTS (
        SELECT 1 FROM wiki_page_links l WHERE l.tenant_id = :tenant_id AND l.from_page_id = p.page_id AND l.edge_type <> ''
            AND l.held_reason = '' AND (:types::text[] = '{}' OR l.edge_type = ANY(:types))))
    OR (:inward AND EXISTS (
        SELECT 1 FROM wiki_page_links l WHERE l.tenant_id = :tenant_id AND l.to_page_id = p.page_id AND l.edge_type <> ''
            AND l.held_reason = '' AND (:types::text[] = '{}' OR l.edge_type = ANY(:types)))))
ORDER BY p.type, p.slug LIMIT :limit;

-- name: page_refs
-- Pages by id.
SELECT p.page_id, p.type, p.slug, p.title FROM unnest(:page_ids::uuid[]) AS r (page_id) CROSS JOIN LATERAL (
    SELECT page_id, type, slug, title FROM wiki_pages WHERE tenant_id = :tenant_id AND page_id = r.page_id LIMIT 1) p;

-- name: edge_between^
-- The typed edge between two pages with a beginning, with the reason why it is held, if it is.
SELECT link_id, from_page_id, to_page_id, edge_type, properties, valid_from, valid_until, created_at, held_reason
FROM wiki_page_links WHERE tenant_id = :tenant_id AND from_page_id = :from_page_id AND to_page_id = :to_page_id
    AND edge_type = :edge_type AND edge_type <> '' AND valid_from IS NOT DISTINCT FROM :valid_from::timestamptz LIMIT 1;
