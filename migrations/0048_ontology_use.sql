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

-- Writes a table and its indexes anew, so that no file holds what was deleted from it, and samples it anew for the planner. Nobody
-- reads the table meanwhile. For the owner of the tables. An empty table cannot be sampled: its old samples are deleted, which an
-- older server does where a column is given its type again.
CREATE OR REPLACE FUNCTION rewrite_table(p_table text) RETURNS void
LANGUAGE plpgsql VOLATILE SET search_path = public, pg_temp
AS $$
DECLARE
    sampled record;
BEGIN
    EXECUTE (SELECT format('CLUSTER %I USING %I', t.relname, x.relname) FROM pg_class t
        JOIN pg_index i ON i.indrelid = t.oid AND i.indisprimary JOIN pg_class x ON x.oid = i.indexrelid
        WHERE t.relnamespace = 'public'::regnamespace AND t.relname = p_table);
    EXECUTE format('ALTER TABLE %I SET WITHOUT CLUSTER', p_table);
    EXECUTE format('ANALYZE %I', p_table);
    IF pg_relation_size(format('public.%I', p_table)::regclass) > 0 THEN RETURN; END IF;
    FOR sampled IN
        SELECT a.attname AS name, format_type(a.atttypid, a.atttypmod) AS type FROM pg_stats s
        JOIN pg_attribute a ON a.attrelid = format('public.%I', p_table)::regclass AND a.attname = s.attname
        WHERE s.schemaname = 'public' AND s.tablename = p_table
            AND a.atttypid IN ('text'::regtype, 'text[]'::regtype, 'jsonb'::regtype, 'bytea'::regtype)
    LOOP
        IF to_regproc('pg_catalog.pg_clear_attribute_stats') IS NOT NULL THEN
            EXECUTE 'SELECT pg_clear_attribute_stats($1, $2, $3, false)' USING 'public', p_table, sampled.name;
        ELSE
            EXECUTE format('ALTER TABLE %I ALTER COLUMN %I TYPE %s', p_table, sampled.name, sampled.type);
        END IF;
    END LOOP;
END
$$;
