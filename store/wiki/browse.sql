-- name: page_by_id^
-- One page without its sections, archived or not.
SELECT page_id, type, slug, title, summary, status, parent_page_id, hubness_score, tags, entity_type, last_compiled_at, created_at, updated_at
FROM wiki_pages WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND page_id = :page_id;

-- name: page_by_key^
-- The page of a type and slug, archived or not.
SELECT page_id, type, slug, title, summary, status, parent_page_id, hubness_score, tags, entity_type, last_compiled_at, created_at, updated_at
FROM wiki_pages WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND type = :type AND slug = :slug;

-- name: page_ids_by_name
-- At most ten pages with a slug or name, active ones first.
SELECT page_id FROM (
    SELECT p.page_id, p.status FROM unnest(ARRAY['entity', 'topic', 'decision']) AS t (type) CROSS JOIN LATERAL (
        SELECT page_id, status FROM wiki_pages
        WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND type = t.type AND slug = :slug LIMIT 1) p
    UNION
    SELECT a.page_id, p.status FROM wiki_page_aliases a
    JOIN wiki_pages p ON p.tenant_id = a.tenant_id AND p.page_id = a.page_id
    WHERE a.tenant_id = :tenant_id AND a.owner_id = :owner_id AND a.alias = :alias
) named ORDER BY status, page_id LIMIT 10;

-- name: read_sections
-- A page's sections as they are shown.
SELECT section_id, section_slug, coalesce(nullif(shown_heading, ''), heading) AS heading, body_md,
    coalesce(shown_position, position) AS position, last_source_at, aggregation FROM wiki_page_sections
WHERE tenant_id = :tenant_id AND page_id = :page_id ORDER BY coalesce(shown_position, position), section_slug;

