-- Recall again: one text for its five functions, plans made once a connection, vectors found by their signs, and close words.
--
-- What the functions take and tell is as in 0010. What is new:
--
-- A word that no text of the scope holds stands for the words a letter away from it (one more, less, other, or two swapped) and for
-- those it is the beginning of. They are looked up in the search index, for the two longest such words of a question; numbers and
-- words under five letters stand for themselves alone. Such a word tells half as much as one that was found: it is said to be held
-- by the root of n N texts, where n of N hold a close one.
--
-- In a large scope the order by vectors is that of the signs of their numbers, a bit each, in an index of their own; of the nearest
-- few hundred by signs the vectors themselves are compared. In a small scope all vectors are.
--
-- The search functions of 0008 found by words alone; nothing asks them any more.
DROP FUNCTION search_turns(uuid, uuid, text, text[], integer);
DROP FUNCTION search_memories(uuid, uuid, text[], integer);
DROP FUNCTION search_chunks(uuid, uuid[], text[], integer);
DROP FUNCTION search_pages(uuid, uuid, text[], integer);
DROP FUNCTION search_sections(uuid, uuid, text[], integer);
DROP FUNCTION recall_pages(uuid, uuid, text[], integer, text[], integer);

-- As they were, in floating point: arithmetic of arbitrary precision costs more than what it weighs.
CREATE OR REPLACE FUNCTION inverse_frequency(p_found bigint, p_all integer) RETURNS double precision LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$ SELECT ln(1::float8 + (greatest(p_all, p_found) - p_found + 0.5::float8) / (p_found + 0.5::float8)) $$;

CREATE OR REPLACE FUNCTION length_share(p_words integer, p_mean double precision) RETURNS double precision LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$ SELECT 2.2::float8 / (1.3::float8 + 0.9::float8 * p_words / p_mean) $$;

-- What a word of letters may have been meant for: one query for each place where a letter may be wrong, and one for its being a
-- beginning. Few alternatives a query, since the index weighs each against all.
CREATE FUNCTION close_queries(p_word text) RETURNS tsquery[] LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$
    SELECT array_agg((
            cut.head || array_to_string(alphabet.letters, cut.tail || '|' || cut.head) || cut.tail
            || '|' || cut.head || array_to_string(alphabet.letters, substr(cut.tail, 2) || '|' || cut.head) || substr(cut.tail, 2)
            || '|' || cut.head || substr(cut.tail, 2)
            || '|' || cut.head || substr(cut.tail, 2, 1) || left(cut.tail, 1) || substr(cut.tail, 3))::tsquery)
        || (p_word || ':*')::tsquery
    FROM (SELECT left(p_word, place) AS head, substr(p_word, place + 1) AS tail FROM generate_series(0, length(p_word)) AS place) cut
    CROSS JOIN (SELECT '{a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q,r,s,t,u,v,w,x,y,z}'::text[] AS letters) alphabet
$$;

-- One text for every kind of them; what is in braces differs. Plans are made once a connection, for any scope: so joins go by
-- hash or by look-up, whatever is thought of how much there is.
DO $do$
DECLARE
    kind jsonb;
    part record;
    body text;
    beside jsonb := jsonb_build_object('turns', $beside$UNION
        SELECT best.key + s.step FROM (SELECT f.key FROM fused f ORDER BY f.score DESC, f.key LIMIT 40) best
        CROSS JOIN (VALUES (-1), (1)) AS s (step) WHERE best.key + s.step BETWEEN 1 AND everything$beside$, 'chunks', $beside$UNION
        SELECT n.chunk_id FROM (SELECT f.key FROM fused f ORDER BY f.score DESC, f.key LIMIT 20) best
        CROSS JOIN LATERAL (
            SELECT t.document_id, t.position FROM chunks t WHERE t.tenant_id = p_tenant AND t.chunk_id = best.key LIMIT 1) this
        CROSS JOIN (VALUES (-1), (1)) AS s (step) CROSS JOIN LATERAL (
            SELECT t.chunk_id FROM chunks t
            WHERE t.tenant_id = p_tenant AND t.document_id = this.document_id AND t.position = this.position + s.step LIMIT 1) n$beside$);
