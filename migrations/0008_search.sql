-- Lexical search inside one scope.
--
-- Search operators are not leakproof, so under row security they lose their indexes. These functions pass row security, check
-- their arguments against the scope in force, and return ids and scores only; rows are then read by id under row security.
--
-- The score is BM25 (Robertson and Zaragoza 2009; k1 = 1.2, b = 0.75, term frequency taken as 1, since the texts are short): the
-- sum over a question's words of idf / (0.25 k1 + 0.75 k1 length / mean + 1). `coverage` is the share of the question's idf that
-- a text matches, 0 to 1. Words are joined with OR; the eight rarest that are found count, and words that nobody wrote only fill
-- up to eight; a word found more than 400 times counts as 400.

-- The text as it is searched: stemmed, and unstemmed beside it for names, numbers and other languages.
CREATE FUNCTION search_vector(p_words text) RETURNS tsvector LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$ SELECT to_tsvector('english'::regconfig, p_words) || to_tsvector('simple'::regconfig, p_words) $$;

-- One word of a question, stemmed or not.
CREATE FUNCTION word_query(p_word text) RETURNS tsquery LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$ SELECT plainto_tsquery('english'::regconfig, p_word) || plainto_tsquery('simple'::regconfig, p_word) $$;

CREATE FUNCTION word_weight(p_found bigint) RETURNS double precision LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$ SELECT ln(1 + 10000.0 / greatest(p_found, 1)::double precision) $$;

CREATE FUNCTION length_share(p_words integer, p_mean double precision) RETURNS double precision LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$ SELECT 2.2 / (1.3 + 0.9 * p_words / p_mean) $$;

CREATE FUNCTION search_turns(p_tenant uuid, p_owner uuid, p_thread text, p_words text[], p_limit integer)
RETURNS TABLE (turn_position integer, score double precision, coverage double precision)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_temp SET enable_seqscan = off
AS $$
BEGIN
    IF p_tenant IS DISTINCT FROM app_tenant() OR p_owner IS DISTINCT FROM app_owner() THEN RETURN; END IF;
    RETURN QUERY
    WITH words AS (
        SELECT w.ord, word_query(w.word) AS q FROM unnest(p_words) WITH ORDINALITY AS w (word, ord)
    ), hits AS (
        SELECT words.ord, found.position, found.word_count FROM words CROSS JOIN LATERAL (
            SELECT t.position, t.word_count FROM turns t
            WHERE t.tenant_id = p_tenant AND t.owner_id = p_owner AND t.thread_id = p_thread AND t.search_tsv @@ words.q
            LIMIT 400) found
    ), weights AS (
        SELECT words.ord, word_weight(count(hits.ord)) AS weight FROM words LEFT JOIN hits USING (ord) GROUP BY words.ord
        ORDER BY count(hits.ord) = 0, 2 DESC, 1 LIMIT 8
    )
    SELECT hits.position, sum(weight * length_share(hits.word_count, 25)), sum(weight) / (SELECT sum(weight) FROM weights)
    FROM hits JOIN weights USING (ord) GROUP BY hits.position ORDER BY 2 DESC, 1 DESC LIMIT p_limit;
END
$$;

CREATE FUNCTION search_memories(p_tenant uuid, p_owner uuid, p_words text[], p_limit integer)
RETURNS TABLE (found_id text, score double precision, coverage double precision)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_temp SET enable_seqscan = off
AS $$
BEGIN
    IF p_tenant IS DISTINCT FROM app_tenant() OR p_owner IS DISTINCT FROM app_owner() THEN RETURN; END IF;
    RETURN QUERY
    WITH words AS (
        SELECT w.ord, word_query(w.word) AS q FROM unnest(p_words) WITH ORDINALITY AS w (word, ord)
    ), hits AS (
        SELECT words.ord, found.memory_id, found.word_count FROM words CROSS JOIN LATERAL (
            SELECT m.memory_id, m.word_count FROM memories m
            WHERE m.tenant_id = p_tenant AND m.owner_id = p_owner AND m.search_tsv @@ words.q
            LIMIT 400) found
    ), weights AS (
        SELECT words.ord, word_weight(count(hits.ord)) AS weight FROM words LEFT JOIN hits USING (ord) GROUP BY words.ord
        ORDER BY count(hits.ord) = 0, 2 DESC, 1 LIMIT 8
    )
    SELECT hits.memory_id, sum(weight * length_share(hits.word_count, 25)), sum(weight) / (SELECT sum(weight) FROM weights)
    FROM hits JOIN weights USING (ord) GROUP BY hits.memory_id ORDER BY 2 DESC, 1 LIMIT p_limit;
END
$$;

