-- name: count_pages^
-- The number of an owner's active and archived pages, of active pages with a reference link, and of shared titles.
SELECT count(*) FILTER (WHERE p.status = 'active') AS pages, count(*) FILTER (WHERE p.status = 'archived') AS archived,
    count(*) FILTER (WHERE p.status = 'active' AND (EXISTS (
        SELECT 1 FROM wiki_page_links l JOIN wiki_pages o ON o.tenant_id = l.tenant_id AND o.page_id = l.to_page_id
        WHERE l.tenant_id = :tenant_id AND l.from_page_id = p.page_id AND l.kind = 'reference' AND l.edge_type = '' AND o.status = 'active'
    ) OR EXISTS (
        SELECT 1 FROM wiki_page_links l JOIN wiki_pages o ON o.tenant_id = l.tenant_id AND o.page_id = l.from_page_id
        WHERE l.tenant_id = :tenant_id AND l.to_page_id = p.page_id AND l.kind = 'reference' AND l.edge_type = '' AND o.status = 'active'))) AS linked,
    (SELECT count(*) FROM (
        SELECT 1 FROM wiki_pages t WHERE t.tenant_id = :tenant_id AND t.owner_id = :owner_id AND t.status = 'active'
        GROUP BY t.title HAVING count(*) > 1) twice) AS shared_titles
FROM wiki_pages p WHERE p.tenant_id = :tenant_id AND p.owner_id = :owner_id;

-- name: count_links
-- How many links between active pages an owner has, by kind.
SELECT l.kind, count(*) AS links FROM wiki_page_links l
JOIN wiki_pages f ON f.tenant_id = l.tenant_id AND f.page_id = l.from_page_id AND f.status = 'active'
JOIN wiki_pages t ON t.tenant_id = l.tenant_id AND t.page_id = l.to_page_id AND t.status = 'active'
WHERE l.tenant_id = :tenant_id AND l.owner_id = :owner_id AND l.edge_type = '' GROUP BY l.kind ORDER BY l.kind;

-- name: count_edge_types
-- How many typed edges between active pages an owner has, by type.
SELECT l.edge_type, count(*) AS links FROM wiki_page_links l
JOIN wiki_pages f ON f.tenant_id = l.tenant_id AND f.page_id = l.from_page_id AND f.status = 'active'
JOIN wiki_pages t ON t.tenant_id = l.tenant_id AND t.page_id = l.to_page_id AND t.status = 'active'
WHERE l.tenant_id = :tenant_id AND l.owner_id = :owner_id AND l.edge_type <> '' AND l.held_reason = '' GROUP BY l.edge_type ORDER BY l.edge_type;

-- name: count_origins
-- How many links between active pages have evidence of each origin.
SELECT e.origin, count(DISTINCT e.link_id) AS links FROM wiki_link_evidence e
JOIN wiki_page_links l ON l.tenant_id = e.tenant_id AND l.link_id = e.link_id
JOIN wiki_pages f ON f.tenant_id = l.tenant_id AND f.page_id = l.from_page_id AND f.status = 'active'
JOIN wiki_pages t ON t.tenant_id = l.tenant_id AND t.page_id = l.to_page_id AND t.status = 'active'
WHERE e.tenant_id = :tenant_id AND e.owner_id = :owner_id GROUP BY e.origin ORDER BY e.origin;

-- name: find_broken_text_links
-- Links in the texts of active pages that do not lead to an active page.
SELECT p.type AS from_type, p.slug AS from_slug, s.section_slug, m.found[1] AS type, m.found[2] AS slug, count(*) OVER () AS found
FROM wiki_page_sections s
JOIN wiki_pages p ON p.tenant_id = s.tenant_id AND p.page_id = s.page_id AND p.status = 'active'
CROSS JOIN LATERAL regexp_matches(s.body_md, '(?<!\\)(?:\\\\)*\]\(/wiki/([a-z]+)/([^)\s]+)\)', 'g') AS m (found)
WHERE s.tenant_id = :tenant_id AND s.owner_id = :owner_id AND NOT EXISTS (
    SELECT 1 FROM wiki_pages t WHERE t.tenant_id = :tenant_id AND t.owner_id = :owner_id AND t.type = m.found[1]
        AND t.slug = m.found[2] AND t.status = 'active')
