-- name: pages!
-- Writes `count` pages of an owner, each with its title as an alias.
WITH inserted AS (
    INSERT INTO wiki_pages (tenant_id, owner_id, page_id, type, slug, title, summary, status, hubness_score, tags, last_compiled_at,
        created_at, updated_at, signature, word_count, search_tsv)
    SELECT :tenant_id, :owner_id, md5('page' || n)::uuid, 'entity', 'page-' || n, 'Page ' || n, 'It is page ' || n || '.', 'active', 0,
        '{}', :now, :now, :now, :signature, 4, search_vector('page ' || n)
    FROM generate_series(1, :count::int) AS n RETURNING tenant_id, owner_id, page_id, title)
INSERT INTO wiki_page_aliases (tenant_id, owner_id, page_id, alias, display, source, created_at)
SELECT tenant_id, owner_id, page_id, lower(title), title, 'import', :now FROM inserted;

-- name: edges!
-- Writes up to `edges` random typed edges with one piece of evidence each; a tenth of them leads to one page in a hundred.
WITH candidates AS (
    SELECT DISTINCT ON (source, target, type) md5('link' || n)::uuid AS link_id, source, target, type, n FROM (
        SELECT n, 1 + (random() * (:count::int - 1))::int AS source,
            CASE WHEN n % 10 = 0 THEN 1 + (random() * (:count::int / 100))::int ELSE 1 + (random() * (:count::int - 1))::int END AS target,
            (ARRAY['works_at', 'located_in', 'owns', 'member_of', 'authored', 'married_to'])[1 + n % 6] AS type
        FROM generate_series(1, :edges::int) AS n) t
    WHERE source <> target
), inserted AS (
    INSERT INTO wiki_page_links (tenant_id, owner_id, link_id, from_page_id, to_page_id, kind, edge_type, valid_from, valid_until, created_at)
    SELECT :tenant_id, :owner_id, link_id, md5('page' || source)::uuid, md5('page' || target)::uuid, 'reference', type,
        CASE WHEN n % 3 = 0 THEN :now::timestamptz - interval '5 years' END,
        CASE WHEN n % 7 = 0 THEN :now::timestamptz - interval '1 year' END, :now
    FROM candidates RETURNING tenant_id, owner_id, link_id)
INSERT INTO wiki_link_evidence (tenant_id, owner_id, link_id, origin, context, ref)
SELECT tenant_id, owner_id, link_id, 'deterministic', 'deterministic:edge', 'memory' FROM inserted;

-- name: edge_count$
-- Counts the typed edges.
SELECT count(*) FROM wiki_page_links WHERE edge_type <> '';

-- name: analyse#
-- Gathers statistics for the planner.
ANALYZE wiki_pages, wiki_page_aliases, wiki_page_links, wiki_link_evidence;