CREATE FUNCTION search_chunks(p_tenant uuid, p_bases uuid[], p_words text[], p_limit integer)
RETURNS TABLE (found_id uuid, score double precision, coverage double precision)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_temp SET enable_seqscan = off
AS $$
BEGIN
    IF p_tenant IS DISTINCT FROM app_tenant() THEN RETURN; END IF;
    RETURN QUERY
    WITH words AS (
        SELECT w.ord, word_query(w.word) AS q FROM unnest(p_words) WITH ORDINALITY AS w (word, ord)
    ), hits AS (
        SELECT words.ord, found.chunk_id, found.word_count FROM words CROSS JOIN unnest(p_bases) AS b (base_id) CROSS JOIN LATERAL (
            SELECT c.chunk_id, c.word_count FROM chunks c
            WHERE c.tenant_id = p_tenant AND c.base_id = b.base_id AND c.search_tsv @@ words.q
            LIMIT 400) found
    ), weights AS (
        SELECT words.ord, word_weight(count(hits.ord)) AS weight FROM words LEFT JOIN hits USING (ord) GROUP BY words.ord
        ORDER BY count(hits.ord) = 0, 2 DESC, 1 LIMIT 8
    )
    SELECT hits.chunk_id, sum(weight * length_share(hits.word_count, 130)), sum(weight) / (SELECT sum(weight) FROM weights)
    FROM hits JOIN weights USING (ord) GROUP BY hits.chunk_id ORDER BY 2 DESC, 1 LIMIT p_limit;
END
$$;

-- Pages match by title, aliases, summary and body; a section's words hold its page's title and aliases too.
CREATE FUNCTION search_pages(p_tenant uuid, p_owner uuid, p_words text[], p_limit integer)
RETURNS TABLE (found_id uuid, score double precision, coverage double precision)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_temp SET enable_seqscan = off
AS $$
BEGIN
    IF p_tenant IS DISTINCT FROM app_tenant() OR p_owner IS DISTINCT FROM app_owner() THEN RETURN; END IF;
    RETURN QUERY
    WITH words AS (
        SELECT w.ord, word_query(w.word) AS q FROM unnest(p_words) WITH ORDINALITY AS w (word, ord)
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

CREATE FUNCTION search_sections(p_tenant uuid, p_owner uuid, p_words text[], p_limit integer)
RETURNS TABLE (found_id uuid, score double precision, coverage double precision)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_temp SET enable_seqscan = off
AS $$
BEGIN
    IF p_tenant IS DISTINCT FROM app_tenant() OR p_owner IS DISTINCT FROM app_owner() THEN RETURN; END IF;
    RETURN QUERY
    WITH words AS (
        SELECT w.ord, word_query(w.word) AS q FROM unnest(p_words) WITH ORDINALITY AS w (word, ord)
    ), hits AS (
        SELECT words.ord, found.section_id, found.word_count FROM words CROSS JOIN LATERAL (
            SELECT s.section_id, s.word_count FROM wiki_page_sections s
            WHERE s.tenant_id = p_tenant AND s.owner_id = p_owner AND s.search_tsv @@ words.q
            LIMIT 400) found
    ), weights AS (
        SELECT words.ord, word_weight(count(hits.ord)) AS weight FROM words LEFT JOIN hits USING (ord) GROUP BY words.ord
        ORDER BY count(hits.ord) = 0, 2 DESC, 1 LIMIT 8
    )
    SELECT hits.section_id, sum(weight * length_share(hits.word_count, 60)), sum(weight) / (SELECT sum(weight) FROM weights)
    FROM hits JOIN weights USING (ord) GROUP BY hits.section_id ORDER BY 2 DESC, 1 LIMIT p_limit;
END
$$;

ALTER FUNCTION search_turns(uuid, uuid, text, text[], integer) OWNER TO sidecar_search;
ALTER FUNCTION search_memories(uuid, uuid, text[], integer) OWNER TO sidecar_search;
ALTER FUNCTION search_chunks(uuid, uuid[], text[], integer) OWNER TO sidecar_search;
ALTER FUNCTION search_pages(uuid, uuid, text[], integer) OWNER TO sidecar_search;
ALTER FUNCTION search_sections(uuid, uuid, text[], integer) OWNER TO sidecar_search;
REVOKE ALL ON FUNCTION search_turns(uuid, uuid, text, text[], integer), search_memories(uuid, uuid, text[], integer),
    search_chunks(uuid, uuid[], text[], integer), search_pages(uuid, uuid, text[], integer),
    search_sections(uuid, uuid, text[], integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION search_turns(uuid, uuid, text, text[], integer), search_memories(uuid, uuid, text[], integer),
    search_chunks(uuid, uuid[], text[], integer), search_pages(uuid, uuid, text[], integer),
    search_sections(uuid, uuid, text[], integer) TO sidecar_app, sidecar_worker;