ORDER BY p.type, p.slug, s.section_slug, m.found[1], m.found[2] LIMIT :limit;

-- name: find_unsourced_sections
-- Sections of active pages that cite no memory and are made of no page.
SELECT p.type, p.slug, s.section_slug, count(*) OVER () AS found FROM wiki_page_sections s
JOIN wiki_pages p ON p.tenant_id = s.tenant_id AND p.page_id = s.page_id AND p.status = 'active'
WHERE s.tenant_id = :tenant_id AND s.owner_id = :owner_id AND s.body_md <> '' AND NOT EXISTS (
        SELECT 1 FROM wiki_section_sources c WHERE c.tenant_id = :tenant_id AND c.section_id = s.section_id)
    AND NOT EXISTS (SELECT 1 FROM wiki_section_children k
        WHERE k.tenant_id = :tenant_id AND k.parent_page_id = s.page_id AND k.section_id = s.section_id)
    AND NOT EXISTS (SELECT 1 FROM wiki_pages t
        WHERE t.tenant_id = :tenant_id AND t.parent_page_id = s.page_id AND t.page_id::text = s.aggregation->>'promoted_page_id')
ORDER BY p.type, p.slug, s.section_slug LIMIT :limit;

-- name: find_duplicate_aliases
-- Names shared by several active pages of one type.
SELECT a.alias, p.type, array_agg(p.slug ORDER BY p.slug) AS slugs, count(*) OVER () AS found FROM wiki_page_aliases a
JOIN wiki_pages p ON p.tenant_id = a.tenant_id AND p.page_id = a.page_id AND p.status = 'active'
WHERE a.tenant_id = :tenant_id AND a.owner_id = :owner_id
GROUP BY a.alias, p.type HAVING count(*) > 1 ORDER BY a.alias, p.type LIMIT :limit;

-- name: find_duplicate_titles
-- Titles shared by several active pages.
SELECT p.title, array_agg(p.type || '/' || p.slug ORDER BY p.type, p.slug) AS paths, count(*) OVER () AS found FROM wiki_pages p
WHERE p.tenant_id = :tenant_id AND p.owner_id = :owner_id AND p.status = 'active'
GROUP BY p.title HAVING count(*) > 1 ORDER BY p.title LIMIT :limit;

-- name: find_stale_pages
-- Active pages last compiled before an instant.
SELECT p.type, p.slug, p.last_compiled_at, count(*) OVER () AS found FROM wiki_pages p
WHERE p.tenant_id = :tenant_id AND p.owner_id = :owner_id AND p.status = 'active' AND p.last_compiled_at < :before
ORDER BY p.last_compiled_at, p.page_id LIMIT :limit;

-- name: find_oversize_bodies
-- Active pages whose sections together exceed a number of characters.
SELECT p.type, p.slug, sum(length(s.body_md)) AS chars, count(*) OVER () AS found FROM wiki_page_sections s
JOIN wiki_pages p ON p.tenant_id = s.tenant_id AND p.page_id = s.page_id AND p.status = 'active'
WHERE s.tenant_id = :tenant_id AND s.owner_id = :owner_id
GROUP BY p.type, p.slug HAVING sum(length(s.body_md)) > :most_chars::int ORDER BY 3 DESC, p.type, p.slug LIMIT :limit;

-- name: find_waiting_edges
-- Edges that operators stated before a rebuild, and that wait for one of their pages.
SELECT from_type, from_slug, edge_type, to_type AS type, to_slug AS slug, count(*) OVER () AS found FROM wiki_kept_edges
WHERE tenant_id = :tenant_id AND owner_id = :owner_id
ORDER BY from_type, from_slug, edge_type, to_type, to_slug, valid_from LIMIT :limit;

