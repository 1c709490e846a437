-- name: typings_of
-- The types that an ontology gave pages, or the held types.
SELECT page_id, entity_type, held_type, held_reason FROM wiki_pages
WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND page_id = ANY(:page_ids::uuid[]);

-- name: write_typings!
-- Writes pages' types.
UPDATE wiki_pages p SET entity_type = r.entity_type, held_type = r.held_type, held_reason = r.held_reason, typed_at = :now
FROM unnest(:page_ids::uuid[], :entity_types::text[], :held_types::text[], :held_reasons::text[])
    AS r (page_id, entity_type, held_type, held_reason)
WHERE p.tenant_id = :tenant_id AND p.owner_id = :owner_id AND p.page_id = r.page_id
    AND (p.entity_type, p.held_type, p.held_reason) <> (r.entity_type, r.held_type, r.held_reason);

-- name: show_sections!
-- Writes the positions and headings with which sections are shown.
UPDATE wiki_page_sections s SET shown_position = r.position, shown_heading = r.heading
FROM unnest(:section_ids::uuid[], :positions::int[], :headings::text[]) AS r (section_id, position, heading)
WHERE s.tenant_id = :tenant_id AND s.owner_id = :owner_id AND s.section_id = r.section_id
    AND (s.shown_position IS DISTINCT FROM r.position OR s.shown_heading <> r.heading);

-- name: shown_sections
-- The positions and headings with which sections are shown.
SELECT section_id, shown_position AS position, shown_heading AS heading FROM wiki_page_sections
WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND section_id = ANY(:section_ids::uuid[]);

-- name: typed_edges_at
-- The typed edges from and to some pages, each once, of some types if they are named, with the pages at their ends and the times of
-- their latest statements.
SELECT l.link_id, l.edge_type, l.held_reason, f.page_id AS source_id, t.page_id AS target_id, f.entity_type AS source_type,
    t.entity_type AS target_type, f.type || '/' || f.slug AS source_path, t.type || '/' || t.slug AS target_path,
    f.status = 'active' AND t.status = 'active' AS is_active, l.valid_from, l.valid_until, e.said_at, e.is_manual
FROM (
    SELECT o.link_id, o.edge_type, o.held_reason, o.from_page_id, o.to_page_id, o.valid_from, o.valid_until
    FROM unnest(:page_ids::uuid[]) AS r (page_id) CROSS JOIN LATERAL (
        SELECT * FROM wiki_page_links WHERE tenant_id = :tenant_id AND from_page_id = r.page_id AND edge_type <> ''
            AND (:types::text[] IS NULL OR edge_type = ANY(:types))) o
    UNION
    SELECT i.link_id, i.edge_type, i.held_reason, i.from_page_id, i.to_page_id, i.valid_from, i.valid_until
    FROM unnest(:page_ids::uuid[]) AS r (page_id) CROSS JOIN LATERAL (
        SELECT * FROM wiki_page_links WHERE tenant_id = :tenant_id AND to_page_id = r.page_id AND edge_type <> ''
            AND (:types::text[] IS NULL OR edge_type = ANY(:types))) i) l
CROSS JOIN LATERAL (SELECT page_id, entity_type, type, slug, status FROM wiki_pages
    WHERE tenant_id = :tenant_id AND page_id = l.from_page_id LIMIT 1) f
CROSS JOIN LATERAL (SELECT page_id, entity_type, type, slug, status FROM wiki_pages
    WHERE tenant_id = :tenant_id AND page_id = l.to_page_id LIMIT 1) t
CROSS JOIN LATERAL (SELECT max(said_at) AS said_at, coalesce(bool_or(origin = 'manual'), false) AS is_manual FROM wiki_link_evidence
    WHERE tenant_id = :tenant_id AND link_id = l.link_id) e
ORDER BY l.link_id;

-- name: hold_edges!
-- Writes why typed edges are held; an empty reason releases them.
UPDATE wiki_page_links l SET held_reason = r.reason, held_at = CASE WHEN r.reason = '' THEN NULL ELSE :now::timestamptz END
FROM unnest(:link_ids::uuid[], :reasons::text[]) AS r (link_id, reason)
WHERE l.tenant_id = :tenant_id AND l.owner_id = :owner_id AND l.link_id = r.link_id AND l.held_reason <> r.reason;

-- name: page_ids_after
-- The pages after a given one, including archived ones, in order of type and slug.
SELECT page_id, type, slug FROM wiki_pages
WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND (type, slug) > (:type, :slug) ORDER BY type, slug LIMIT :limit;

-- name: all_governed
-- The ontology's columns of every page, section and typed edge of a scope.
SELECT 'page' AS kind, p.type, p.slug, '' AS part, p.entity_type, p.held_type, p.held_reason, NULL::int AS position, '' AS heading
FROM wiki_pages p
WHERE p.tenant_id = :tenant_id AND p.owner_id = :owner_id AND (p.entity_type <> '' OR p.held_reason <> '')
UNION ALL
SELECT 'section', p.type, p.slug, s.section_slug, '', '', '', s.shown_position, s.shown_heading
FROM wiki_page_sections s JOIN wiki_pages p ON p.tenant_id = s.tenant_id AND p.page_id = s.page_id
WHERE s.tenant_id = :tenant_id AND s.owner_id = :owner_id AND (s.shown_position IS NOT NULL OR s.shown_heading <> '')
UNION ALL
SELECT 'edge', f.type, f.slug, l.edge_type || ' ' || t.type || '/' || t.slug || ' ' || coalesce(l.valid_from::text, ''), '', '',
    l.held_reason, NULL, ''
FROM wiki_page_links l
JOIN wiki_pages f ON f.tenant_id = l.tenant_id AND f.page_id = l.from_page_id
JOIN wiki_pages t ON t.tenant_id = l.tenant_id AND t.page_id = l.to_page_id
WHERE l.tenant_id = :tenant_id AND l.owner_id = :owner_id AND l.held_reason <> ''
ORDER BY 1, 2, 3, 4;