BEGIN
    FOR kind IN SELECT jsonb_array_elements($kinds$[
        {"name": "turns", "key": "position", "type": "integer", "found": "turn_position", "table": "turns", "vectors": "turn_vectors",
            "of": "p_owner uuid, p_thread text", "more": "", "mean": "25", "bases": "", "also": "",
            "everything": "SELECT h.turn_count FROM threads h WHERE h.tenant_id = p_tenant AND h.owner_id = p_owner AND h.thread_id = p_thread",
            "scope": "x.tenant_id = p_tenant AND x.owner_id = p_owner AND x.thread_id = p_thread",
            "embedded": "x.tenant_id = p_tenant AND x.owner_id = p_owner AND x.thread_id = p_thread",
            "row": "x.tenant_id = p_tenant AND x.owner_id = p_owner AND x.thread_id = p_thread"},
        {"name": "memories", "key": "memory_id", "type": "text", "found": "found_id", "table": "memories", "vectors": "memory_vectors",
            "of": "p_owner uuid", "more": "", "mean": "15", "bases": "", "also": "",
            "everything": "SELECT h.change_seq FROM memory_feeds h WHERE h.tenant_id = p_tenant AND h.owner_id = p_owner",
            "scope": "x.tenant_id = p_tenant AND x.owner_id = p_owner",
            "embedded": "x.tenant_id = p_tenant AND x.owner_id = p_owner",
            "row": "x.tenant_id = p_tenant AND x.owner_id = p_owner"},
        {"name": "chunks", "key": "chunk_id", "type": "uuid", "found": "found_id", "table": "chunks", "vectors": "chunk_vectors",
            "of": "p_bases uuid[]", "more": "", "mean": "130", "bases": "CROSS JOIN unnest(p_bases) AS b (base_id)", "also": "",
            "everything": "SELECT sum(h.chunk_count) FROM documents h WHERE h.tenant_id = p_tenant AND h.base_id = ANY(p_bases)",
            "scope": "x.tenant_id = p_tenant AND x.base_id = b.base_id",
            "embedded": "x.tenant_id = p_tenant AND x.base_id = ANY(p_bases)",
            "row": "x.tenant_id = p_tenant"},
        {"name": "sections", "key": "section_id", "type": "uuid", "found": "found_id", "table": "wiki_page_sections", "vectors": "section_vectors",
            "of": "p_owner uuid", "more": "", "mean": "60", "bases": "", "also": "",
            "everything": "SELECT active_pages(p_tenant, p_owner)",
            "scope": "x.tenant_id = p_tenant AND x.owner_id = p_owner",
            "embedded": "x.tenant_id = p_tenant AND x.owner_id = p_owner",
            "row": "x.tenant_id = p_tenant"},
        {"name": "pages", "key": "page_id", "type": "uuid", "found": "found_id", "table": "wiki_pages", "vectors": "page_vectors",
            "of": "p_owner uuid", "more": ", p_pages integer", "mean": "150", "bases": "", "also": "AND x.status = 'active'",
            "everything": "SELECT coalesce(p_pages, active_pages(p_tenant, p_owner))",
            "scope": "x.tenant_id = p_tenant AND x.owner_id = p_owner",
            "embedded": "x.tenant_id = p_tenant AND x.owner_id = p_owner",
            "row": "x.tenant_id = p_tenant"}
    ]$kinds$::jsonb) LOOP
        body := $template$
CREATE OR REPLACE FUNCTION recall_{name}(p_tenant uuid, {of}, p_words text[], p_embedder integer, p_vectors text[], p_limit integer{more})
RETURNS TABLE ({found} {type}, matched bigint, cosines real[], frequencies integer[], total integer)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_temp
SET enable_seqscan = off SET enable_nestloop = off SET enable_mergejoin = off SET jit = off SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    has_vectors boolean := cardinality(p_vectors) > 0 AND to_regclass('{vectors}') IS NOT NULL;
    few integer := greatest(240, 8 * p_limit);
    everything integer;
    one bit varying;
    two bit varying;
    three bit varying;
    four bit varying;
    within double precision;
    near {type}[];
    chosen {type}[];
    bits bigint[];
    counts integer[];
    common tsquery[];
    common_bits bigint[];
