-- name: newest_memories
-- The beginnings of the owner's newest accepted memories.
SELECT memory_id, left(text, 4000) AS text, occurred_at FROM memories
WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND status = 'accepted'
ORDER BY occurred_at DESC, memory_id LIMIT :limit;

-- name: memories_of_mentions
-- The beginnings of the accepted memories in which open names were seen.
SELECT DISTINCT m.memory_id, left(m.text, 4000) AS text, m.occurred_at
FROM (SELECT mention_id FROM wiki_unresolved_mentions WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND status = 'open'
    ORDER BY updated_at DESC, mention_id LIMIT :limit) o
JOIN wiki_mention_sightings s ON s.tenant_id = :tenant_id AND s.mention_id = o.mention_id
JOIN memories m ON m.tenant_id = :tenant_id AND m.owner_id = :owner_id AND m.memory_id = s.memory_id AND m.status = 'accepted'
ORDER BY m.occurred_at DESC, m.memory_id LIMIT :limit;

-- name: page_titles
-- The titles of the owner's pages that were compiled last.
SELECT title FROM wiki_pages WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND status = 'active' AND type = 'entity'
ORDER BY last_compiled_at DESC, slug LIMIT :limit;

-- name: open_names
-- The owner's open names.
SELECT alias FROM wiki_unresolved_mentions WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND status = 'open'
ORDER BY updated_at DESC, mention_id LIMIT :limit;

-- name: typed_edges
-- The owner's typed edges with the titles at their ends and a memory that states each.
SELECT l.edge_type, f.title AS source, t.title AS target, m.memory_id, left(m.text, 4000) AS text, m.occurred_at
FROM (SELECT * FROM wiki_page_links WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND edge_type <> ''
    ORDER BY created_at DESC, link_id LIMIT :limit) l
JOIN wiki_pages f ON f.tenant_id = :tenant_id AND f.page_id = l.from_page_id
JOIN wiki_pages t ON t.tenant_id = :tenant_id AND t.page_id = l.to_page_id
JOIN LATERAL (SELECT e.ref FROM wiki_link_evidence e WHERE e.tenant_id = :tenant_id AND e.link_id = l.link_id AND e.ref <> ''
    ORDER BY e.ref LIMIT 1) e ON true
JOIN memories m ON m.tenant_id = :tenant_id AND m.owner_id = :owner_id AND m.memory_id = e.ref AND m.status = 'accepted'
ORDER BY l.edge_type, m.memory_id;

-- name: signal_pages
-- The owner's pages that are in a city or whose type is held, each with the newest accepted memory that it cites and that has its
-- title.
SELECT p.title, left(p.summary, 300) AS summary, p.held_type, p.is_placed, m.memory_id, left(m.text, 4000) AS text, m.occurred_at
FROM (SELECT page_id, title, summary, CASE held_reason WHEN 'type_not_approved' THEN held_type ELSE '' END AS held_type,
        EXISTS (SELECT FROM unnest(tags) AS t (tag) WHERE t.tag LIKE 'city:%') AS is_placed
    FROM wiki_pages WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND status = 'active' AND type = 'entity'
        AND (held_reason = 'type_not_approved' OR EXISTS (SELECT FROM unnest(tags) AS t (tag) WHERE t.tag LIKE 'city:%'))
    ORDER BY last_compiled_at DESC, slug LIMIT :limit) p
CROSS JOIN LATERAL (SELECT m.memory_id, m.text, m.occurred_at FROM wiki_section_sources s
    JOIN memories m ON m.tenant_id = :tenant_id AND m.owner_id = :owner_id AND m.memory_id = s.source_ref AND m.status = 'accepted'
    WHERE s.tenant_id = :tenant_id AND s.page_id = p.page_id AND s.source_kind = 'memory' AND strpos(left(m.text, 4000), p.title) > 0
    ORDER BY m.occurred_at DESC, m.memory_id LIMIT 1) m
ORDER BY p.title, m.memory_id;

-- name: signal_sections
-- The sections of the owner's pages that have a type, without lists of pages, each with the newest accepted memory that it cites and
-- that has the page's title.
SELECT p.entity_type, s.section_slug, s.heading, s.position, p.title, '' AS summary, '' AS held_type, false AS is_placed, m.memory_id,
    left(m.text, 4000) AS text, m.occurred_at
FROM (SELECT page_id, title, entity_type FROM wiki_pages
    WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND status = 'active' AND entity_type <> ''
    ORDER BY last_compiled_at DESC, slug LIMIT :limit) p
JOIN wiki_page_sections s ON s.tenant_id = :tenant_id AND s.page_id = p.page_id AND s.aggregation IS NULL
CROSS JOIN LATERAL (SELECT m.memory_id, m.text, m.occurred_at FROM wiki_section_sources c
    JOIN memories m ON m.tenant_id = :tenant_id AND m.owner_id = :owner_id AND m.memory_id = c.source_ref AND m.status = 'accepted'
    WHERE c.tenant_id = :tenant_id AND c.section_id = s.section_id AND c.source_kind = 'memory'
        AND strpos(left(m.text, 4000), p.title) > 0
    ORDER BY m.occurred_at DESC, m.memory_id LIMIT 1) m
ORDER BY p.title, s.position, m.memory_id LIMIT :most;

-- name: typed_page_counts
-- How many of the owner's pages have each entity type.
SELECT entity_type, count(*) AS pages FROM wiki_pages
WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND status = 'active' AND entity_type <> '' GROUP BY entity_type
ORDER BY entity_type;
