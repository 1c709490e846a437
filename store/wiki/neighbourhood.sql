-- name: read_links
-- A page's links to active pages, highest hubness first, each with the origins of its evidence. A typed edge that an ontology holds
-- counts as a reference, unless there is one.
SELECT l.kind, l.created_at, t.page_id, t.type, t.slug, t.title, t.summary, t.status, t.parent_page_id, t.hubness_score, t.tags, t.entity_type,
    t.last_compiled_at, t.created_at AS page_created_at, t.updated_at,
    ARRAY(SELECT DISTINCT e.origin FROM wiki_link_evidence e
        WHERE e.tenant_id = :tenant_id AND e.link_id = l.link_id ORDER BY 1) AS origins,
    ARRAY(SELECT e.context FROM wiki_link_evidence e
        WHERE e.tenant_id = :tenant_id AND e.link_id = l.link_id ORDER BY e.origin, e.context LIMIT 5) AS contexts
FROM wiki_page_links l JOIN LATERAL (
    SELECT * FROM wiki_pages WHERE tenant_id = :tenant_id AND page_id = l.to_page_id AND status = 'active' LIMIT 1) t ON true
WHERE l.tenant_id = :tenant_id AND l.from_page_id = :page_id AND (l.edge_type = '' OR (l.held_reason <> '' AND NOT EXISTS (SELECT 1 FROM wiki_page_links u
        WHERE u.tenant_id = :tenant_id AND u.from_page_id = l.from_page_id AND u.to_page_id = l.to_page_id AND u.kind = l.kind
            AND (u.edge_type = '' OR (u.held_reason <> '' AND u.link_id < l.link_id)))))
ORDER BY t.hubness_score DESC, t.type, t.slug, l.kind LIMIT :limit;

-- name: count_neighbours^
-- The number of a page's links to and from active pages, and of active pages promoted from it.
SELECT (SELECT count(*) FROM wiki_page_links l CROSS JOIN LATERAL (
        SELECT 1 FROM wiki_pages WHERE tenant_id = :tenant_id AND page_id = l.to_page_id AND status = 'active' LIMIT 1) t
        WHERE l.tenant_id = :tenant_id AND l.from_page_id = :page_id AND (l.edge_type = '' OR (l.held_reason <> '' AND NOT EXISTS (SELECT 1 FROM wiki_page_links u
        WHERE u.tenant_id = :tenant_id AND u.from_page_id = l.from_page_id AND u.to_page_id = l.to_page_id AND u.kind = l.kind
            AND (u.edge_type = '' OR (u.held_reason <> '' AND u.link_id < l.link_id)))))) AS links,
    (SELECT count(*) FROM wiki_page_links l CROSS JOIN LATERAL (
        SELECT 1 FROM wiki_pages WHERE tenant_id = :tenant_id AND page_id = l.from_page_id AND status = 'active' LIMIT 1) f
        WHERE l.tenant_id = :tenant_id AND l.to_page_id = :page_id AND (l.edge_type = '' OR (l.held_reason <> '' AND NOT EXISTS (SELECT 1 FROM wiki_page_links u
        WHERE u.tenant_id = :tenant_id AND u.from_page_id = l.from_page_id AND u.to_page_id = l.to_page_id AND u.kind = l.kind
            AND (u.edge_type = '' OR (u.held_reason <> '' AND u.link_id < l.link_id)))))) AS backlinks,
    (SELECT count(*) FROM wiki_pages WHERE tenant_id = :tenant_id AND parent_page_id = :page_id AND status = 'active') AS children;

-- name: list_backlinks
-- Links from active pages to a page, in order of the other page's id and the kind.
SELECT l.kind, l.created_at, f.page_id, f.type, f.slug, f.title, f.summary, f.status, f.parent_page_id, f.hubness_score, f.tags, f.entity_type,
    f.last_compiled_at, f.created_at AS page_created_at, f.updated_at,
    ARRAY(SELECT DISTINCT e.origin FROM wiki_link_evidence e
        WHERE e.tenant_id = :tenant_id AND e.link_id = l.link_id ORDER BY 1) AS origins,
    ARRAY(SELECT e.context FROM wiki_link_evidence e
        WHERE e.tenant_id = :tenant_id AND e.link_id = l.link_id ORDER BY e.origin, e.context LIMIT 5) AS contexts
FROM wiki_page_links l JOIN LATERAL (
    SELECT * FROM wiki_pages WHERE tenant_id = :tenant_id AND page_id = l.from_page_id AND status = 'active' LIMIT 1) f ON true
WHERE l.tenant_id = :tenant_id AND l.to_page_id = :page_id AND (l.edge_type = '' OR (l.held_reason <> '' AND NOT EXISTS (SELECT 1 FROM wiki_page_links u
        WHERE u.tenant_id = :tenant_id AND u.from_page_id = l.from_page_id AND u.to_page_id = l.to_page_id AND u.kind = l.kind
            AND (u.edge_type = '' OR (u.held_reason <> '' AND u.link_id < l.link_id)))))
    AND (l.from_page_id, l.kind) > (:after_id::uuid, :after_kind)