-- name: find_ripe_mentions
-- Open held names with a minimum number of sightings since an instant, the most seen first.
SELECT m.mention_id, m.alias, count(*) AS sightings, count(*) OVER () AS found FROM wiki_unresolved_mentions m
JOIN wiki_mention_sightings s ON s.tenant_id = m.tenant_id AND s.mention_id = m.mention_id AND s.seen_at >= :since
WHERE m.tenant_id = :tenant_id AND m.owner_id = :owner_id AND m.status = 'open'
GROUP BY m.mention_id, m.alias HAVING count(*) >= :least::int ORDER BY 3 DESC, m.alias, m.mention_id LIMIT :limit;

-- name: count_evidence^
-- The number of pieces of evidence of a class, and of links without other evidence.
SELECT count(*) AS evidence, count(DISTINCT e.link_id) FILTER (WHERE NOT EXISTS (
        SELECT 1 FROM wiki_link_evidence o WHERE o.tenant_id = :tenant_id AND o.link_id = e.link_id
            AND NOT (o.origin = :origin AND starts_with(o.context, :prefix)))) AS links
FROM wiki_link_evidence e
WHERE e.tenant_id = :tenant_id AND e.owner_id = :owner_id AND e.origin = :origin AND starts_with(e.context, :prefix);

-- name: evidence_of
-- The evidence of a class, each piece with the ends of its link.
SELECT e.link_id, e.origin, e.context, e.ref, l.kind, l.edge_type, l.valid_from, f.type AS from_type, f.slug AS from_slug, t.type, t.slug
FROM wiki_link_evidence e
JOIN wiki_page_links l ON l.tenant_id = e.tenant_id AND l.link_id = e.link_id
JOIN wiki_pages f ON f.tenant_id = l.tenant_id AND f.page_id = l.from_page_id
JOIN wiki_pages t ON t.tenant_id = l.tenant_id AND t.page_id = l.to_page_id
WHERE e.tenant_id = :tenant_id AND e.owner_id = :owner_id AND e.origin = :origin AND starts_with(e.context, :prefix)
ORDER BY f.type, f.slug, t.type, t.slug, l.kind, l.edge_type, l.valid_from, e.context, e.ref;

-- name: archive_all_pages!
-- Archives every page of an owner.
UPDATE wiki_pages SET status = 'archived', updated_at = :now
WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND status = 'active';

-- name: unlink_all_parents!
-- Detaches every page of an owner from its parent, so that pages can be deleted in any order.
UPDATE wiki_pages SET parent_page_id = NULL
WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND parent_page_id IS NOT NULL;

-- name: delete_all_mentions!
-- Deletes every held name of an owner.
DELETE FROM wiki_unresolved_mentions WHERE tenant_id = :tenant_id AND owner_id = :owner_id;

-- name: delete_all_pages!
-- Deletes every page of an owner, with everything on them.
DELETE FROM wiki_pages WHERE tenant_id = :tenant_id AND owner_id = :owner_id;

-- name: read_pages_in_receipts
-- For each page, the number of assemblies since an instant that contained it, and of answers reported to have used it.
WITH kept AS MATERIALIZED (
    SELECT r.receipt_id, r.details, u.used_item_ids
    FROM (SELECT * FROM receipts
        WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND created_at >= :since
        ORDER BY created_at DESC LIMIT :most_receipts) r
    LEFT JOIN usage_reports u ON u.tenant_id = :tenant_id AND u.receipt_id = r.receipt_id
)
SELECT i.page_id, count(DISTINCT i.receipt_id) AS assemblies, count(DISTINCT i.receipt_id) FILTER (WHERE i.is_used) AS answers
FROM (
    SELECT r.receipt_id, substring(item->>'id' FROM 6 FOR 36) AS page_id, coalesce(item->>'id' = ANY(r.used_item_ids), false) AS is_used
    FROM kept r
    CROSS JOIN LATERAL jsonb_array_elements(r.details->'sources') AS source
    CROSS JOIN LATERAL jsonb_array_elements(source->'items') AS item
    WHERE source->>'source' = 'wiki' AND item->>'decision' IN ('kept', 'shortened') AND item->>'id' LIKE 'page:%'
) i GROUP BY i.page_id ORDER BY 2 DESC, 1 LIMIT :limit;

