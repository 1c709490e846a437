-- name: pages_by_ids
-- The active ones among some pages, in no order.
SELECT p.page_id, p.type, p.slug, p.title, p.summary, p.status, p.parent_page_id, p.hubness_score, p.tags, p.entity_type, p.last_compiled_at,
    p.created_at, p.updated_at
FROM unnest(:page_ids::uuid[]) AS r (page_id) CROSS JOIN LATERAL (
    SELECT * FROM wiki_pages WHERE tenant_id = :tenant_id AND page_id = r.page_id AND status = 'active' LIMIT 1) p;

-- name: pages_by_words
-- Ids of pages by the words of a question, the last of which may be a prefix.
SELECT found_id, score, coverage FROM match_words(:tenant_id, :owner_id, :words::text[], :limit::int);

-- name: pages_by_name
-- Ids of pages by their names.
SELECT found_id, alias, way, likeness FROM match_names(:tenant_id, :owner_id, :key, :names::text[], :limit::int);