ORDER BY l.from_page_id, l.kind LIMIT :limit;

-- name: children_of
-- Active children of a page in order of type and slug: those promoted from it, and those listed in its sections.
SELECT p.page_id, p.type, p.slug, p.title, p.summary, p.status, p.parent_page_id, p.hubness_score, p.tags, p.entity_type, p.last_compiled_at,
    p.created_at, p.updated_at, p.parent_page_id IS NOT DISTINCT FROM :page_id::uuid AS is_promoted,
    coalesce(c.section_slug, '') AS section_slug
FROM (
    SELECT w.page_id FROM wiki_pages w WHERE w.tenant_id = :tenant_id AND w.parent_page_id = :page_id
    UNION
    SELECT k.child_page_id FROM wiki_section_children k WHERE k.tenant_id = :tenant_id AND k.parent_page_id = :page_id
) one
CROSS JOIN LATERAL (
    SELECT * FROM wiki_pages WHERE tenant_id = :tenant_id AND page_id = one.page_id AND status = 'active' LIMIT 1) p
LEFT JOIN LATERAL (
    SELECT s.section_slug FROM wiki_section_children k
    JOIN wiki_page_sections s ON s.tenant_id = k.tenant_id AND s.section_id = k.section_id
    WHERE k.tenant_id = :tenant_id AND k.parent_page_id = :page_id AND k.child_page_id = one.page_id LIMIT 1) c ON true
WHERE (p.type, p.slug) > (:type, :slug)
ORDER BY p.type, p.slug LIMIT :limit;

-- name: neighbours
-- The active pages linked to or from some pages, highest hubness first, without the excluded ones.
SELECT p.page_id FROM (
    SELECT l.to_page_id AS page_id FROM unnest(:page_ids::uuid[]) AS r (page_id) CROSS JOIN LATERAL (
        SELECT to_page_id FROM wiki_page_links WHERE tenant_id = :tenant_id AND from_page_id = r.page_id LIMIT :fan_out) l
    UNION
    SELECT l.from_page_id FROM unnest(:page_ids::uuid[]) AS r (page_id) CROSS JOIN LATERAL (
        SELECT from_page_id FROM wiki_page_links WHERE tenant_id = :tenant_id AND to_page_id = r.page_id LIMIT :fan_out) l
) near CROSS JOIN LATERAL (
    SELECT page_id, hubness_score FROM wiki_pages
    WHERE tenant_id = :tenant_id AND page_id = near.page_id AND status = 'active' LIMIT 1) p
WHERE p.page_id <> ALL(:known_ids::uuid[]) ORDER BY p.hubness_score DESC, p.page_id LIMIT :limit;

-- name: edges_among
-- The links among some pages, each with the origins of its evidence. A typed edge that is held is a reference, unless there is one.
-- As known at an instant: the links recorded by then, and the ends of typed edges by the statements recorded by then.
SELECT l.from_page_id, l.to_page_id, l.kind, CASE WHEN l.held_reason = '' THEN l.edge_type ELSE '' END AS edge_type,
    CASE WHEN l.held_reason = '' THEN l.valid_from END AS valid_from,
    CASE WHEN l.held_reason = '' THEN CASE WHEN :known_at::timestamptz IS NULL THEN l.valid_until ELSE k.valid_until END END AS valid_until,
    ARRAY(SELECT DISTINCT e.origin FROM wiki_link_evidence e
        WHERE e.tenant_id = :tenant_id AND e.link_id = l.link_id ORDER BY 1) AS origins
FROM unnest(:page_ids::uuid[]) AS r (page_id) CROSS JOIN LATERAL (
    SELECT * FROM wiki_page_links
    WHERE tenant_id = :tenant_id AND from_page_id = r.page_id AND to_page_id = ANY(:page_ids)
        AND (:known_at::timestamptz IS NULL OR created_at <= :known_at)) l
LEFT JOIN LATERAL edge_standing(:tenant_id, :owner_id, l.link_id, :known_at) k ON :known_at::timestamptz IS NOT NULL AND l.edge_type <> ''
WHERE l.edge_type = '' OR l.held_reason = '' OR (l.held_reason <> '' AND NOT EXISTS (SELECT 1 FROM wiki_page_links u
        WHERE u.tenant_id = :tenant_id AND u.from_page_id = l.from_page_id AND u.to_page_id = l.to_page_id AND u.kind = l.kind
            AND (u.edge_type = '' OR (u.held_reason <> '' AND u.link_id < l.link_id))))
ORDER BY l.from_page_id, l.to_page_id, l.kind, l.edge_type, l.valid_from LIMIT :limit;
