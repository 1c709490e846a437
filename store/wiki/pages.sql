-- name: put_page<!
-- Creates or updates a page, and returns its id; an existing page keeps its id. Its row is locked until the transaction ends.
INSERT INTO wiki_pages AS p (tenant_id, owner_id, page_id, type, slug, title, summary, status, parent_page_id, hubness_score, tags,
    last_compiled_at, created_at, updated_at, signature, word_count, search_tsv)
VALUES (:tenant_id, :owner_id, :page_id, :type, :slug, :title, :summary, 'active', NULL, 0, :tags::text[], :now, :now, :now,
    :signature, :word_count, search_vector(:words))
ON CONFLICT (tenant_id, owner_id, type, slug) DO UPDATE SET title = excluded.title, summary = excluded.summary, status = 'active',
    tags = excluded.tags, last_compiled_at = excluded.last_compiled_at, updated_at = excluded.updated_at,
    signature = excluded.signature, word_count = excluded.word_count, search_tsv = excluded.search_tsv
RETURNING page_id;

-- name: delete_other_sections!
-- Deletes the sections of a page except the named ones.
DELETE FROM wiki_page_sections
WHERE tenant_id = :tenant_id AND page_id = :page_id AND section_slug <> ALL(:section_slugs::text[]);

-- name: put_sections!
-- Writes sections of a page, given as columns. An existing section keeps its id.
INSERT INTO wiki_page_sections AS s (tenant_id, owner_id, page_id, section_id, section_slug, heading, body_md, position, signature,
    word_count, search_tsv)
SELECT :tenant_id, :owner_id, :page_id, r.section_id, r.section_slug, r.heading, r.body_md, r.position, r.signature, r.word_count,
    search_vector(r.words)
FROM unnest(:section_ids::uuid[], :section_slugs::text[], :headings::text[], :bodies::text[], :positions::int[],
    :signatures::bytea[], :word_counts::int[], :words::text[])
    AS r (section_id, section_slug, heading, body_md, position, signature, word_count, words)
ON CONFLICT (tenant_id, page_id, section_slug) DO UPDATE SET heading = excluded.heading, body_md = excluded.body_md,
    position = excluded.position, signature = excluded.signature, word_count = excluded.word_count,
    search_tsv = excluded.search_tsv;

-- name: delete_other_aliases!
-- Deletes the aliases of a page except the named ones.
DELETE FROM wiki_page_aliases
WHERE tenant_id = :tenant_id AND page_id = :page_id AND alias <> ALL(:aliases::text[]);

-- name: put_aliases!
-- Writes aliases of a page: the folded keys and the names as written.
INSERT INTO wiki_page_aliases AS a (tenant_id, owner_id, page_id, alias, display, source, created_at)
SELECT :tenant_id, :owner_id, :page_id, r.alias, r.display, 'import', :now
FROM unnest(:aliases::text[], :displays::text[]) AS r (alias, display)
ON CONFLICT (tenant_id, page_id, alias) DO UPDATE SET display = excluded.display;

-- name: delete_other_sources!
-- Deletes the citations of a page's sections except the given pairs of section and memory.
DELETE FROM wiki_section_sources w
WHERE w.tenant_id = :tenant_id AND w.page_id = :page_id AND w.subject = 'section' AND NOT EXISTS (
    SELECT 1 FROM unnest(:section_slugs::text[], :memory_ids::text[]) AS r (section_slug, memory_id)
    WHERE r.section_slug = w.subject_ref AND r.memory_id = w.source_ref);

-- name: put_sources!
-- Writes citations of memories by the sections of a page, and returns how many pairs were written: those of a known memory.
INSERT INTO wiki_section_sources AS w (tenant_id, owner_id, page_id, subject, subject_ref, section_id, source_kind, source_ref,
    text_hash, first_seen_at)
SELECT :tenant_id, :owner_id, :page_id, 'section', r.section_slug, s.section_id, 'memory', r.memory_id, m.text_hash, :now
FROM unnest(:section_slugs::text[], :memory_ids::text[]) AS r (section_slug, memory_id)
CROSS JOIN LATERAL (
    SELECT section_id FROM wiki_page_sections
    WHERE tenant_id = :tenant_id AND page_id = :page_id AND section_slug = r.section_slug LIMIT 1) s