BEGIN
    IF p_tenant IS DISTINCT FROM app_tenant(){not ours} THEN RETURN; END IF;
    everything := coalesce(({everything}), 0);
    IF has_vectors AND everything <= 12 * few THEN
        SELECT array_agg(n.key ORDER BY n.far, n.key) INTO near FROM (
            SELECT x.{key} AS key, {distance} AS far FROM {vectors} x WHERE {embedded} AND x.embedder_no = p_embedder
            ORDER BY 2, 1 LIMIT p_limit) n;
    ELSIF has_vectors THEN
        SELECT binary_quantize(p_vectors[1]::halfvec), binary_quantize(p_vectors[2]::halfvec), binary_quantize(p_vectors[3]::halfvec),
            binary_quantize(p_vectors[4]::halfvec) INTO one, two, three, four;
        -- A thousand vectors tell how near half as many again will be: what is farther need not be sorted. Should these have been
        -- nearer than the others are, all are sorted.
        SELECT max(s.far) INTO within FROM (
            SELECT {bits apart} AS far FROM (
                SELECT x.signs FROM {vectors} x WHERE {embedded} AND x.embedder_no = p_embedder LIMIT 1000) x
            ORDER BY 1 LIMIT 20 + 1500 * few / everything) s;
        FOREACH within IN ARRAY ARRAY[within, 'Infinity'] LOOP
            SELECT array_agg(n.key) INTO near FROM (
                SELECT x.{key} AS key FROM {vectors} x WHERE {embedded} AND x.embedder_no = p_embedder AND {bits apart} <= within
                ORDER BY {bits apart} LIMIT few) n;
            EXIT WHEN cardinality(near) = few;
        END LOOP;
        SELECT array_agg(n.key ORDER BY n.far, n.key) INTO near FROM (
            SELECT x.{key} AS key, {distance} AS far FROM {vectors} x
            WHERE {row} AND x.{key} = ANY(near) AND x.embedder_no = p_embedder
            ORDER BY 2, 1 LIMIT p_limit) n;
    END IF;
    WITH words AS MATERIALIZED (
        SELECT w.ord, w.word, word_query(w.word) AS q FROM unnest(p_words) WITH ORDINALITY AS w (word, ord)
    ), exact AS MATERIALIZED (
        SELECT words.ord, f.key, f.word_count FROM words {bases} CROSS JOIN LATERAL (
            SELECT x.{key} AS key, x.word_count FROM {table} x WHERE {scope} AND x.search_tsv @@ words.q {also} LIMIT 500) f
    ), found AS MATERIALIZED (
        SELECT exact.ord, count(*) AS n FROM exact GROUP BY exact.ord
    ), missing AS MATERIALIZED (
        SELECT words.ord, words.word FROM words
        WHERE words.word ~ '^[[:alpha:]]{5,24}$' AND words.ord NOT IN (SELECT found.ord FROM found)
        ORDER BY length(words.word) DESC, words.ord LIMIT 2
    ), close AS MATERIALIZED (
        SELECT DISTINCT m.ord, f.key, f.word_count
        FROM missing m CROSS JOIN LATERAL unnest(close_queries(m.word)) AS c (q) {bases} CROSS JOIN LATERAL (
            SELECT x.{key} AS key, x.word_count FROM {table} x WHERE {scope} AND x.search_tsv @@ c.q {also} LIMIT 100) f
    ), hits AS (
        SELECT exact.ord, exact.key, exact.word_count FROM exact UNION ALL SELECT close.ord, close.key, close.word_count FROM close
    ), counted AS MATERIALIZED (
        SELECT found.ord, found.n, true AS is_exact FROM found
        UNION ALL
        SELECT close.ord, ceil(sqrt(count(*)::float8 * everything))::bigint, false FROM close GROUP BY close.ord
    ), weights AS MATERIALIZED (
        SELECT c.ord, c.is_exact AND c.n >= 500 AS is_frequent, inverse_frequency(c.n, everything) AS weight,
            1::bigint << (c.ord - 1)::integer AS bit
        FROM counted c ORDER BY c.n, c.ord LIMIT 12
    ), held AS MATERIALIZED (
        SELECT hits.key, sum(w.weight) * length_share(hits.word_count, {mean}) AS score, bit_or(w.bit) AS bits
        FROM hits JOIN weights w USING (ord) GROUP BY hits.key, hits.word_count
    ), ranked AS (
        SELECT b.key, row_number() OVER (ORDER BY b.score DESC, b.key) AS place
        FROM (SELECT h.key, h.score FROM held h ORDER BY h.score DESC, h.key LIMIT p_limit) b
        UNION ALL
        SELECT n.key, n.place FROM unnest(near) WITH ORDINALITY AS n (key, place)
    ), fused AS MATERIALIZED (
        SELECT r.key, sum(1::float8 / (60 + r.place)) AS score FROM ranked r GROUP BY r.key
    ), candidates AS MATERIALIZED (
        SELECT f.key FROM fused f {beside}
    ), frequent AS MATERIALIZED (
        SELECT words.q, w.bit FROM weights w JOIN words USING (ord) WHERE w.is_frequent
    )
    SELECT array_agg(c.key ORDER BY f.score DESC NULLS LAST, c.key),
        array_agg(coalesce(h.bits, 0) ORDER BY f.score DESC NULLS LAST, c.key),
        (SELECT array_agg(coalesce(k.n, 0)::integer ORDER BY w.ord) FROM words w LEFT JOIN counted k USING (ord)),
        (SELECT array_agg(t.q) FROM frequent t), (SELECT array_agg(t.bit) FROM frequent t)
    INTO chosen, bits, counts, common, common_bits
    FROM candidates c LEFT JOIN fused f USING (key) LEFT JOIN held h USING (key);
    -- Of a word that more texts hold than were looked up, each candidate is asked.
    IF common IS NOT NULL THEN
        SELECT array_agg(c.bits | coalesce(k.bits, 0) ORDER BY c.place) INTO bits
        FROM unnest(chosen, bits) WITH ORDINALITY AS c (key, bits, place) LEFT JOIN (
            SELECT x.{key} AS key, (
                SELECT bit_or(w.bit) FROM unnest(common, common_bits) AS w (q, bit) WHERE x.search_tsv @@ w.q) AS bits
            FROM {table} x WHERE {row} AND x.{key} = ANY(chosen)) k USING (key);
    END IF;
    IF has_vectors THEN
        RETURN QUERY
        SELECT c.key, c.bits, v.cosines, CASE WHEN c.place = 1 THEN counts END, everything
        FROM unnest(chosen, bits) WITH ORDINALITY AS c (key, bits, place) LEFT JOIN (
            SELECT x.{key} AS key, (ARRAY[{cosines}])[1:cardinality(p_vectors)] AS cosines
            FROM {vectors} x WHERE {row} AND x.{key} = ANY(chosen) AND x.embedder_no = p_embedder) v USING (key)
        ORDER BY c.place;
    ELSE
        RETURN QUERY
        SELECT c.key, c.bits, NULL::real[], CASE WHEN c.place = 1 THEN counts END, everything
        FROM unnest(chosen, bits) WITH ORDINALITY AS c (key, bits, place) ORDER BY c.place;
    END IF;
