-- name: pages_by_words
-- Ids of pages by the words of a question, the last of which may be a prefix.
SELECT found_id, score, coverage FROM tenants AS t CROSS JOIN match_words(:tenant_id, :owner_id, :words::text[], :limit::int)
WHERE t.tenant_id = :tenant_id;

-- name: pages_by_name
-- Ids of pages by their names.
SELECT found_id, alias, way, likeness FROM tenants AS t CROSS JOIN match_names(:tenant_id, :owner_id, :key, :names::text[], :limit::int)
WHERE t.tenant_id = :tenant_id;
