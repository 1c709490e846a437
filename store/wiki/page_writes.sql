-- name: write_pages!
-- Writes pages, given as columns.
INSERT INTO wiki_pages AS p (tenant_id, owner_id, page_id, type, slug, title, summary, status, parent_page_id, hubness_score, tags,
    last_compiled_at, created_at, updated_at, signature, word_count, search_tsv, changed_revision)
SELECT :tenant_id, :owner_id, r.page_id, r.type, r.slug, r.title, r.summary, r.status, r.parent_page_id, r.hubness_score,
    ARRAY(SELECT jsonb_array_elements_text(r.tags)), :now, :now, :now, r.signature, r.word_count, search_vector(r.words), :revision
FROM unnest(:page_ids::uuid[], :types::text[], :slugs::text[], :titles::text[], :summaries::text[], :statuses::text[],
    :parent_page_ids::uuid[], :hubness_scores::int[], :tags::jsonb[], :signatures::bytea[], :word_counts::int[], :words::text[])
    AS r (page_id, type, slug, title, summary, status, parent_page_id, hubness_score, tags, signature, word_count, words)
ON CONFLICT (tenant_id, page_id) DO UPDATE SET title = excluded.title, summary = excluded.summary,
    status = excluded.status, parent_page_id = excluded.parent_page_id, hubness_score = excluded.hubness_score,
    tags = excluded.tags, last_compiled_at = excluded.last_compiled_at, updated_at = excluded.updated_at,
    signature = excluded.signature, word_count = excluded.word_count, search_tsv = excluded.search_tsv,
    changed_revision = excluded.changed_revision;

-- name: remove_sections!
-- Deletes sections by id.
DELETE FROM wiki_page_sections WHERE tenant_id = :tenant_id AND section_id = ANY(:section_ids::uuid[]);

-- name: write_sections!
-- Writes sections, given as columns.
INSERT INTO wiki_page_sections AS s (tenant_id, owner_id, page_id, section_id, section_slug, heading, body_md, position,
    aggregation, last_source_at, signature, word_count, search_tsv)
SELECT :tenant_id, :owner_id, r.page_id, r.section_id, r.slug, r.heading, r.body_md, r.position, r.aggregation, r.cited_at,
    r.signature, r.word_count, search_vector(r.words)
FROM unnest(:page_ids::uuid[], :section_ids::uuid[], :slugs::text[], :headings::text[], :bodies::text[], :positions::int[],
    :aggregations::jsonb[], :cited_at::timestamptz[], :signatures::bytea[], :word_counts::int[], :words::text[])
    AS r (page_id, section_id, slug, heading, body_md, position, aggregation, cited_at, signature, word_count, words)
ON CONFLICT (tenant_id, page_id, section_slug) DO UPDATE SET heading = excluded.heading, body_md = excluded.body_md,
    position = excluded.position, aggregation = excluded.aggregation, signature = excluded.signature,
    last_source_at = greatest(s.last_source_at, excluded.last_source_at), word_count = excluded.word_count,
    search_tsv = excluded.search_tsv;

-- name: instants_of
-- The times of some memories.
SELECT memory_id, occurred_at FROM memory_ledger
WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND memory_id = ANY(:memory_ids::text[]);

-- name: remove_aliases!
-- Deletes names of pages.
DELETE FROM wiki_page_aliases a USING unnest(:page_ids::uuid[], :keys::text[]) AS r (page_id, key)
WHERE a.tenant_id = :tenant_id AND a.page_id = r.page_id AND a.alias = r.key;

-- name: write_aliases!
-- Writes names of pages.
INSERT INTO wiki_page_aliases AS a (tenant_id, owner_id, page_id, alias, display, source, created_at)
SELECT :tenant_id, :owner_id, r.page_id, r.key, r.display, r.origin, :now
FROM unnest(:page_ids::uuid[], :keys::text[], :displays::text[], :origins::text[]) AS r (page_id, key, display, origin)
ON CONFLICT (tenant_id, page_id, alias) DO UPDATE SET display = excluded.display, source = excluded.source;