CROSS JOIN LATERAL (
    SELECT memory_hash(text_hash, valid_from, valid_until, valid_precision, until_precision) AS text_hash FROM memories
    WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND memory_id = r.memory_id LIMIT 1) m
ON CONFLICT (tenant_id, page_id, subject, subject_ref, source_kind, source_ref) DO UPDATE SET text_hash = excluded.text_hash;

-- name: recall_wiki
-- The sections and the page summaries that match a question, with the memories they cite and match data.
-- The pages are counted once, for both.
WITH sections AS MATERIALIZED (
    SELECT * FROM recall_sections(:tenant_id, :owner_id, :words::text[], :embedder_no::int, :vectors::text[], :limit::int, :weights::real[])
)
SELECT f.matched, f.cosines, f.frequencies, f.total, 'section' AS kind, p.page_id, p.type, p.slug, p.title, p.summary,
    p.last_compiled_at, CASE WHEN p.page_id IS NOT NULL THEN s.body_md END AS text,
    ARRAY(SELECT w.source_ref FROM wiki_section_sources w
        WHERE w.tenant_id = :tenant_id AND w.section_id = s.section_id AND w.source_kind = 'memory'
        ORDER BY w.source_ref) AS memory_ids,
    s.signature, s.section_slug, coalesce(nullif(s.shown_heading, ''), s.heading) AS heading, s.position
FROM sections f
LEFT JOIN LATERAL (
    SELECT * FROM wiki_page_sections WHERE tenant_id = :tenant_id AND section_id = f.found_id LIMIT 1) s ON true
LEFT JOIN LATERAL (
    SELECT * FROM wiki_pages WHERE tenant_id = :tenant_id AND page_id = s.page_id AND status = 'active' LIMIT 1) p ON true
UNION ALL
SELECT f.matched, f.cosines, f.frequencies, f.total, 'page', p.page_id, p.type, p.slug, p.title, p.summary,
    p.last_compiled_at, p.summary,
    ARRAY(SELECT w.source_ref FROM wiki_section_sources w
        WHERE w.tenant_id = :tenant_id AND w.page_id = p.page_id AND w.subject = 'summary' AND w.source_kind = 'memory'
        ORDER BY w.source_ref),
    p.signature, '', '', -1
FROM recall_pages(:tenant_id, :owner_id, :words::text[], :embedder_no::int, :vectors::text[], :limit::int,
    (SELECT max(total) FROM sections), :weights::real[]) f
LEFT JOIN LATERAL (
    SELECT * FROM wiki_pages WHERE tenant_id = :tenant_id AND page_id = f.found_id AND status = 'active' LIMIT 1) p ON true;

-- name: passages_of_pages
-- The summaries and the first sections of given pages, with the memories they cite and match data, page by page. A text without a
-- vector has no cosines.
SELECT f.matched, CASE WHEN array_position(f.cosines, NULL) IS NULL THEN f.cosines END AS cosines, NULL::integer[] AS frequencies,
    0 AS total, p.page_id, p.type, p.slug, p.title, p.summary, p.last_compiled_at,
    CASE WHEN f.section_id IS NULL THEN p.summary ELSE s.body_md END AS text,
    ARRAY(SELECT w.source_ref FROM wiki_section_sources w
        WHERE w.tenant_id = :tenant_id AND w.page_id = f.page_id AND w.source_kind = 'memory'
            AND CASE WHEN f.section_id IS NULL THEN w.subject = 'summary' ELSE w.section_id = f.section_id END
        ORDER BY w.source_ref) AS memory_ids,
    coalesce(s.signature, p.signature) AS signature, coalesce(s.section_slug, '') AS section_slug,
    coalesce(nullif(s.shown_heading, ''), s.heading, '') AS heading, coalesce(s.position, -1) AS position
FROM recall_of_pages(:tenant_id, :owner_id, :page_ids::uuid[], :words::text[], :embedder_no::int, :vectors::text[], :each::int) f
LEFT JOIN LATERAL (
    SELECT * FROM wiki_page_sections WHERE tenant_id = :tenant_id AND section_id = f.section_id LIMIT 1) s ON true
CROSS JOIN LATERAL (
    SELECT * FROM wiki_pages WHERE tenant_id = :tenant_id AND page_id = f.page_id AND status = 'active' LIMIT 1) p;

-- name: keep_page_count$
-- Counts the owner's active pages and stores the number with the wiki's revision.
SELECT keep_active_pages(:tenant_id, :owner_id);
