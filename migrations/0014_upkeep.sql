-- What reading the wiki and keeping it up needs: orders to page by, and the search for names and beginnings of words.
CREATE INDEX wiki_pages_by_hubness ON wiki_pages (tenant_id, owner_id, status, hubness_score DESC, page_id);
CREATE INDEX wiki_pages_by_time ON wiki_pages (tenant_id, owner_id, status, last_compiled_at DESC, page_id);
CREATE INDEX wiki_page_links_backlinks ON wiki_page_links (tenant_id, to_page_id, from_page_id, kind);
DROP INDEX wiki_page_links_by_target;
CREATE INDEX wiki_link_evidence_by_origin ON wiki_link_evidence (tenant_id, owner_id, origin, context);
CREATE INDEX wiki_unresolved_mentions_by_time ON wiki_unresolved_mentions (tenant_id, owner_id, status, updated_at DESC, mention_id);
CREATE INDEX wiki_unresolved_mentions_by_page ON wiki_unresolved_mentions (tenant_id, promoted_page_id);
CREATE INDEX wiki_section_children_by_child ON wiki_section_children (tenant_id, child_page_id);

-- When a scope was last looked over for what is amiss.
CREATE TABLE wiki_lints (
    tenant_id uuid NOT NULL REFERENCES tenants,
    owner_id uuid NOT NULL,
    linted_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, owner_id)
);
ALTER TABLE wiki_lints ENABLE ROW LEVEL SECURITY;
CREATE POLICY owner ON wiki_lints USING (tenant_id = app_tenant() AND owner_id = app_owner());
GRANT SELECT, INSERT, UPDATE, DELETE ON wiki_lints TO sidecar_app, sidecar_worker;
GRANT SELECT ON wiki_lints, wiki_compile_cursors TO sidecar_search;

-- Which scopes with a wiki were not looked over since an instant: ids only.
CREATE FUNCTION scopes_due_lint(p_before timestamptz, p_limit integer) RETURNS TABLE (tenant_id uuid, owner_id uuid)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp
AS $$
    SELECT c.tenant_id, c.owner_id FROM wiki_compile_cursors c
    WHERE c.wiki_revision > 0 AND NOT EXISTS (
        SELECT 1 FROM wiki_lints l WHERE l.tenant_id = c.tenant_id AND l.owner_id = c.owner_id AND l.linted_at >= p_before)
    ORDER BY c.tenant_id, c.owner_id LIMIT p_limit
$$;

-- A word that may be the beginning of a longer one.
CREATE FUNCTION beginning_query(p_word text) RETURNS tsquery LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$ SELECT to_tsquery('simple'::regconfig, '''' || translate(p_word, '''\', '') || ''':*') $$;

-- As search_pages, but the last word may be the beginning of one, if it has two letters or more.
CREATE FUNCTION match_words(p_tenant uuid, p_owner uuid, p_words text[], p_limit integer)
RETURNS TABLE (found_id uuid, score double precision, coverage double precision)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_temp SET enable_seqscan = off
AS $$
BEGIN
    IF p_tenant IS DISTINCT FROM app_tenant() OR p_owner IS DISTINCT FROM app_owner() THEN RETURN; END IF;
    RETURN QUERY
    WITH words AS (
        SELECT w.ord, CASE WHEN w.ord = cardinality(p_words) AND length(w.word) > 1
            THEN word_query(w.word) || beginning_query(w.word) ELSE word_query(w.word) END AS q
        FROM unnest(p_words) WITH ORDINALITY AS w (word, ord)
    ), hits AS (
        SELECT words.ord, found.page_id, found.word_count FROM words CROSS JOIN LATERAL (
            SELECT p.page_id, p.word_count FROM wiki_pages p
            WHERE p.tenant_id = p_tenant AND p.owner_id = p_owner AND p.search_tsv @@ words.q AND p.status = 'active'
            LIMIT 400) found
    ), weights AS (
        SELECT words.ord, word_weight(count(hits.ord)) AS weight FROM words LEFT JOIN hits USING (ord) GROUP BY words.ord
        ORDER BY count(hits.ord) = 0, 2 DESC, 1 LIMIT 8
    )
    SELECT hits.page_id, sum(weight * length_share(hits.word_count, 150)), sum(weight) / (SELECT sum(weight) FROM weights)
    FROM hits JOIN weights USING (ord) GROUP BY hits.page_id ORDER BY 2 DESC, 1 LIMIT p_limit;
END
$$;

-- Active pages by name: one of the keys whole, the question as the beginning of a name, or a name much like it (by trigrams).
CREATE FUNCTION match_names(p_tenant uuid, p_owner uuid, p_key text, p_names text[], p_limit integer)
RETURNS TABLE (found_id uuid, alias text, way text, likeness double precision)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_temp SET enable_seqscan = off
AS $$
BEGIN
    IF p_tenant IS DISTINCT FROM app_tenant() OR p_owner IS DISTINCT FROM app_owner() THEN RETURN; END IF;
    RETURN QUERY
    WITH found AS (
        (SELECT a.page_id, n.name, 'whole' AS how, 1.0::double precision AS much FROM unnest(p_names) AS n (name) CROSS JOIN LATERAL (
            SELECT w.page_id FROM wiki_page_aliases w
            WHERE w.tenant_id = p_tenant AND w.owner_id = p_owner AND w.alias = n.name ORDER BY w.alias LIMIT 20) a)
        UNION ALL
        (SELECT a.page_id, a.alias, 'beginning', length(p_key)::double precision / greatest(length(a.alias), 1) FROM wiki_page_aliases a
         WHERE a.tenant_id = p_tenant AND a.owner_id = p_owner AND length(p_key) > 1
             AND a.alias LIKE replace(replace(replace(p_key, '\', '\\'), '%', '\%'), '_', '\_') || '%' LIMIT 400)
        UNION ALL
        (SELECT a.page_id, a.alias, 'similar', similarity(a.alias, p_key)::double precision FROM wiki_page_aliases a
         WHERE a.tenant_id = p_tenant AND a.owner_id = p_owner AND length(p_key) BETWEEN 4 AND 64 AND a.alias % p_key
             AND similarity(a.alias, p_key) >= 0.45 LIMIT 400)
    )
    SELECT found.page_id, found.name, found.how, found.much FROM found CROSS JOIN LATERAL (
        SELECT 1 FROM wiki_pages p WHERE p.tenant_id = p_tenant AND p.page_id = found.page_id AND p.status = 'active' LIMIT 1) p
    ORDER BY found.how = 'whole' DESC, found.much DESC, found.name, found.page_id LIMIT p_limit;
END
$$;

ALTER FUNCTION scopes_due_lint(timestamptz, integer) OWNER TO sidecar_search;
REVOKE ALL ON FUNCTION scopes_due_lint(timestamptz, integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION scopes_due_lint(timestamptz, integer) TO sidecar_app, sidecar_worker;
ALTER FUNCTION match_words(uuid, uuid, text[], integer) OWNER TO sidecar_search;
ALTER FUNCTION match_names(uuid, uuid, text, text[], integer) OWNER TO sidecar_search;
REVOKE ALL ON FUNCTION match_words(uuid, uuid, text[], integer), match_names(uuid, uuid, text, text[], integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION match_words(uuid, uuid, text[], integer), match_names(uuid, uuid, text, text[], integer)
    TO sidecar_app, sidecar_worker;