-- name: count_receipts^
-- The number of assemblies since an instant, of those with wiki content, and of answers that used it.
WITH assemblies AS MATERIALIZED (
    SELECT r.receipt_id, r.details, u.used_item_ids
    FROM (SELECT * FROM receipts
        WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND created_at >= :since
        ORDER BY created_at DESC LIMIT :most_receipts) r
    LEFT JOIN usage_reports u ON u.tenant_id = :tenant_id AND u.receipt_id = r.receipt_id
)
SELECT count(*) AS assemblies, count(*) FILTER (WHERE w.kept) AS wiki_assemblies, count(*) FILTER (WHERE w.used) AS wiki_answers
FROM assemblies r CROSS JOIN LATERAL (
    SELECT count(*) > 0 AS kept, coalesce(bool_or(item->>'id' = ANY(r.used_item_ids)), false) AS used
    FROM jsonb_array_elements(r.details->'sources') AS source, jsonb_array_elements(source->'items') AS item
    WHERE source->>'source' = 'wiki' AND item->>'decision' IN ('kept', 'shortened')) w;

-- name: compile_cost^
-- The number of an owner's compile jobs since an instant, and their model cost in US dollars.
SELECT count(*) AS jobs, coalesce(sum((metrics->>'cost_usd')::double precision), 0) AS cost_usd FROM wiki_compile_jobs
WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND created_at >= :since AND status <> 'pending';

-- name: pages_leading_to
-- The pages that lead to some pages: by a link in a section's text, by listing one, or as its parent or child.
SELECT s.page_id FROM wiki_page_sections s
WHERE s.tenant_id = :tenant_id AND s.owner_id = :owner_id
    AND EXISTS (SELECT 1 FROM unnest(:paths::text[]) AS r (path) WHERE strpos(s.body_md, r.path) > 0)
UNION
SELECT c.parent_page_id FROM wiki_section_children c WHERE c.tenant_id = :tenant_id AND c.child_page_id = ANY(:page_ids::uuid[])
UNION
SELECT p.page_id FROM wiki_pages p WHERE p.tenant_id = :tenant_id AND p.parent_page_id = ANY(:page_ids::uuid[])
UNION
SELECT p.parent_page_id FROM wiki_pages p
WHERE p.tenant_id = :tenant_id AND p.page_id = ANY(:page_ids::uuid[]) AND p.parent_page_id IS NOT NULL
ORDER BY 1;

-- name: memories_behind_pages
-- The memories cited by some pages.
SELECT DISTINCT w.source_ref FROM unnest(:types::text[], :slugs::text[]) AS r (type, slug)
CROSS JOIN LATERAL (
    SELECT page_id FROM wiki_pages
    WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND type = r.type AND slug = r.slug LIMIT 1) p
CROSS JOIN LATERAL (
    SELECT source_ref FROM wiki_section_sources WHERE tenant_id = :tenant_id AND page_id = p.page_id AND source_kind = 'memory') w;

-- name: memories_behind_mentions
-- The memories in which some names were seen.
SELECT DISTINCT s.memory_id FROM wiki_unresolved_mentions m
JOIN wiki_mention_sightings s ON s.tenant_id = m.tenant_id AND s.mention_id = m.mention_id
WHERE m.tenant_id = :tenant_id AND m.owner_id = :owner_id AND m.alias_normalized = ANY(:keys::text[]);

-- name: pages_resting_on
-- The pages that cite some memories, and the pages that list one of these pages or are its parent.
WITH resting AS (
    SELECT DISTINCT page_id FROM wiki_section_sources
    WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND source_kind = 'memory' AND source_ref = ANY(:memory_ids::text[])
)
SELECT page_id FROM resting
UNION
SELECT c.parent_page_id FROM resting r
JOIN wiki_section_children c ON c.tenant_id = :tenant_id AND c.owner_id = :owner_id AND c.child_page_id = r.page_id
UNION
SELECT p.parent_page_id FROM resting r JOIN wiki_pages p ON p.tenant_id = :tenant_id AND p.page_id = r.page_id
WHERE p.parent_page_id IS NOT NULL
ORDER BY 1;

