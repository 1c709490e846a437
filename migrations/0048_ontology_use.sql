-- How much of a tenant's wikis some terms of an ontology are about: pages whose tags or summary have a type's name, sections with a
-- template's slug, edges of a relationship type. Counts only.
CREATE FUNCTION count_ontology_use(p_tenant uuid, p_names text[], p_sections text[], p_edge_types text[])
RETURNS TABLE (kind text, name text, use_count bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_temp
AS $$
BEGIN
    IF p_tenant IS DISTINCT FROM app_tenant() THEN RETURN; END IF;
    RETURN QUERY
    SELECT 'page', n.name, (SELECT count(*) FROM wiki_pages p WHERE p.tenant_id = p_tenant AND p.status = 'active'
        AND (n.name = ANY(p.tags) OR strpos(' ' || lower(left(p.summary, 300)) || ' ', ' ' || n.name || ' ') > 0))
    FROM unnest(p_names) AS n (name)
    UNION ALL
    SELECT 'section', n.name, (SELECT count(*) FROM wiki_page_sections s WHERE s.tenant_id = p_tenant AND s.section_slug = n.name)
    FROM unnest(p_sections) AS n (name)
    UNION ALL
    SELECT 'edge', n.name, (SELECT count(*) FROM wiki_page_links l WHERE l.tenant_id = p_tenant AND l.edge_type = n.name)
    FROM unnest(p_edge_types) AS n (name);
END
$$;
ALTER FUNCTION count_ontology_use(uuid, text[], text[], text[]) OWNER TO sidecar_search;
REVOKE ALL ON FUNCTION count_ontology_use(uuid, text[], text[], text[]) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION count_ontology_use(uuid, text[], text[], text[]) TO sidecar_app, sidecar_worker;
GRANT SELECT ON wiki_page_links TO sidecar_search;