END
$$$template$;
        kind := kind || jsonb_build_object(
            'beside', coalesce(beside ->> (kind ->> 'name'), ''),
            'not ours', CASE WHEN kind ->> 'name' <> 'chunks' THEN ' OR p_owner IS DISTINCT FROM app_owner()' ELSE '' END,
            'bits apart', 'least(x.signs <~> one, x.signs <~> two, x.signs <~> three, x.signs <~> four)',
            'distance', 'least(x.vector <#> (SELECT p_vectors[1]::halfvec), x.vector <#> (SELECT p_vectors[2]::halfvec),'
                ' x.vector <#> (SELECT p_vectors[3]::halfvec), x.vector <#> (SELECT p_vectors[4]::halfvec))',
            'cosines', '(-(x.vector <#> (SELECT p_vectors[1]::halfvec)))::real, (-(x.vector <#> (SELECT p_vectors[2]::halfvec)))::real,'
                ' (-(x.vector <#> (SELECT p_vectors[3]::halfvec)))::real, (-(x.vector <#> (SELECT p_vectors[4]::halfvec)))::real');
        FOR part IN SELECT * FROM jsonb_each_text(kind) LOOP
            body := replace(body, '{' || part.key || '}', part.value);
        END LOOP;
        EXECUTE body;
    END LOOP;
END
$do$;

ALTER FUNCTION recall_pages(uuid, uuid, text[], integer, text[], integer, integer) OWNER TO sidecar_search;
REVOKE ALL ON FUNCTION recall_pages(uuid, uuid, text[], integer, text[], integer, integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION recall_pages(uuid, uuid, text[], integer, text[], integer, integer) TO sidecar_app, sidecar_worker;
