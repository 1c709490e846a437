-- Walks over typed edges: a page's edges are read by its id and their type, whatever untyped links it has.
CREATE INDEX wiki_page_links_typed_out ON wiki_page_links (tenant_id, from_page_id, edge_type) WHERE edge_type <> '';
CREATE INDEX wiki_page_links_typed_in ON wiki_page_links (tenant_id, to_page_id, edge_type) WHERE edge_type <> '';

-- How the summary and the first sections of given pages match a question, as the recall functions tell it; without a section it is
-- the summary. It runs as its caller, under row security.
CREATE FUNCTION recall_of_pages(
    p_tenant uuid, p_owner uuid, p_pages uuid[], p_words text[], p_embedder integer, p_vectors text[], p_each integer)
RETURNS TABLE (page_id uuid, section_id uuid, matched bigint, cosines real[])
LANGUAGE plpgsql STABLE SET search_path = public, pg_temp SET enable_seqscan = off SET jit = off
AS $$
DECLARE
    queries tsquery[] := ARRAY(SELECT word_query(w.word) FROM unnest(p_words) WITH ORDINALITY AS w (word, ord) ORDER BY w.ord);
    of_pages uuid[];
    of_sections uuid[];
    bits bigint[];
BEGIN
    WITH held AS (
        SELECT r.place, -1 AS position, r.id, NULL::uuid AS section, x.search_tsv
        FROM unnest(p_pages) WITH ORDINALITY AS r (id, place) CROSS JOIN LATERAL (
            SELECT p.search_tsv FROM wiki_pages p
            WHERE p.tenant_id = p_tenant AND p.page_id = r.id AND p.status = 'active' AND p.summary <> '' LIMIT 1) x
        UNION ALL
        SELECT r.place, x.position, r.id, x.section_id, x.search_tsv
        FROM unnest(p_pages) WITH ORDINALITY AS r (id, place) CROSS JOIN LATERAL (
            SELECT s.position, s.section_id, s.search_tsv FROM wiki_page_sections s
            WHERE s.tenant_id = p_tenant AND s.owner_id = p_owner AND s.page_id = r.id ORDER BY s.position LIMIT p_each) x
    )
    SELECT array_agg(h.id ORDER BY h.place, h.position), array_agg(h.section ORDER BY h.place, h.position), array_agg(coalesce((
        SELECT bit_or(1::bigint << (q.ord - 1)::integer) FROM unnest(queries) WITH ORDINALITY AS q (query, ord)
        WHERE h.search_tsv @@ q.query), 0) ORDER BY h.place, h.position)
    INTO of_pages, of_sections, bits FROM held h;
    IF cardinality(p_vectors) > 0 AND to_regclass('section_vectors') IS NOT NULL THEN
        RETURN QUERY
        SELECT r.id, r.section, r.bits, (ARRAY[(-(v.vector <#> (SELECT p_vectors[1]::halfvec)))::real,
            (-(v.vector <#> (SELECT p_vectors[2]::halfvec)))::real, (-(v.vector <#> (SELECT p_vectors[3]::halfvec)))::real,
            (-(v.vector <#> (SELECT p_vectors[4]::halfvec)))::real])[1:cardinality(p_vectors)]
        FROM unnest(of_pages, of_sections, bits) WITH ORDINALITY AS r (id, section, bits, place) LEFT JOIN LATERAL (
            (SELECT s.vector FROM section_vectors s
            WHERE s.tenant_id = p_tenant AND s.section_id = r.section AND int4eq(s.embedder_no, p_embedder) LIMIT 1)
            UNION ALL
            (SELECT p.vector FROM page_vectors p
            WHERE p.tenant_id = p_tenant AND p.page_id = r.id AND r.section IS NULL AND int4eq(p.embedder_no, p_embedder) LIMIT 1)
            LIMIT 1) v ON true
        ORDER BY r.place;
    ELSE
        RETURN QUERY
        SELECT r.id, r.section, r.bits, NULL::real[]
        FROM unnest(of_pages, of_sections, bits) WITH ORDINALITY AS r (id, section, bits, place) ORDER BY r.place;
    END IF;
END
$$;
REVOKE ALL ON FUNCTION recall_of_pages(uuid, uuid, uuid[], text[], integer, text[], integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION recall_of_pages(uuid, uuid, uuid[], text[], integer, text[], integer) TO sidecar_app, sidecar_worker;