-- name: mentions_only_in
-- The names seen in some memories and in no others.
SELECT DISTINCT m.alias_normalized FROM wiki_mention_sightings s
JOIN wiki_unresolved_mentions m ON m.tenant_id = s.tenant_id AND m.mention_id = s.mention_id
WHERE s.tenant_id = :tenant_id AND s.owner_id = :owner_id AND s.memory_id = ANY(:memory_ids::text[]) AND NOT EXISTS (
    SELECT 1 FROM wiki_mention_sightings o WHERE o.tenant_id = :tenant_id AND o.mention_id = m.mention_id
        AND o.memory_id <> ALL(:memory_ids::text[]))
ORDER BY m.alias_normalized;

-- name: forget_sightings!
-- Deletes sightings in some memories.
DELETE FROM wiki_mention_sightings
WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND memory_id = ANY(:memory_ids::text[]);

-- name: forget_settled_sightings!
-- Deletes sightings in some memories of names that have a page or are ignored.
DELETE FROM wiki_mention_sightings s USING wiki_unresolved_mentions m
WHERE s.tenant_id = :tenant_id AND s.owner_id = :owner_id AND s.memory_id = ANY(:memory_ids::text[])
    AND m.tenant_id = s.tenant_id AND m.mention_id = s.mention_id AND m.status <> 'open';

-- name: forget_mentions!
-- Deletes names without sightings.
DELETE FROM wiki_unresolved_mentions m
WHERE m.tenant_id = :tenant_id AND m.owner_id = :owner_id AND m.alias_normalized = ANY(:keys::text[]) AND NOT EXISTS (
    SELECT 1 FROM wiki_mention_sightings s WHERE s.tenant_id = :tenant_id AND s.mention_id = m.mention_id);

-- name: delete_page!
-- Deletes a page with everything on it.
DELETE FROM wiki_pages WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND page_id = :page_id;

-- name: forget_bare_mentions!
-- Deletes settled names of a page that no memory is known to have any more.
DELETE FROM wiki_unresolved_mentions m
WHERE m.tenant_id = :tenant_id AND m.promoted_page_id = :page_id AND NOT EXISTS (
    SELECT 1 FROM wiki_mention_sightings s WHERE s.tenant_id = :tenant_id AND s.mention_id = m.mention_id);

-- name: release_mentions!
-- Clears the reference to a page in settled names.
UPDATE wiki_unresolved_mentions SET promoted_page_id = NULL, updated_at = :now
WHERE tenant_id = :tenant_id AND promoted_page_id = :page_id;

-- name: mention_status^
-- A held name and its status.
SELECT alias_normalized, status FROM wiki_unresolved_mentions
WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND mention_id = :mention_id;

-- name: record_lint!
-- Records that a scope was linted.
INSERT INTO wiki_lints (tenant_id, owner_id, linted_at) VALUES (:tenant_id, :owner_id, :now)
ON CONFLICT (tenant_id, owner_id) DO UPDATE SET linted_at = excluded.linted_at;

-- name: scopes_due_lint
-- Scopes that were not linted since an instant.
SELECT tenant_id, owner_id FROM scopes_due_lint(:before, :limit::int);

-- name: places_of_memories
-- Places with other names in memories' metadata, after a given memory.
SELECT memory_id, memory_hash(text_hash, valid_from, valid_until, valid_precision, until_precision) AS text_hash,
    metadata->'place'->>'name' AS name, metadata->'place'->'alternate_names' AS others FROM memories
WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND memory_id > :after_id
    AND jsonb_typeof(metadata->'place'->'alternate_names') = 'array' AND metadata->'place'->>'name' <> ''
ORDER BY memory_id LIMIT :limit;
