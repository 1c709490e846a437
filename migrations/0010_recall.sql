-- Recall: which texts of a scope may answer a question, and what speaks for each.
--
-- One function a kind of text. It takes the question's words and, where an embedder is set up, a vector for each of its parts
-- (four at most, as texts: the type may be missing here), and returns the best by words, the best by vectors and their
-- neighbours, each with a bit for every word it matches, its cosine to every part, and, in the first row, how many texts hold
-- each word (counted up to 500) out of how many (pages: counted up to 20,000). What that is worth is weighed outside.
--
-- The order by words is BM25 over the twelve rarest words (k1 = 1.2, b = 0.75, term frequency taken as 1). The order by vectors
-- is exact: the scope's vectors are compared one by one. Vectors have length 1, so that the inner product is the cosine.
-- Search operators are not leakproof: these functions pass row security, check their arguments against the scope in force, and
-- return ids and numbers only.

-- How much a word tells that so many of all texts hold (Robertson and Zaragoza 2009, 3.2).
CREATE FUNCTION inverse_frequency(p_found bigint, p_all integer) RETURNS double precision LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$ SELECT ln(1 + (greatest(p_all, p_found) - p_found + 0.5) / (p_found + 0.5)) $$;

-- How many pages an owner has, counted in an index: left to choose, Postgres may count in the search index, and reads every page.
CREATE FUNCTION active_pages(p_tenant uuid, p_owner uuid) RETURNS integer
LANGUAGE plpgsql STABLE SET search_path = public, pg_temp SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off
AS $$
BEGIN
    RETURN (SELECT count(*) FROM (
        SELECT 1 FROM wiki_pages h WHERE h.tenant_id = p_tenant AND h.owner_id = p_owner AND h.status = 'active' LIMIT 20000) h);
END
$$;

CREATE FUNCTION recall_turns(p_tenant uuid, p_owner uuid, p_thread text, p_words text[], p_embedder integer, p_vectors text[], p_limit integer)
RETURNS TABLE (turn_position integer, matched bigint, cosines real[], frequencies integer[], total integer)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_temp SET enable_seqscan = off SET jit = off
AS $$
DECLARE
    has_vectors boolean := cardinality(p_vectors) > 0 AND to_regclass('turn_vectors') IS NOT NULL;
    near integer[];
    chosen integer[];
    bits bigint[];
    counts integer[];
    everything integer;