-- name: read_sources
-- The memories a page cites, by subject, in their present state (a backend's: as last read); the text only on request.
SELECT s.subject, s.subject_ref, s.source_kind, s.source_ref, s.first_seen_at,
    coalesce(m.occurred_at, l.occurred_at) AS occurred_at, coalesce(m.text_hash, l.text_hash) IS NOT NULL AS is_there,
    coalesce(coalesce(m.text_hash, l.text_hash) = s.text_hash, false) AS is_current,
    CASE WHEN :with_texts::boolean THEN m.text END AS text
FROM wiki_section_sources s LEFT JOIN LATERAL (
    SELECT text, memory_hash(text_hash, valid_from, valid_until, valid_precision, until_precision) AS text_hash, occurred_at FROM memories
    WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND memory_id = s.source_ref AND s.source_kind = 'memory' LIMIT 1) m ON true
LEFT JOIN LATERAL (
    SELECT text_hash, occurred_at FROM memory_ledger
    WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND memory_id = s.source_ref AND s.source_kind = 'memory'
        AND outcome <> 'gone' LIMIT 1) l ON true
WHERE s.tenant_id = :tenant_id AND s.page_id = :page_id
ORDER BY s.subject, s.subject_ref, s.source_kind, s.source_ref;

-- name: read_source_pages
-- The pages behind a page's sections: those a section lists, or the one it was promoted to.
SELECT s.section_slug, p.page_id, p.type, p.slug, p.title FROM wiki_page_sections s CROSS JOIN LATERAL (
    SELECT k.child_page_id AS page_id FROM wiki_section_children k
    WHERE k.tenant_id = :tenant_id AND k.parent_page_id = :page_id AND k.section_id = s.section_id
    UNION
    SELECT (s.aggregation->>'promoted_page_id')::uuid WHERE s.aggregation->>'promoted_page_id' <> '') k
CROSS JOIN LATERAL (SELECT * FROM wiki_pages WHERE tenant_id = :tenant_id AND page_id = k.page_id LIMIT 1) p
WHERE s.tenant_id = :tenant_id AND s.page_id = :page_id AND s.aggregation IS NOT NULL
ORDER BY s.section_slug, p.type, p.slug;

-- name: read_aliases
-- A page's names in order of key.
SELECT alias, display, source, created_at FROM wiki_page_aliases
WHERE tenant_id = :tenant_id AND page_id = :page_id ORDER BY alias;

-- name: read_history
-- The writes that added citations to a page, newest first, each with the number of memories and the sections.
SELECT first_seen_at, count(DISTINCT source_ref) AS memories,
    coalesce(array_agg(DISTINCT subject_ref) FILTER (WHERE subject = 'section'), '{}') AS section_slugs
FROM wiki_section_sources WHERE tenant_id = :tenant_id AND page_id = :page_id
GROUP BY first_seen_at ORDER BY first_seen_at DESC LIMIT :limit;

-- name: list_pages_by_name
-- Pages of a status in order of type and slug, after a given one.
SELECT page_id, type, slug, title, summary, status, parent_page_id, hubness_score, tags, entity_type, last_compiled_at, created_at, updated_at
FROM wiki_pages
WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND status = :status AND (type, slug) > (:type, :slug)
    AND type <= :last_type
ORDER BY type, slug LIMIT :limit;

-- name: list_pages_by_hubness
-- Pages of a status by hubness, highest first.
SELECT page_id, type, slug, title, summary, status, parent_page_id, hubness_score, tags, entity_type, last_compiled_at, created_at, updated_at
FROM wiki_pages
WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND status = :status AND hubness_score <= :score::int
    AND (hubness_score < :score OR page_id > :after_id) AND (:type = '' OR type = :type)
ORDER BY hubness_score DESC, page_id LIMIT :limit;

-- name: list_pages_by_time
-- Pages of a status by compile time, latest first.
SELECT page_id, type, slug, title, summary, status, parent_page_id, hubness_score, tags, entity_type, last_compiled_at, created_at, updated_at
FROM wiki_pages
WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND status = :status AND last_compiled_at <= :before::timestamptz
    AND (last_compiled_at < :before OR page_id > :after_id) AND (:type = '' OR type = :type)
ORDER BY last_compiled_at DESC, page_id LIMIT :limit;

-- name: citations_of
-- Citations of a memory by active pages, in order of page and subject, after a given one. A memory has few. A section made
-- of pages cites their memories, each through the first page by path, unless it cites the memory directly.
WITH RECURSIVE direct AS MATERIALIZED (
    SELECT page_id, section_id, subject, subject_ref, first_seen_at, text_hash FROM wiki_section_sources
    WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND source_kind = 'memory' AND source_ref = :memory_id
), above AS (
    SELECT DISTINCT d.page_id, NULL::uuid AS section_id, NULL::uuid AS through_id FROM direct d
    UNION
    SELECT s.page_id, s.section_id, a.page_id FROM above a CROSS JOIN LATERAL (
        SELECT k.parent_page_id AS page_id, k.section_id FROM wiki_section_children k
        WHERE k.tenant_id = :tenant_id AND k.owner_id = :owner_id AND k.child_page_id = a.page_id
        UNION ALL
        SELECT w.page_id, w.section_id FROM wiki_pages c
        JOIN wiki_page_sections w ON w.tenant_id = c.tenant_id AND w.page_id = c.parent_page_id
        WHERE c.tenant_id = :tenant_id AND c.page_id = a.page_id AND w.aggregation->>'promoted_page_id' = a.page_id::text) s
    JOIN wiki_pages c ON c.tenant_id = :tenant_id AND c.page_id = a.page_id AND c.status = 'active'
), subjects AS (
    SELECT d.page_id, d.section_id, d.subject, d.subject_ref, d.first_seen_at, d.text_hash, NULL::uuid AS through_id FROM direct d
    UNION ALL
    SELECT t.page_id, t.section_id, 'section', w.section_slug, e.first_seen_at, e.text_hash, t.through_id FROM (
        SELECT DISTINCT ON (a.section_id) a.page_id, a.section_id, a.through_id FROM above a
        JOIN wiki_pages c ON c.tenant_id = :tenant_id AND c.page_id = a.through_id
        WHERE a.section_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM direct d WHERE d.section_id = a.section_id)
        ORDER BY a.section_id, c.type, c.slug) t
    JOIN wiki_page_sections w ON w.tenant_id = :tenant_id AND w.section_id = t.section_id
    CROSS JOIN (SELECT first_seen_at, text_hash FROM direct ORDER BY first_seen_at DESC, text_hash LIMIT 1) e
)
SELECT p.page_id, p.type, p.slug, p.title, p.summary, p.status, p.parent_page_id, p.hubness_score, p.tags, p.entity_type, p.last_compiled_at,
    p.created_at, p.updated_at, s.subject, s.subject_ref, s.first_seen_at,
    coalesce((SELECT coalesce(nullif(shown_heading, ''), heading) FROM wiki_page_sections
        WHERE tenant_id = :tenant_id AND section_id = s.section_id), '') AS heading,
    coalesce((SELECT memory_hash(text_hash, valid_from, valid_until, valid_precision, until_precision) FROM memories
        WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND memory_id = :memory_id), (SELECT text_hash FROM memory_ledger
        WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND memory_id = :memory_id AND outcome <> 'gone')) = s.text_hash
        IS TRUE AS is_current, t.page_id AS through_id, t.type AS through_type, t.slug AS through_slug, t.title AS through_title
FROM subjects s CROSS JOIN LATERAL (
    SELECT * FROM wiki_pages WHERE tenant_id = :tenant_id AND page_id = s.page_id AND status = 'active' LIMIT 1) p
LEFT JOIN wiki_pages t ON t.tenant_id = :tenant_id AND t.page_id = s.through_id
WHERE (s.page_id, s.subject, s.subject_ref) > (:after_id::uuid, :after_subject, :after_ref)
ORDER BY s.page_id, s.subject, s.subject_ref LIMIT :limit;

-- name: active_pages
-- The active ones among some pages, in no order.
SELECT p.page_id, p.type, p.slug, p.title, p.summary, p.status, p.parent_page_id, p.hubness_score, p.tags, p.entity_type, p.last_compiled_at,
    p.created_at, p.updated_at
FROM unnest(:page_ids::uuid[]) AS r (page_id) CROSS JOIN LATERAL (
    SELECT * FROM wiki_pages WHERE tenant_id = :tenant_id AND page_id = r.page_id AND status = 'active' LIMIT 1) p;
