-- name: seed_search
-- The first design's search: AND of the question's words, half as much for words as beginnings, and one whole point for an alias.
WITH alias_hits AS (
    SELECT DISTINCT a.page_id FROM wiki_page_aliases a
    INNER JOIN wiki_pages p ON p.tenant_id = a.tenant_id AND p.page_id = a.page_id
    WHERE p.tenant_id = :tenant_id AND p.owner_id = :owner_id AND p.status = 'active'
        AND (a.alias = :query OR a.alias ILIKE '%' || :query || '%')
)
SELECT p.page_id,
    coalesce(ts_rank(p.search_tsv, plainto_tsquery('english', :query)), 0)
    + coalesce(ts_rank(p.search_tsv, to_tsquery('english', :beginnings)), 0) * 0.5
    + CASE WHEN h.page_id IS NOT NULL THEN 1.0 ELSE 0.0 END AS score
FROM wiki_pages p LEFT JOIN alias_hits h ON h.page_id = p.page_id
WHERE p.tenant_id = :tenant_id AND p.owner_id = :owner_id AND p.status = 'active'
    AND (p.search_tsv @@ plainto_tsquery('english', :query) OR p.search_tsv @@ to_tsquery('english', :beginnings)
        OR h.page_id IS NOT NULL)
ORDER BY score DESC, p.last_compiled_at DESC LIMIT :limit;
