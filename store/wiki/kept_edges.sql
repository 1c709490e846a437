-- name: keep_ends!
-- Keeps the titles of the pages between which operators stated edges, and the memories that these pages cite.
WITH stated AS (
    SELECT DISTINCT v.page_id FROM wiki_link_evidence e
    JOIN wiki_page_links l ON l.tenant_id = :tenant_id AND l.link_id = e.link_id AND l.edge_type <> ''
    CROSS JOIN LATERAL (VALUES (l.from_page_id), (l.to_page_id)) AS v (page_id)
    WHERE e.tenant_id = :tenant_id AND e.owner_id = :owner_id AND e.origin = 'manual')
INSERT INTO wiki_kept_ends AS k (tenant_id, owner_id, page_type, page_slug, title, memory_ids)
SELECT :tenant_id, :owner_id, p.type, p.slug, p.title, ARRAY(
    SELECT DISTINCT w.source_ref FROM wiki_section_sources w
    WHERE w.tenant_id = :tenant_id AND w.page_id = p.page_id AND w.source_kind = 'memory' ORDER BY 1)
FROM stated s JOIN wiki_pages p ON p.tenant_id = :tenant_id AND p.page_id = s.page_id
ON CONFLICT (tenant_id, owner_id, page_type, page_slug) DO UPDATE SET title = excluded.title, memory_ids = excluded.memory_ids;

-- name: keep_edges$
-- Keeps an owner's typed edges by hand, of each the newest statement, and returns the number of edges.
WITH kept AS (
    INSERT INTO wiki_kept_edges AS k (tenant_id, owner_id, from_type, from_slug, to_type, to_slug, edge_type, valid_from, context,
        valid_until, said_at, properties, is_sole)
    SELECT DISTINCT ON (l.link_id) :tenant_id, :owner_id, f.type, f.slug, t.type, t.slug, l.edge_type, l.valid_from, e.context,
        e.valid_until, e.said_at, e.properties, e.is_sole
    FROM wiki_link_evidence e
    JOIN wiki_page_links l ON l.tenant_id = :tenant_id AND l.link_id = e.link_id AND l.edge_type <> ''
    JOIN wiki_pages f ON f.tenant_id = :tenant_id AND f.page_id = l.from_page_id
    JOIN wiki_pages t ON t.tenant_id = :tenant_id AND t.page_id = l.to_page_id
    WHERE e.tenant_id = :tenant_id AND e.owner_id = :owner_id AND e.origin = 'manual'
    ORDER BY l.link_id, e.said_at DESC NULLS LAST, e.context, e.ref
    ON CONFLICT (tenant_id, owner_id, from_type, from_slug, to_type, to_slug, edge_type, valid_from) DO UPDATE
        SET context = excluded.context, valid_until = excluded.valid_until, said_at = excluded.said_at,
            properties = excluded.properties, is_sole = excluded.is_sole
    RETURNING 1)
SELECT count(*) FROM kept;

-- name: count_kept$
-- How many edges of an owner wait for their pages.
SELECT count(*) FROM wiki_kept_edges WHERE tenant_id = :tenant_id AND owner_id = :owner_id;

-- name: list_kept
-- The edges that wait for their pages, with the earlier titles of these.
SELECT k.from_type, k.from_slug, f.title AS from_title, k.to_type, k.to_slug, t.title AS to_title, k.edge_type, k.valid_from,
    k.context, k.valid_until, k.said_at, k.properties, k.is_sole
FROM wiki_kept_edges k
JOIN wiki_kept_ends f ON f.tenant_id = :tenant_id AND f.owner_id = :owner_id AND f.page_type = k.from_type AND f.page_slug = k.from_slug
JOIN wiki_kept_ends t ON t.tenant_id = :tenant_id AND t.owner_id = :owner_id AND t.page_type = k.to_type AND t.page_slug = k.to_slug
WHERE k.tenant_id = :tenant_id AND k.owner_id = :owner_id
ORDER BY k.from_type, k.from_slug, k.edge_type, k.to_type, k.to_slug, k.valid_from;

-- name: release_edges$
-- Deletes kept edges, given as columns, and returns how many there were.
WITH gone AS (
    DELETE FROM wiki_kept_edges k
    USING unnest(:from_types::text[], :from_slugs::text[], :to_types::text[], :to_slugs::text[], :edge_types::text[], :valid_froms::timestamptz[])
        AS r (from_type, from_slug, to_type, to_slug, edge_type, valid_from)
    WHERE k.tenant_id = :tenant_id AND k.owner_id = :owner_id AND k.from_type = r.from_type AND k.from_slug = r.from_slug
        AND k.to_type = r.to_type AND k.to_slug = r.to_slug AND k.edge_type = r.edge_type
        AND k.valid_from IS NOT DISTINCT FROM r.valid_from
    RETURNING 1)
SELECT count(*) FROM gone;

-- name: release_ends!
-- Deletes the kept data of pages that no kept edge names any more.
DELETE FROM wiki_kept_ends p WHERE p.tenant_id = :tenant_id AND p.owner_id = :owner_id
    AND NOT EXISTS (SELECT 1 FROM wiki_kept_edges k WHERE k.tenant_id = :tenant_id AND k.owner_id = :owner_id
        AND k.from_type = p.page_type AND k.from_slug = p.page_slug)
    AND NOT EXISTS (SELECT 1 FROM wiki_kept_edges k WHERE k.tenant_id = :tenant_id AND k.owner_id = :owner_id
        AND k.to_type = p.page_type AND k.to_slug = p.page_slug);

-- name: drop_ends!
-- Deletes the kept data of some pages, and the kept edges that name them.
DELETE FROM wiki_kept_ends p USING unnest(:types::text[], :slugs::text[]) AS r (type, slug)
WHERE p.tenant_id = :tenant_id AND p.owner_id = :owner_id AND p.page_type = r.type AND p.page_slug = r.slug;

-- name: drop_ends_resting_on!
-- Deletes the kept data of pages that cited only forgotten memories, and the kept edges that name them.
DELETE FROM wiki_kept_ends
WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND memory_ids <> '{}' AND memory_ids <@ :memory_ids::text[];

-- name: take_memories_from_ends!
-- Removes forgotten memories from the kept data of pages.
UPDATE wiki_kept_ends SET memory_ids = ARRAY(SELECT m FROM unnest(memory_ids) AS m WHERE m <> ALL(:memory_ids::text[]))
WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND memory_ids && :memory_ids::text[];