BEGIN
    IF p_tenant IS DISTINCT FROM app_tenant() OR p_owner IS DISTINCT FROM app_owner() THEN RETURN; END IF;
    SELECT coalesce((SELECT h.turn_count FROM threads h WHERE h.tenant_id = p_tenant AND h.owner_id = p_owner AND h.thread_id = p_thread), 0) INTO everything;
    IF has_vectors THEN
        SELECT array_agg(n.position ORDER BY n.far, n.position) INTO near FROM (
            SELECT v.position, least(v.vector <#> (SELECT p_vectors[1]::halfvec), v.vector <#> (SELECT p_vectors[2]::halfvec), v.vector <#> (SELECT p_vectors[3]::halfvec), v.vector <#> (SELECT p_vectors[4]::halfvec)) AS far
            FROM turn_vectors v
            WHERE v.tenant_id = p_tenant AND v.owner_id = p_owner AND v.thread_id = p_thread AND v.embedder_no = p_embedder
            ORDER BY 2, 1 LIMIT p_limit) n;
    END IF;
    WITH words AS MATERIALIZED (
        SELECT w.ord, word_query(w.word) AS q FROM unnest(p_words) WITH ORDINALITY AS w (word, ord)
    ), hits AS MATERIALIZED (
        SELECT words.ord, f.position, f.word_count FROM words CROSS JOIN LATERAL (
            SELECT t.position, t.word_count FROM turns t
            WHERE t.tenant_id = p_tenant AND t.owner_id = p_owner AND t.thread_id = p_thread AND t.search_tsv @@ words.q
            LIMIT 500) f
    ), counted AS MATERIALIZED (
        SELECT words.ord, words.q, coalesce(h.n, 0) AS n
        FROM words LEFT JOIN (SELECT hits.ord, count(*) AS n FROM hits GROUP BY hits.ord) h USING (ord)
    ), weights AS MATERIALIZED (
        SELECT ord, q, n, inverse_frequency(n, everything) AS weight FROM counted WHERE n > 0 ORDER BY n, ord LIMIT 12
    ), by_words AS (
        SELECT hits.position, sum(weight * length_share(hits.word_count, 25)) AS score
        FROM hits JOIN weights USING (ord) GROUP BY hits.position ORDER BY 2 DESC, 1 LIMIT p_limit
    ), ranked AS (
        SELECT b.position, row_number() OVER (ORDER BY b.score DESC, b.position) AS place FROM by_words b
        UNION ALL
        SELECT n.position, n.place FROM unnest(near) WITH ORDINALITY AS n (position, place)
    ), fused AS MATERIALIZED (
        SELECT r.position, sum(1.0 / (60 + r.place)) AS score FROM ranked r GROUP BY r.position
    ), candidates AS MATERIALIZED (
        SELECT f.position FROM fused f
        UNION
        SELECT best.position + s.step FROM (SELECT f.position FROM fused f ORDER BY f.score DESC, f.position LIMIT 40) best
        CROSS JOIN (VALUES (-1), (1)) AS s (step) WHERE best.position + s.step BETWEEN 1 AND everything
    ), told AS (
        SELECT h.position, h.ord FROM hits h JOIN weights USING (ord)
        UNION
        SELECT c.position, w.ord FROM weights w CROSS JOIN candidates c CROSS JOIN LATERAL (
            SELECT 1 FROM turns t WHERE t.tenant_id = p_tenant AND t.owner_id = p_owner AND t.thread_id = p_thread AND t.position = c.position AND t.search_tsv @@ w.q LIMIT 1) one
        WHERE w.n >= 500
    ), matches AS (
        SELECT told.position, bit_or(1::bigint << (told.ord - 1)::integer) AS bits FROM told GROUP BY told.position
    )
    SELECT array_agg(c.position ORDER BY f.score DESC NULLS LAST, c.position),
        array_agg(coalesce(m.bits, 0) ORDER BY f.score DESC NULLS LAST, c.position),
        (SELECT array_agg(counted.n ORDER BY counted.ord) FROM counted)
    INTO chosen, bits, counts
    FROM candidates c LEFT JOIN fused f USING (position) LEFT JOIN matches m USING (position);
    IF has_vectors THEN
        RETURN QUERY
        SELECT c.position, c.bits, v.cosines, CASE WHEN c.place = 1 THEN counts END, everything
        FROM unnest(chosen, bits) WITH ORDINALITY AS c (position, bits, place) LEFT JOIN LATERAL (
            SELECT (ARRAY[-(v.vector <#> (SELECT p_vectors[1]::halfvec)), -(v.vector <#> (SELECT p_vectors[2]::halfvec)), -(v.vector <#> (SELECT p_vectors[3]::halfvec)), -(v.vector <#> (SELECT p_vectors[4]::halfvec))]::real[])[1:cardinality(p_vectors)] AS cosines
            FROM turn_vectors v
            WHERE v.tenant_id = p_tenant AND v.owner_id = p_owner AND v.thread_id = p_thread AND v.position = c.position AND v.embedder_no = p_embedder LIMIT 1) v ON true
        ORDER BY c.place;
    ELSE
        RETURN QUERY
        SELECT c.position, c.bits, NULL::real[], CASE WHEN c.place = 1 THEN counts END, everything
        FROM unnest(chosen, bits) WITH ORDINALITY AS c (position, bits, place) ORDER BY c.place;
    END IF;
END
$$;

CREATE FUNCTION recall_memories(p_tenant uuid, p_owner uuid, p_words text[], p_embedder integer, p_vectors text[], p_limit integer)
RETURNS TABLE (found_id text, matched bigint, cosines real[], frequencies integer[], total integer)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_temp SET enable_seqscan = off SET jit = off
AS $$
DECLARE
    has_vectors boolean := cardinality(p_vectors) > 0 AND to_regclass('memory_vectors') IS NOT NULL;
    near text[];
    chosen text[];
    bits bigint[];
    counts integer[];
    everything integer;
BEGIN
    IF p_tenant IS DISTINCT FROM app_tenant() OR p_owner IS DISTINCT FROM app_owner() THEN RETURN; END IF;
    SELECT coalesce((SELECT h.change_seq FROM memory_feeds h WHERE h.tenant_id = p_tenant AND h.owner_id = p_owner), 0) INTO everything;
    IF has_vectors THEN
        SELECT array_agg(n.memory_id ORDER BY n.far, n.memory_id) INTO near FROM (
            SELECT v.memory_id, least(v.vector <#> (SELECT p_vectors[1]::halfvec), v.vector <#> (SELECT p_vectors[2]::halfvec), v.vector <#> (SELECT p_vectors[3]::halfvec), v.vector <#> (SELECT p_vectors[4]::halfvec)) AS far
            FROM memory_vectors v
            WHERE v.tenant_id = p_tenant AND v.owner_id = p_owner AND v.embedder_no = p_embedder
            ORDER BY 2, 1 LIMIT p_limit) n;
    END IF;
    WITH words AS MATERIALIZED (
        SELECT w.ord, word_query(w.word) AS q FROM unnest(p_words) WITH ORDINALITY AS w (word, ord)
    ), hits AS MATERIALIZED (
        SELECT words.ord, f.memory_id, f.word_count FROM words CROSS JOIN LATERAL (
            SELECT t.memory_id, t.word_count FROM memories t
            WHERE t.tenant_id = p_tenant AND t.owner_id = p_owner AND t.search_tsv @@ words.q
            LIMIT 500) f
    ), counted AS MATERIALIZED (
        SELECT words.ord, words.q, coalesce(h.n, 0) AS n
        FROM words LEFT JOIN (SELECT hits.ord, count(*) AS n FROM hits GROUP BY hits.ord) h USING (ord)
    ), weights AS MATERIALIZED (
        SELECT ord, q, n, inverse_frequency(n, everything) AS weight FROM counted WHERE n > 0 ORDER BY n, ord LIMIT 12
    ), by_words AS (
        SELECT hits.memory_id, sum(weight * length_share(hits.word_count, 15)) AS score
        FROM hits JOIN weights USING (ord) GROUP BY hits.memory_id ORDER BY 2 DESC, 1 LIMIT p_limit
    ), ranked AS (
        SELECT b.memory_id, row_number() OVER (ORDER BY b.score DESC, b.memory_id) AS place FROM by_words b
        UNION ALL
        SELECT n.memory_id, n.place FROM unnest(near) WITH ORDINALITY AS n (memory_id, place)
    ), fused AS MATERIALIZED (
        SELECT r.memory_id, sum(1.0 / (60 + r.place)) AS score FROM ranked r GROUP BY r.memory_id
    ), candidates AS MATERIALIZED (
        SELECT f.memory_id FROM fused f
    ), told AS (
        SELECT h.memory_id, h.ord FROM hits h JOIN weights USING (ord)
        UNION
        SELECT c.memory_id, w.ord FROM weights w CROSS JOIN candidates c CROSS JOIN LATERAL (
            SELECT 1 FROM memories t WHERE t.tenant_id = p_tenant AND t.owner_id = p_owner AND t.memory_id = c.memory_id AND t.search_tsv @@ w.q LIMIT 1) one
        WHERE w.n >= 500
    ), matches AS (
        SELECT told.memory_id, bit_or(1::bigint << (told.ord - 1)::integer) AS bits FROM told GROUP BY told.memory_id
    )
    SELECT array_agg(c.memory_id ORDER BY f.score DESC NULLS LAST, c.memory_id),
        array_agg(coalesce(m.bits, 0) ORDER BY f.score DESC NULLS LAST, c.memory_id),
        (SELECT array_agg(counted.n ORDER BY counted.ord) FROM counted)
    INTO chosen, bits, counts
    FROM candidates c LEFT JOIN fused f USING (memory_id) LEFT JOIN matches m USING (memory_id);
    IF has_vectors THEN
        RETURN QUERY
        SELECT c.memory_id, c.bits, v.cosines, CASE WHEN c.place = 1 THEN counts END, everything
        FROM unnest(chosen, bits) WITH ORDINALITY AS c (memory_id, bits, place) LEFT JOIN LATERAL (
            SELECT (ARRAY[-(v.vector <#> (SELECT p_vectors[1]::halfvec)), -(v.vector <#> (SELECT p_vectors[2]::halfvec)), -(v.vector <#> (SELECT p_vectors[3]::halfvec)), -(v.vector <#> (SELECT p_vectors[4]::halfvec))]::real[])[1:cardinality(p_vectors)] AS cosines
            FROM memory_vectors v
            WHERE v.tenant_id = p_tenant AND v.owner_id = p_owner AND v.memory_id = c.memory_id AND v.embedder_no = p_embedder LIMIT 1) v ON true
        ORDER BY c.place;
    ELSE
        RETURN QUERY
        SELECT c.memory_id, c.bits, NULL::real[], CASE WHEN c.place = 1 THEN counts END, everything
        FROM unnest(chosen, bits) WITH ORDINALITY AS c (memory_id, bits, place) ORDER BY c.place;
    END IF;
END
$$;

CREATE FUNCTION recall_chunks(p_tenant uuid, p_bases uuid[], p_words text[], p_embedder integer, p_vectors text[], p_limit integer)
RETURNS TABLE (found_id uuid, matched bigint, cosines real[], frequencies integer[], total integer)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_temp SET enable_seqscan = off SET jit = off
AS $$
DECLARE
    has_vectors boolean := cardinality(p_vectors) > 0 AND to_regclass('chunk_vectors') IS NOT NULL;
    near uuid[];
    chosen uuid[];
    bits bigint[];
    counts integer[];
    everything integer;
BEGIN
    IF p_tenant IS DISTINCT FROM app_tenant() THEN RETURN; END IF;
    SELECT coalesce((SELECT sum(d.chunk_count) FROM documents d WHERE d.tenant_id = p_tenant AND d.base_id = ANY(p_bases)), 0) INTO everything;
    IF has_vectors THEN
        SELECT array_agg(n.chunk_id ORDER BY n.far, n.chunk_id) INTO near FROM (
            SELECT v.chunk_id, least(v.vector <#> (SELECT p_vectors[1]::halfvec), v.vector <#> (SELECT p_vectors[2]::halfvec), v.vector <#> (SELECT p_vectors[3]::halfvec), v.vector <#> (SELECT p_vectors[4]::halfvec)) AS far
            FROM chunk_vectors v
            WHERE v.tenant_id = p_tenant AND v.base_id = ANY(p_bases) AND v.embedder_no = p_embedder
            ORDER BY 2, 1 LIMIT p_limit) n;
    END IF;
    WITH words AS MATERIALIZED (
        SELECT w.ord, word_query(w.word) AS q FROM unnest(p_words) WITH ORDINALITY AS w (word, ord)
    ), hits AS MATERIALIZED (
        SELECT words.ord, f.chunk_id, f.word_count FROM words CROSS JOIN unnest(p_bases) AS b (base_id) CROSS JOIN LATERAL (
            SELECT t.chunk_id, t.word_count FROM chunks t
            WHERE t.tenant_id = p_tenant AND t.base_id = b.base_id AND t.search_tsv @@ words.q
            LIMIT 500) f
    ), counted AS MATERIALIZED (
        SELECT words.ord, words.q, coalesce(h.n, 0) AS n
        FROM words LEFT JOIN (SELECT hits.ord, count(*) AS n FROM hits GROUP BY hits.ord) h USING (ord)
    ), weights AS MATERIALIZED (
        SELECT ord, q, n, inverse_frequency(n, everything) AS weight FROM counted WHERE n > 0 ORDER BY n, ord LIMIT 12
    ), by_words AS (
        SELECT hits.chunk_id, sum(weight * length_share(hits.word_count, 130)) AS score
        FROM hits JOIN weights USING (ord) GROUP BY hits.chunk_id ORDER BY 2 DESC, 1 LIMIT p_limit
    ), ranked AS (
        SELECT b.chunk_id, row_number() OVER (ORDER BY b.score DESC, b.chunk_id) AS place FROM by_words b
        UNION ALL
        SELECT n.chunk_id, n.place FROM unnest(near) WITH ORDINALITY AS n (chunk_id, place)
    ), fused AS MATERIALIZED (
        SELECT r.chunk_id, sum(1.0 / (60 + r.place)) AS score FROM ranked r GROUP BY r.chunk_id
    ), candidates AS MATERIALIZED (
        SELECT f.chunk_id FROM fused f
        UNION
        SELECT n.chunk_id FROM (SELECT f.chunk_id FROM fused f ORDER BY f.score DESC, f.chunk_id LIMIT 20) best
        CROSS JOIN LATERAL (
            SELECT t.document_id, t.position FROM chunks t WHERE t.tenant_id = p_tenant AND t.chunk_id = best.chunk_id LIMIT 1) one
        CROSS JOIN (VALUES (-1), (1)) AS s (step) CROSS JOIN LATERAL (
            SELECT t.chunk_id FROM chunks t
            WHERE t.tenant_id = p_tenant AND t.document_id = one.document_id AND t.position = one.position + s.step LIMIT 1) n
    ), told AS (
        SELECT h.chunk_id, h.ord FROM hits h JOIN weights USING (ord)
        UNION
        SELECT c.chunk_id, w.ord FROM weights w CROSS JOIN candidates c CROSS JOIN LATERAL (
            SELECT 1 FROM chunks t WHERE t.tenant_id = p_tenant AND t.chunk_id = c.chunk_id AND t.search_tsv @@ w.q LIMIT 1) one
        WHERE w.n >= 500
    ), matches AS (
        SELECT told.chunk_id, bit_or(1::bigint << (told.ord - 1)::integer) AS bits FROM told GROUP BY told.chunk_id
    )
    SELECT array_agg(c.chunk_id ORDER BY f.score DESC NULLS LAST, c.chunk_id),
        array_agg(coalesce(m.bits, 0) ORDER BY f.score DESC NULLS LAST, c.chunk_id),
        (SELECT array_agg(counted.n ORDER BY counted.ord) FROM counted)
    INTO chosen, bits, counts
    FROM candidates c LEFT JOIN fused f USING (chunk_id) LEFT JOIN matches m USING (chunk_id);
    IF has_vectors THEN
        RETURN QUERY
        SELECT c.chunk_id, c.bits, v.cosines, CASE WHEN c.place = 1 THEN counts END, everything
        FROM unnest(chosen, bits) WITH ORDINALITY AS c (chunk_id, bits, place) LEFT JOIN LATERAL (
            SELECT (ARRAY[-(v.vector <#> (SELECT p_vectors[1]::halfvec)), -(v.vector <#> (SELECT p_vectors[2]::halfvec)), -(v.vector <#> (SELECT p_vectors[3]::halfvec)), -(v.vector <#> (SELECT p_vectors[4]::halfvec))]::real[])[1:cardinality(p_vectors)] AS cosines
            FROM chunk_vectors v
            WHERE v.tenant_id = p_tenant AND v.chunk_id = c.chunk_id AND v.embedder_no = p_embedder LIMIT 1) v ON true
        ORDER BY c.place;
    ELSE
        RETURN QUERY
        SELECT c.chunk_id, c.bits, NULL::real[], CASE WHEN c.place = 1 THEN counts END, everything
        FROM unnest(chosen, bits) WITH ORDINALITY AS c (chunk_id, bits, place) ORDER BY c.place;
    END IF;
END
$$;

CREATE FUNCTION recall_sections(p_tenant uuid, p_owner uuid, p_words text[], p_embedder integer, p_vectors text[], p_limit integer)
RETURNS TABLE (found_id uuid, matched bigint, cosines real[], frequencies integer[], total integer)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_temp SET enable_seqscan = off SET jit = off
AS $$
DECLARE
    has_vectors boolean := cardinality(p_vectors) > 0 AND to_regclass('section_vectors') IS NOT NULL;
    near uuid[];
    chosen uuid[];
    bits bigint[];
    counts integer[];
    everything integer;
BEGIN
    IF p_tenant IS DISTINCT FROM app_tenant() OR p_owner IS DISTINCT FROM app_owner() THEN RETURN; END IF;
    everything := active_pages(p_tenant, p_owner);
    IF has_vectors THEN
        SELECT array_agg(n.section_id ORDER BY n.far, n.section_id) INTO near FROM (
            SELECT v.section_id, least(v.vector <#> (SELECT p_vectors[1]::halfvec), v.vector <#> (SELECT p_vectors[2]::halfvec), v.vector <#> (SELECT p_vectors[3]::halfvec), v.vector <#> (SELECT p_vectors[4]::halfvec)) AS far
            FROM section_vectors v
            WHERE v.tenant_id = p_tenant AND v.owner_id = p_owner AND v.embedder_no = p_embedder
            ORDER BY 2, 1 LIMIT p_limit) n;
    END IF;
    WITH words AS MATERIALIZED (
        SELECT w.ord, word_query(w.word) AS q FROM unnest(p_words) WITH ORDINALITY AS w (word, ord)
    ), hits AS MATERIALIZED (
        SELECT words.ord, f.section_id, f.word_count FROM words CROSS JOIN LATERAL (
            SELECT t.section_id, t.word_count FROM wiki_page_sections t
            WHERE t.tenant_id = p_tenant AND t.owner_id = p_owner AND t.search_tsv @@ words.q
            LIMIT 500) f
    ), counted AS MATERIALIZED (
        SELECT words.ord, words.q, coalesce(h.n, 0) AS n
        FROM words LEFT JOIN (SELECT hits.ord, count(*) AS n FROM hits GROUP BY hits.ord) h USING (ord)
    ), weights AS MATERIALIZED (
        SELECT ord, q, n, inverse_frequency(n, everything) AS weight FROM counted WHERE n > 0 ORDER BY n, ord LIMIT 12
    ), by_words AS (
        SELECT hits.section_id, sum(weight * length_share(hits.word_count, 60)) AS score
        FROM hits JOIN weights USING (ord) GROUP BY hits.section_id ORDER BY 2 DESC, 1 LIMIT p_limit
    ), ranked AS (
        SELECT b.section_id, row_number() OVER (ORDER BY b.score DESC, b.section_id) AS place FROM by_words b
        UNION ALL
        SELECT n.section_id, n.place FROM unnest(near) WITH ORDINALITY AS n (section_id, place)
    ), fused AS MATERIALIZED (
        SELECT r.section_id, sum(1.0 / (60 + r.place)) AS score FROM ranked r GROUP BY r.section_id
    ), candidates AS MATERIALIZED (
        SELECT f.section_id FROM fused f
    ), told AS (
        SELECT h.section_id, h.ord FROM hits h JOIN weights USING (ord)
        UNION
        SELECT c.section_id, w.ord FROM weights w CROSS JOIN candidates c CROSS JOIN LATERAL (
            SELECT 1 FROM wiki_page_sections t WHERE t.tenant_id = p_tenant AND t.section_id = c.section_id AND t.search_tsv @@ w.q LIMIT 1) one
        WHERE w.n >= 500
    ), matches AS (
        SELECT told.section_id, bit_or(1::bigint << (told.ord - 1)::integer) AS bits FROM told GROUP BY told.section_id
    )
    SELECT array_agg(c.section_id ORDER BY f.score DESC NULLS LAST, c.section_id),
        array_agg(coalesce(m.bits, 0) ORDER BY f.score DESC NULLS LAST, c.section_id),
        (SELECT array_agg(counted.n ORDER BY counted.ord) FROM counted)
    INTO chosen, bits, counts
    FROM candidates c LEFT JOIN fused f USING (section_id) LEFT JOIN matches m USING (section_id);
    IF has_vectors THEN
        RETURN QUERY
        SELECT c.section_id, c.bits, v.cosines, CASE WHEN c.place = 1 THEN counts END, everything
        FROM unnest(chosen, bits) WITH ORDINALITY AS c (section_id, bits, place) LEFT JOIN LATERAL (
            SELECT (ARRAY[-(v.vector <#> (SELECT p_vectors[1]::halfvec)), -(v.vector <#> (SELECT p_vectors[2]::halfvec)), -(v.vector <#> (SELECT p_vectors[3]::halfvec)), -(v.vector <#> (SELECT p_vectors[4]::halfvec))]::real[])[1:cardinality(p_vectors)] AS cosines
            FROM section_vectors v
            WHERE v.tenant_id = p_tenant AND v.section_id = c.section_id AND v.embedder_no = p_embedder LIMIT 1) v ON true
        ORDER BY c.place;
    ELSE
        RETURN QUERY
        SELECT c.section_id, c.bits, NULL::real[], CASE WHEN c.place = 1 THEN counts END, everything
        FROM unnest(chosen, bits) WITH ORDINALITY AS c (section_id, bits, place) ORDER BY c.place;
    END IF;
END
$$;

CREATE FUNCTION recall_pages(p_tenant uuid, p_owner uuid, p_words text[], p_embedder integer, p_vectors text[], p_limit integer)
RETURNS TABLE (found_id uuid, matched bigint, cosines real[], frequencies integer[], total integer)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_temp SET enable_seqscan = off SET jit = off
AS $$
DECLARE
    has_vectors boolean := cardinality(p_vectors) > 0 AND to_regclass('page_vectors') IS NOT NULL;
    near uuid[];
    chosen uuid[];
    bits bigint[];
    counts integer[];
    everything integer;
BEGIN
    IF p_tenant IS DISTINCT FROM app_tenant() OR p_owner IS DISTINCT FROM app_owner() THEN RETURN; END IF;
    everything := active_pages(p_tenant, p_owner);
    IF has_vectors THEN
        SELECT array_agg(n.page_id ORDER BY n.far, n.page_id) INTO near FROM (
            SELECT v.page_id, least(v.vector <#> (SELECT p_vectors[1]::halfvec), v.vector <#> (SELECT p_vectors[2]::halfvec), v.vector <#> (SELECT p_vectors[3]::halfvec), v.vector <#> (SELECT p_vectors[4]::halfvec)) AS far
            FROM page_vectors v
            WHERE v.tenant_id = p_tenant AND v.owner_id = p_owner AND v.embedder_no = p_embedder
            ORDER BY 2, 1 LIMIT p_limit) n;
    END IF;
    WITH words AS MATERIALIZED (
        SELECT w.ord, word_query(w.word) AS q FROM unnest(p_words) WITH ORDINALITY AS w (word, ord)
    ), hits AS MATERIALIZED (
        SELECT words.ord, f.page_id, f.word_count FROM words CROSS JOIN LATERAL (
            SELECT t.page_id, t.word_count FROM wiki_pages t
            WHERE t.tenant_id = p_tenant AND t.owner_id = p_owner AND t.search_tsv @@ words.q AND t.status = 'active'
            LIMIT 500) f
    ), counted AS MATERIALIZED (
        SELECT words.ord, words.q, coalesce(h.n, 0) AS n
        FROM words LEFT JOIN (SELECT hits.ord, count(*) AS n FROM hits GROUP BY hits.ord) h USING (ord)
    ), weights AS MATERIALIZED (
        SELECT ord, q, n, inverse_frequency(n, everything) AS weight FROM counted WHERE n > 0 ORDER BY n, ord LIMIT 12
    ), by_words AS (
        SELECT hits.page_id, sum(weight * length_share(hits.word_count, 150)) AS score
        FROM hits JOIN weights USING (ord) GROUP BY hits.page_id ORDER BY 2 DESC, 1 LIMIT p_limit
    ), ranked AS (
        SELECT b.page_id, row_number() OVER (ORDER BY b.score DESC, b.page_id) AS place FROM by_words b
        UNION ALL
        SELECT n.page_id, n.place FROM unnest(near) WITH ORDINALITY AS n (page_id, place)
    ), fused AS MATERIALIZED (
        SELECT r.page_id, sum(1.0 / (60 + r.place)) AS score FROM ranked r GROUP BY r.page_id
    ), candidates AS MATERIALIZED (
        SELECT f.page_id FROM fused f
    ), told AS (
        SELECT h.page_id, h.ord FROM hits h JOIN weights USING (ord)
        UNION
        SELECT c.page_id, w.ord FROM weights w CROSS JOIN candidates c CROSS JOIN LATERAL (
            SELECT 1 FROM wiki_pages t WHERE t.tenant_id = p_tenant AND t.page_id = c.page_id AND t.search_tsv @@ w.q LIMIT 1) one
        WHERE w.n >= 500
    ), matches AS (
        SELECT told.page_id, bit_or(1::bigint << (told.ord - 1)::integer) AS bits FROM told GROUP BY told.page_id
    )
    SELECT array_agg(c.page_id ORDER BY f.score DESC NULLS LAST, c.page_id),
        array_agg(coalesce(m.bits, 0) ORDER BY f.score DESC NULLS LAST, c.page_id),
        (SELECT array_agg(counted.n ORDER BY counted.ord) FROM counted)
    INTO chosen, bits, counts
    FROM candidates c LEFT JOIN fused f USING (page_id) LEFT JOIN matches m USING (page_id);
    IF has_vectors THEN
        RETURN QUERY
        SELECT c.page_id, c.bits, v.cosines, CASE WHEN c.place = 1 THEN counts END, everything
        FROM unnest(chosen, bits) WITH ORDINALITY AS c (page_id, bits, place) LEFT JOIN LATERAL (
            SELECT (ARRAY[-(v.vector <#> (SELECT p_vectors[1]::halfvec)), -(v.vector <#> (SELECT p_vectors[2]::halfvec)), -(v.vector <#> (SELECT p_vectors[3]::halfvec)), -(v.vector <#> (SELECT p_vectors[4]::halfvec))]::real[])[1:cardinality(p_vectors)] AS cosines
            FROM page_vectors v
            WHERE v.tenant_id = p_tenant AND v.page_id = c.page_id AND v.embedder_no = p_embedder LIMIT 1) v ON true
        ORDER BY c.place;
    ELSE
        RETURN QUERY
        SELECT c.page_id, c.bits, NULL::real[], CASE WHEN c.place = 1 THEN counts END, everything
        FROM unnest(chosen, bits) WITH ORDINALITY AS c (page_id, bits, place) ORDER BY c.place;
    END IF;
END
$$;

-- Texts that were written since their vectors were made, by place: a thread, an owner's memories or wiki, a base. change_no counts
-- the writes, so that who has embedded a place can tell whether it was written to meanwhile.
CREATE TABLE places_to_embed (
    tenant_id uuid NOT NULL REFERENCES tenants,
    owner_id uuid NOT NULL,
    kind text NOT NULL CHECK (kind IN ('turns', 'memories', 'wiki')),
    ref text NOT NULL,
    change_no bigint NOT NULL,
    changed_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, owner_id, kind, ref)
);
CREATE INDEX places_to_embed_by_time ON places_to_embed (changed_at);

CREATE TABLE bases_to_embed (
    tenant_id uuid NOT NULL,
    base_id uuid NOT NULL,
    change_no bigint NOT NULL,
    changed_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, base_id),
    FOREIGN KEY (tenant_id, base_id) REFERENCES knowledge_bases ON DELETE CASCADE
);
CREATE INDEX bases_to_embed_by_time ON bases_to_embed (changed_at);

ALTER TABLE places_to_embed ENABLE ROW LEVEL SECURITY;
ALTER TABLE bases_to_embed ENABLE ROW LEVEL SECURITY;
CREATE POLICY owner ON places_to_embed USING (tenant_id = app_tenant() AND owner_id = app_owner());
CREATE POLICY tenant ON bases_to_embed USING (tenant_id = app_tenant());
GRANT SELECT, INSERT, UPDATE, DELETE ON places_to_embed, bases_to_embed TO sidecar_app, sidecar_worker;
GRANT SELECT ON places_to_embed, bases_to_embed, threads, memory_feeds, documents, knowledge_bases TO sidecar_search;

-- The places that wait to be embedded, longest first: ids of scopes and places, never content. A base has no owner.
CREATE FUNCTION waiting_to_be_embedded(p_limit integer)
RETURNS TABLE (tenant_id uuid, owner_id uuid, kind text, ref text, change_no bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp
AS $$
    SELECT w.tenant_id, w.owner_id, w.kind, w.ref, w.change_no FROM (
        (SELECT p.tenant_id, p.owner_id, p.kind, p.ref, p.change_no, p.changed_at FROM places_to_embed p ORDER BY p.changed_at LIMIT p_limit)
        UNION ALL
        (SELECT b.tenant_id, NULL, 'chunks', b.base_id::text, b.change_no, b.changed_at FROM bases_to_embed b ORDER BY b.changed_at LIMIT p_limit)
    ) w ORDER BY w.changed_at, w.tenant_id, w.owner_id, w.kind, w.ref LIMIT p_limit
$$;

-- A page of the places of one kind that hold texts, by id, from after a place: what a change of model walks through.
CREATE FUNCTION places_with_texts(p_kind text, p_after_tenant uuid, p_after_owner uuid, p_after_ref text, p_limit integer)
RETURNS TABLE (tenant_id uuid, owner_id uuid, ref text)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_temp SET enable_seqscan = off
AS $$
BEGIN
    IF p_kind = 'turns' THEN
        RETURN QUERY SELECT t.tenant_id, t.owner_id, t.thread_id FROM threads t
        WHERE (t.tenant_id, t.owner_id, t.thread_id) > (p_after_tenant, p_after_owner, p_after_ref)
        ORDER BY t.tenant_id, t.owner_id, t.thread_id LIMIT p_limit;
    ELSIF p_kind = 'memories' THEN
        RETURN QUERY SELECT f.tenant_id, f.owner_id, ''::text FROM memory_feeds f
        WHERE (f.tenant_id, f.owner_id) > (p_after_tenant, p_after_owner)
        ORDER BY f.tenant_id, f.owner_id LIMIT p_limit;
    ELSIF p_kind = 'chunks' THEN
        RETURN QUERY SELECT b.tenant_id, NULL::uuid, b.base_id::text FROM knowledge_bases b
        WHERE (b.tenant_id, b.base_id) > (p_after_tenant, nullif(p_after_ref, '')::uuid)
            OR (p_after_ref = '' AND b.tenant_id >= p_after_tenant)
        ORDER BY b.tenant_id, b.base_id LIMIT p_limit;
    ELSIF p_kind = 'wiki' THEN  -- from owner to owner, without reading the pages between
        RETURN QUERY WITH RECURSIVE owners AS (
            (SELECT p.tenant_id, p.owner_id FROM wiki_pages p WHERE (p.tenant_id, p.owner_id) > (p_after_tenant, p_after_owner)
            ORDER BY p.tenant_id, p.owner_id LIMIT 1)
            UNION ALL
            SELECT n.tenant_id, n.owner_id FROM owners o CROSS JOIN LATERAL (
                SELECT p.tenant_id, p.owner_id FROM wiki_pages p WHERE (p.tenant_id, p.owner_id) > (o.tenant_id, o.owner_id)
                ORDER BY p.tenant_id, p.owner_id LIMIT 1) n
        ) SELECT o.tenant_id, o.owner_id, ''::text FROM owners o LIMIT p_limit;
    END IF;
END
$$;

ALTER FUNCTION recall_turns(uuid, uuid, text, text[], integer, text[], integer) OWNER TO sidecar_search;
ALTER FUNCTION recall_memories(uuid, uuid, text[], integer, text[], integer) OWNER TO sidecar_search;
ALTER FUNCTION recall_chunks(uuid, uuid[], text[], integer, text[], integer) OWNER TO sidecar_search;
ALTER FUNCTION recall_sections(uuid, uuid, text[], integer, text[], integer) OWNER TO sidecar_search;
ALTER FUNCTION recall_pages(uuid, uuid, text[], integer, text[], integer) OWNER TO sidecar_search;
ALTER FUNCTION waiting_to_be_embedded(integer) OWNER TO sidecar_search;
ALTER FUNCTION places_with_texts(text, uuid, uuid, text, integer) OWNER TO sidecar_search;
REVOKE ALL ON FUNCTION recall_turns(uuid, uuid, text, text[], integer, text[], integer),
    recall_memories(uuid, uuid, text[], integer, text[], integer),
    recall_chunks(uuid, uuid[], text[], integer, text[], integer),
    recall_sections(uuid, uuid, text[], integer, text[], integer),
    recall_pages(uuid, uuid, text[], integer, text[], integer),
    waiting_to_be_embedded(integer),
    places_with_texts(text, uuid, uuid, text, integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION recall_turns(uuid, uuid, text, text[], integer, text[], integer),
    recall_memories(uuid, uuid, text[], integer, text[], integer),
    recall_chunks(uuid, uuid[], text[], integer, text[], integer),
    recall_sections(uuid, uuid, text[], integer, text[], integer),
    recall_pages(uuid, uuid, text[], integer, text[], integer),
    waiting_to_be_embedded(integer),
    places_with_texts(text, uuid, uuid, text, integer)
    TO sidecar_app, sidecar_worker;
