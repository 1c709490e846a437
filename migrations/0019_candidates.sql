-- What a compile looks for: names by their beginning, pages by words and by vectors. And less for it to write.

-- No query reads it: names are looked for among aliases.
DROP INDEX wiki_pages_title;

-- The same index, by bytes: it finds an alias by its beginning too.
DROP INDEX wiki_page_aliases_by_alias;
CREATE INDEX wiki_page_aliases_by_alias ON wiki_page_aliases (tenant_id, owner_id, alias text_pattern_ops);

-- A stored plan is written and read once: compressing it costs more than its size.
ALTER TABLE compile_batches ALTER COLUMN items SET STORAGE EXTERNAL;
ALTER TABLE compile_batches ALTER COLUMN seen_memory_ids SET STORAGE EXTERNAL;

-- The active pages that have most to do with texts: each text as its number with each of its words, which repeats. At most so many
-- pages a text, the best first, ties by key: a replay under another owner finds the same. A word of 200 pages and more tells nothing,
-- and two words at least have to be shared.
CREATE FUNCTION pages_about(p_tenant uuid, p_owner uuid, p_texts integer[], p_words text[], p_each integer)
RETURNS TABLE (text_no integer, found_id uuid, score double precision)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_temp SET enable_seqscan = off SET jit = off
AS $$
BEGIN
    IF p_tenant IS DISTINCT FROM app_tenant() OR p_owner IS DISTINCT FROM app_owner() THEN RETURN; END IF;
    RETURN QUERY
    WITH words AS MATERIALIZED (
        SELECT DISTINCT w.word FROM unnest(p_words) AS w (word)
    ), hits AS MATERIALIZED (
        SELECT words.word, found.page_id, found.type, found.slug, found.word_count FROM words CROSS JOIN LATERAL (
            SELECT p.page_id, p.type, p.slug, p.word_count FROM wiki_pages p
            WHERE p.tenant_id = p_tenant AND p.owner_id = p_owner AND p.search_tsv @@ word_query(words.word) AND p.status = 'active'
            LIMIT 200) found
    ), weights AS MATERIALIZED (
        SELECT hits.word, word_weight(count(*)) AS weight FROM hits GROUP BY hits.word HAVING count(*) < 200
    ), scored AS (
        SELECT t.text_no, hits.page_id, hits.type, hits.slug,
            round(sum(weights.weight * length_share(hits.word_count, 150))::numeric, 6) AS score
        FROM unnest(p_texts, p_words) AS t (text_no, word) JOIN weights USING (word) JOIN hits USING (word)
        GROUP BY t.text_no, hits.page_id, hits.type, hits.slug HAVING count(*) > 1
    ), ranked AS (
        SELECT s.text_no, s.page_id, s.score,
            row_number() OVER (PARTITION BY s.text_no ORDER BY s.score DESC, s.type, s.slug) AS place
        FROM scored s
    )
    SELECT r.text_no, r.page_id, r.score::double precision FROM ranked r WHERE r.place <= p_each ORDER BY r.text_no, r.place;
END
$$;

-- The pages nearest to memories by their vectors, where both have one by the same model: at most so many a memory, of a cosine of
-- at least p_least. Nothing where the database holds no vectors.
CREATE FUNCTION pages_near(p_tenant uuid, p_owner uuid, p_memories text[], p_least real, p_each integer)
RETURNS TABLE (memory_id text, found_id uuid, cosine double precision)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_temp SET enable_seqscan = off SET jit = off
AS $$
BEGIN
    IF p_tenant IS DISTINCT FROM app_tenant() OR p_owner IS DISTINCT FROM app_owner() THEN RETURN; END IF;
    IF to_regclass('page_vectors') IS NULL THEN RETURN; END IF;
    RETURN QUERY
    SELECT m.memory_id, n.page_id, n.cosine FROM memory_vectors m CROSS JOIN LATERAL (
        SELECT v.page_id, -(v.vector <#> m.vector) AS cosine FROM page_vectors v
        WHERE v.tenant_id = p_tenant AND v.owner_id = p_owner AND v.embedder_no = m.embedder_no
        ORDER BY v.vector <#> m.vector, v.page_id LIMIT p_each) n
    WHERE m.tenant_id = p_tenant AND m.owner_id = p_owner AND m.memory_id = ANY(p_memories) AND n.cosine >= p_least
    ORDER BY 1, 3 DESC, 2;
END
$$;

ALTER FUNCTION pages_about(uuid, uuid, integer[], text[], integer) OWNER TO sidecar_search;
ALTER FUNCTION pages_near(uuid, uuid, text[], real, integer) OWNER TO sidecar_search;
REVOKE ALL ON FUNCTION pages_about(uuid, uuid, integer[], text[], integer), pages_near(uuid, uuid, text[], real, integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pages_about(uuid, uuid, integer[], text[], integer), pages_near(uuid, uuid, text[], real, integer)
    TO sidecar_app, sidecar_worker;