-- name: remove_sources!
-- Deletes citations that subjects no longer make.
DELETE FROM wiki_section_sources w
USING unnest(:page_ids::uuid[], :subjects::text[], :refs::text[], :memory_ids::text[]) AS r (page_id, subject, ref, memory_id)
WHERE w.tenant_id = :tenant_id AND w.page_id = r.page_id AND w.subject = r.subject AND w.subject_ref = r.ref
    AND w.source_kind = 'memory' AND w.source_ref = r.memory_id;

-- name: write_sources!
-- Writes citations of memories by subjects.
INSERT INTO wiki_section_sources AS w (tenant_id, owner_id, page_id, subject, subject_ref, section_id, source_kind, source_ref,
    text_hash, first_seen_at)
SELECT :tenant_id, :owner_id, r.page_id, r.subject, r.ref, r.section_id, 'memory', r.memory_id, r.text_hash, :now
FROM unnest(:page_ids::uuid[], :subjects::text[], :refs::text[], :section_ids::uuid[], :memory_ids::text[], :text_hashes::bytea[])
    AS r (page_id, subject, ref, section_id, memory_id, text_hash)
ON CONFLICT (tenant_id, page_id, subject, subject_ref, source_kind, source_ref) DO UPDATE SET text_hash = excluded.text_hash
WHERE w.text_hash <> excluded.text_hash;

-- name: date_sections!
-- Writes the time of each section's newest memory.
UPDATE wiki_page_sections s SET last_source_at = d.last_source_at
FROM unnest(:section_ids::uuid[]) AS r (section_id) CROSS JOIN LATERAL (
    SELECT max(l.occurred_at) AS last_source_at FROM wiki_section_sources w CROSS JOIN LATERAL (
        SELECT occurred_at FROM memory_ledger
        WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND memory_id = w.source_ref LIMIT 1) l
    WHERE w.tenant_id = :tenant_id AND w.section_id = r.section_id) d
WHERE s.tenant_id = :tenant_id AND s.section_id = r.section_id AND s.last_source_at IS DISTINCT FROM d.last_source_at;

-- name: remove_children!
-- Deletes the children of sections.
DELETE FROM wiki_section_children WHERE tenant_id = :tenant_id AND section_id = ANY(:section_ids::uuid[]);

-- name: write_children!
-- Adds children to sections, unless another section of the parent has them.
INSERT INTO wiki_section_children (tenant_id, owner_id, parent_page_id, child_page_id, section_id)
SELECT :tenant_id, :owner_id, r.parent_page_id, r.child_page_id, r.section_id
FROM unnest(:parent_page_ids::uuid[], :child_page_ids::uuid[], :section_ids::uuid[]) AS r (parent_page_id, child_page_id, section_id)
ON CONFLICT (tenant_id, parent_page_id, child_page_id) DO NOTHING;

-- name: write_links
-- Creates the missing links, and returns them.
INSERT INTO wiki_page_links (tenant_id, owner_id, link_id, from_page_id, to_page_id, kind, edge_type, valid_from, created_at)
SELECT :tenant_id, :owner_id, r.link_id, r.from_page_id, r.to_page_id, r.kind, r.edge_type, r.valid_from, :now
FROM unnest(:link_ids::uuid[], :from_page_ids::uuid[], :to_page_ids::uuid[], :kinds::text[], :edge_types::text[], :valid_froms::timestamptz[])
    AS r (link_id, from_page_id, to_page_id, kind, edge_type, valid_from)
ON CONFLICT (tenant_id, from_page_id, to_page_id, kind, edge_type, valid_from) DO NOTHING RETURNING link_id;

-- name: write_causes!
-- Writes causes of existing links.
INSERT INTO wiki_link_evidence (tenant_id, owner_id, link_id, origin, context, ref, said_at, valid_until, properties, is_sole, recorded_at)
SELECT :tenant_id, :owner_id, r.link_id, r.origin, r.context, r.ref, r.said_at, r.valid_until, r.properties::jsonb, r.is_sole, :now
FROM unnest(:link_ids::uuid[], :origins::text[], :contexts::text[], :refs::text[], :said_ats::timestamptz[], :valid_untils::timestamptz[],
    :properties::text[], :are_sole::boolean[]) AS r (link_id, origin, context, ref, said_at, valid_until, properties, is_sole)
ON CONFLICT (tenant_id, link_id, origin, context, ref) DO UPDATE
    SET said_at = excluded.said_at, valid_until = excluded.valid_until, properties = excluded.properties, is_sole = excluded.is_sole,
        recorded_at = excluded.recorded_at
    WHERE (wiki_link_evidence.said_at, wiki_link_evidence.valid_until, wiki_link_evidence.properties, wiki_link_evidence.is_sole)
        IS DISTINCT FROM (excluded.said_at, excluded.valid_until, excluded.properties, excluded.is_sole);

-- name: drop_causes!
-- Deletes causes of links.
DELETE FROM wiki_link_evidence e
USING unnest(:from_page_ids::uuid[], :to_page_ids::uuid[], :kinds::text[], :edge_types::text[], :valid_froms::timestamptz[],
        :origins::text[], :contexts::text[], :refs::text[])
    AS r (from_page_id, to_page_id, kind, edge_type, valid_from, origin, context, ref), wiki_page_links l
WHERE l.tenant_id = :tenant_id AND l.owner_id = :owner_id AND l.from_page_id = r.from_page_id AND l.to_page_id = r.to_page_id
    AND l.kind = r.kind AND l.edge_type = r.edge_type AND l.valid_from IS NOT DISTINCT FROM r.valid_from
    AND e.tenant_id = l.tenant_id AND e.link_id = l.link_id AND e.origin = r.origin AND e.context = r.context AND e.ref = r.ref;

-- name: drop_links_without_cause!
-- Deletes links without causes.
DELETE FROM wiki_page_links l WHERE l.tenant_id = :tenant_id AND l.owner_id = :owner_id AND NOT EXISTS (
    SELECT 1 FROM wiki_link_evidence e WHERE e.tenant_id = :tenant_id AND e.link_id = l.link_id);

-- name: score_hubs$
-- Recomputes the hubness of some pages: reference links from active pages + 2 x promoted children + floor(mean supporting records of
-- their lists / 10). Returns how many scores changed.
WITH counted AS (
    SELECT w.page_id,
        (SELECT count(*) FROM wiki_page_links l
            WHERE l.tenant_id = :tenant_id AND l.owner_id = :owner_id AND l.to_page_id = w.page_id AND l.kind = 'reference'
                AND l.edge_type = ''
                AND EXISTS (SELECT 1 FROM wiki_pages f
                    WHERE f.tenant_id = :tenant_id AND f.page_id = l.from_page_id AND f.status = 'active' OFFSET 0))
        + 2 * (SELECT count(*) FROM wiki_pages c
            WHERE c.tenant_id = :tenant_id AND c.owner_id = :owner_id AND c.parent_page_id = w.page_id)
        + coalesce((SELECT sum((s.aggregation ->> 'supporting_record_count')::int) / (10 * count(*)) FROM wiki_page_sections s
            WHERE s.tenant_id = :tenant_id AND s.owner_id = :owner_id AND s.page_id = w.page_id
                AND s.aggregation IS NOT NULL), 0) AS score
    FROM unnest(:page_ids::uuid[]) AS w (page_id)
), changed AS (
    UPDATE wiki_pages p SET hubness_score = counted.score::int FROM counted
    WHERE p.tenant_id = :tenant_id AND p.owner_id = :owner_id AND p.page_id = counted.page_id AND p.status = 'active'
        AND p.hubness_score <> counted.score RETURNING 1)
SELECT count(*) FROM changed;

-- name: settle_search$
-- Moves the entries of the search indexes' pending lists into the indexes.
SELECT settle_search();
