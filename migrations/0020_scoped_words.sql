-- Words are looked up by scope and word together: one key of the search index, where it was three or four whose rows were brought
-- together for each word.
--
-- A key is a word behind eight characters that stand for its scope: tenant and owner, with the thread of turns, or tenant and base.
-- Two scopes may share the eight, so each row found is asked for its scope too, by functions and not by operators: no other index
-- can answer these, so that the plan is the same whether or not a table was ever analysed. Words are cut at 64 characters before
-- they are stored; with the eight they are far from what a search index takes.
CREATE FUNCTION scope_key(p_scope text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$ SELECT translate(left(encode(int8send(hashtextextended(p_scope, 0)), 'base64'), 8), '+/', 'ab') $$;

-- A text's words as the index holds them. One text is split and joined, since taking the words one by one costs ten times as much.
CREATE FUNCTION scoped_words(p_scope text, p_words tsvector) RETURNS tsvector LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
AS $$
DECLARE
    scope text := public.scope_key(p_scope);
BEGIN
    IF length(p_words) = 0 THEN RETURN p_words; END IF;
    RETURN array_to_tsvector(string_to_array(scope || array_to_string(tsvector_to_array(p_words), E'\x01' || scope), E'\x01'));
END
$$;

-- All of some words, as the index holds them; p_ending is ':*' for words that may go on.
CREATE FUNCTION scoped_terms(p_key text, p_words tsvector, p_ending text) RETURNS text LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
AS $$
BEGIN
    RETURN '''' || p_key || replace(
        replace(replace(array_to_string(tsvector_to_array(p_words), E'\x01'), '\', '\\'), '''', ''''''),
        E'\x01', '''' || p_ending || ' & ''' || p_key) || '''' || p_ending;
END
$$;

-- What word_query asks, of one scope; null for a word that no text can hold.
CREATE FUNCTION scoped_query(p_key text, p_word text) RETURNS tsquery LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
AS $$
DECLARE
    written tsvector := to_tsvector('simple'::regconfig, p_word);
    stem tsvector := to_tsvector('english'::regconfig, p_word);
BEGIN
    IF length(written) = 0 OR octet_length(p_word) > 1000 THEN RETURN NULL; END IF;
    IF length(stem) = 0 OR stem = written THEN RETURN public.scoped_terms(p_key, written, '')::tsquery; END IF;
    RETURN (public.scoped_terms(p_key, stem, '') || ' | ' || public.scoped_terms(p_key, written, ''))::tsquery;
END
$$;

-- The same of a word that may go on. Of several words at once their order is left to who asks the texts.
CREATE FUNCTION scoped_beginning(p_key text, p_word text) RETURNS tsquery LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
AS $$
DECLARE
    whole tsquery := public.scoped_query(p_key, p_word);
    begun tsvector := to_tsvector('simple'::regconfig, translate(p_word, '''\', ''));
BEGIN
    IF length(begun) = 0 OR octet_length(p_word) > 1000 THEN RETURN whole; END IF;
    RETURN (coalesce(whole::text || ' | ', '') || public.scoped_terms(p_key, begun, ':*'))::tsquery;
END
$$;

-- As close_queries of 0015, of one scope.
CREATE FUNCTION close_queries(p_key text, p_word text) RETURNS tsquery[] LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$
    SELECT array_agg((
            cut.head || array_to_string(alphabet.letters, cut.tail || '|' || cut.head) || cut.tail
            || '|' || cut.head || array_to_string(alphabet.letters, substr(cut.tail, 2) || '|' || cut.head) || substr(cut.tail, 2)
            || '|' || cut.head || substr(cut.tail, 2)
            || '|' || cut.head || substr(cut.tail, 2, 1) || left(cut.tail, 1) || substr(cut.tail, 3))::tsquery)
        || (p_key || p_word || ':*')::tsquery
    FROM (
        SELECT p_key || left(p_word, place) AS head, substr(p_word, place + 1) AS tail FROM generate_series(0, length(p_word)) AS place) cut
    CROSS JOIN (SELECT '{a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q,r,s,t,u,v,w,x,y,z}'::text[] AS letters) alphabet
$$;

DROP FUNCTION close_queries(text);

CREATE INDEX turns_words ON turns USING gin (scoped_words(tenant_id::text || owner_id::text || thread_id, search_tsv))
    WITH (fastupdate = off);
CREATE INDEX memories_words ON memories USING gin (scoped_words(tenant_id::text || owner_id::text, search_tsv))
    WITH (fastupdate = off);
CREATE INDEX chunks_words ON chunks USING gin (scoped_words(tenant_id::text || base_id::text, search_tsv))
    WITH (fastupdate = off);
CREATE INDEX wiki_pages_words ON wiki_pages USING gin (scoped_words(tenant_id::text || owner_id::text, search_tsv))
    WITH (fastupdate = off);
CREATE INDEX wiki_page_sections_words ON wiki_page_sections
    USING gin (scoped_words(tenant_id::text || owner_id::text, search_tsv)) WITH (fastupdate = off);

-- The old index also led to all of an owner's sections.
CREATE INDEX wiki_page_sections_by_owner ON wiki_page_sections (tenant_id, owner_id, page_id);

-- Recall as in 0015; what is in braces differs by kind. Words are looked up by scope and word together, and vectors that are asked
-- for by id are asked for their embedder by a function, so that the index of signs, which has no ids to look up, is not taken for it.
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
            "place": "p_tenant::text || p_owner::text || p_thread", "placed": "x.tenant_id::text || x.owner_id::text || x.thread_id",
            "scope": "uuid_eq(x.tenant_id, p_tenant) AND uuid_eq(x.owner_id, p_owner) AND texteq(x.thread_id, p_thread)",
            "embedded": "x.tenant_id = p_tenant AND x.owner_id = p_owner AND x.thread_id = p_thread",
            "row": "x.tenant_id = p_tenant AND x.owner_id = p_owner AND x.thread_id = p_thread"},
        {"name": "memories", "key": "memory_id", "type": "text", "found": "found_id", "table": "memories", "vectors": "memory_vectors",
            "of": "p_owner uuid", "more": "", "mean": "15", "bases": "", "also": "",
            "everything": "SELECT h.change_seq FROM memory_feeds h WHERE h.tenant_id = p_tenant AND h.owner_id = p_owner",
            "place": "p_tenant::text || p_owner::text", "placed": "x.tenant_id::text || x.owner_id::text",
            "scope": "uuid_eq(x.tenant_id, p_tenant) AND uuid_eq(x.owner_id, p_owner)",
            "embedded": "x.tenant_id = p_tenant AND x.owner_id = p_owner",
            "row": "x.tenant_id = p_tenant AND x.owner_id = p_owner"},
        {"name": "chunks", "key": "chunk_id", "type": "uuid", "found": "found_id", "table": "chunks", "vectors": "chunk_vectors",
            "of": "p_bases uuid[]", "more": "", "mean": "130", "bases": "CROSS JOIN unnest(p_bases) AS b (base_id)", "also": "",
            "everything": "SELECT sum(h.chunk_count) FROM documents h WHERE h.tenant_id = p_tenant AND h.base_id = ANY(p_bases)",
            "place": "p_tenant::text || b.base_id::text", "placed": "x.tenant_id::text || x.base_id::text",
            "scope": "uuid_eq(x.tenant_id, p_tenant) AND uuid_eq(x.base_id, b.base_id)",
            "embedded": "x.tenant_id = p_tenant AND x.base_id = ANY(p_bases)",
            "row": "x.tenant_id = p_tenant"},
        {"name": "sections", "key": "section_id", "type": "uuid", "found": "found_id", "table": "wiki_page_sections", "vectors": "section_vectors",
            "of": "p_owner uuid", "more": "", "mean": "60", "bases": "", "also": "",
            "everything": "SELECT active_pages(p_tenant, p_owner)",
            "place": "p_tenant::text || p_owner::text", "placed": "x.tenant_id::text || x.owner_id::text",
            "scope": "uuid_eq(x.tenant_id, p_tenant) AND uuid_eq(x.owner_id, p_owner)",
            "embedded": "x.tenant_id = p_tenant AND x.owner_id = p_owner",
            "row": "x.tenant_id = p_tenant"},
        {"name": "pages", "key": "page_id", "type": "uuid", "found": "found_id", "table": "wiki_pages", "vectors": "page_vectors",
            "of": "p_owner uuid", "more": ", p_pages integer", "mean": "150", "bases": "", "also": "AND texteq(x.status, 'active')",
            "everything": "SELECT coalesce(p_pages, active_pages(p_tenant, p_owner))",
            "place": "p_tenant::text || p_owner::text", "placed": "x.tenant_id::text || x.owner_id::text",
            "scope": "uuid_eq(x.tenant_id, p_tenant) AND uuid_eq(x.owner_id, p_owner)",
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
            WHERE {row} AND x.{key} = ANY(near) AND int4eq(x.embedder_no, p_embedder)
            ORDER BY 2, 1 LIMIT p_limit) n;
    END IF;
    WITH words AS MATERIALIZED (
        SELECT w.ord, w.word FROM unnest(p_words) WITH ORDINALITY AS w (word, ord)
    ), exact AS MATERIALIZED (
        SELECT words.ord, f.key, f.word_count FROM words {bases} CROSS JOIN LATERAL (
            SELECT x.{key} AS key, x.word_count FROM {table} x
            WHERE scoped_words({placed}, x.search_tsv) @@ scoped_query(scope_key({place}), words.word) AND {scope} {also} LIMIT 500) f
    ), found AS MATERIALIZED (
        SELECT exact.ord, count(*) AS n FROM exact GROUP BY exact.ord
    ), missing AS MATERIALIZED (
        SELECT words.ord, words.word FROM words
        WHERE words.word ~ '^[[:alpha:]]{5,24}$' AND words.ord NOT IN (SELECT found.ord FROM found)
        ORDER BY length(words.word) DESC, words.ord LIMIT 2
    ), close AS MATERIALIZED (
        SELECT DISTINCT m.ord, f.key, f.word_count
        FROM missing m {bases} CROSS JOIN LATERAL unnest(close_queries(scope_key({place}), m.word)) AS c (q) CROSS JOIN LATERAL (
            SELECT x.{key} AS key, x.word_count FROM {table} x
            WHERE scoped_words({placed}, x.search_tsv) @@ c.q AND {scope} {also} LIMIT 100) f
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
        SELECT word_query(words.word) AS q, w.bit FROM weights w JOIN words USING (ord) WHERE w.is_frequent
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
            FROM {vectors} x WHERE {row} AND x.{key} = ANY(chosen) AND int4eq(x.embedder_no, p_embedder)) v USING (key)
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

-- As in 0014. A beginning of several words, in the order of the text, is asked of the text itself.
CREATE OR REPLACE FUNCTION match_words(p_tenant uuid, p_owner uuid, p_words text[], p_limit integer)
RETURNS TABLE (found_id uuid, score double precision, coverage double precision)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_temp SET enable_seqscan = off
AS $$
BEGIN
    IF p_tenant IS DISTINCT FROM app_tenant() OR p_owner IS DISTINCT FROM app_owner() THEN RETURN; END IF;
    RETURN QUERY
    WITH words AS (
        SELECT w.ord, CASE WHEN w.is_open THEN scoped_beginning(k.key, w.word) ELSE scoped_query(k.key, w.word) END AS q,
            CASE WHEN w.is_open AND numnode(beginning_query(w.word)) > 1 THEN word_query(w.word) || beginning_query(w.word) END AS whole
        FROM (SELECT scope_key(p_tenant::text || p_owner::text) AS key) k CROSS JOIN (
            SELECT w.ord, w.word, w.ord = cardinality(p_words) AND length(w.word) > 1 AS is_open
            FROM unnest(p_words) WITH ORDINALITY AS w (word, ord)) w
    ), hits AS (
        SELECT words.ord, found.page_id, found.word_count FROM words CROSS JOIN LATERAL (
            SELECT p.page_id, p.word_count FROM wiki_pages p
            WHERE scoped_words(p.tenant_id::text || p.owner_id::text, p.search_tsv) @@ words.q
                AND uuid_eq(p.tenant_id, p_tenant) AND uuid_eq(p.owner_id, p_owner) AND texteq(p.status, 'active')
                AND (words.whole IS NULL OR p.search_tsv @@ words.whole)
            LIMIT 400) found
    ), weights AS (
        SELECT words.ord, word_weight(count(hits.ord)) AS weight FROM words LEFT JOIN hits USING (ord) GROUP BY words.ord
        ORDER BY count(hits.ord) = 0, 2 DESC, 1 LIMIT 8
    )
    SELECT hits.page_id, sum(weight * length_share(hits.word_count, 150)), sum(weight) / (SELECT sum(weight) FROM weights)
    FROM hits JOIN weights USING (ord) GROUP BY hits.page_id ORDER BY 2 DESC, 1 LIMIT p_limit;
END
$$;

-- As in 0019, words by scope.
CREATE OR REPLACE FUNCTION pages_about(p_tenant uuid, p_owner uuid, p_texts integer[], p_words text[], p_each integer)
RETURNS TABLE (text_no integer, found_id uuid, score double precision)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_temp SET enable_seqscan = off SET jit = off
AS $$
BEGIN
    IF p_tenant IS DISTINCT FROM app_tenant() OR p_owner IS DISTINCT FROM app_owner() THEN RETURN; END IF;
    RETURN QUERY
    WITH words AS MATERIALIZED (
        SELECT w.word, scoped_query(k.key, w.word) AS q
        FROM (SELECT scope_key(p_tenant::text || p_owner::text) AS key) k
        CROSS JOIN (SELECT DISTINCT w.word FROM unnest(p_words) AS w (word)) w
    ), hits AS MATERIALIZED (
        SELECT words.word, found.page_id, found.type, found.slug, found.word_count FROM words CROSS JOIN LATERAL (
            SELECT p.page_id, p.type, p.slug, p.word_count FROM wiki_pages p
            WHERE scoped_words(p.tenant_id::text || p.owner_id::text, p.search_tsv) @@ words.q
                AND uuid_eq(p.tenant_id, p_tenant) AND uuid_eq(p.owner_id, p_owner) AND texteq(p.status, 'active')
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

-- Last, since it locks: until here, texts were read as before.
DROP INDEX turns_search;
DROP INDEX memories_search;
DROP INDEX chunks_search;
DROP INDEX wiki_pages_search;
DROP INDEX wiki_page_sections_search;
ALTER INDEX turns_words RENAME TO turns_search;
ALTER INDEX memories_words RENAME TO memories_search;
ALTER INDEX chunks_words RENAME TO chunks_search;
ALTER INDEX wiki_pages_words RENAME TO wiki_pages_search;
ALTER INDEX wiki_page_sections_words RENAME TO wiki_page_sections_search;

-- No plan depends on how words are spread any more.
ALTER TABLE turns ALTER COLUMN search_tsv SET STATISTICS 0;
ALTER TABLE memories ALTER COLUMN search_tsv SET STATISTICS 0;
ALTER TABLE chunks ALTER COLUMN search_tsv SET STATISTICS 0;
ALTER TABLE wiki_pages ALTER COLUMN search_tsv SET STATISTICS 0;
ALTER TABLE wiki_page_sections ALTER COLUMN search_tsv SET STATISTICS 0;
ALTER INDEX turns_search ALTER COLUMN 1 SET STATISTICS 0;
ALTER INDEX memories_search ALTER COLUMN 1 SET STATISTICS 0;
ALTER INDEX chunks_search ALTER COLUMN 1 SET STATISTICS 0;
ALTER INDEX wiki_pages_search ALTER COLUMN 1 SET STATISTICS 0;
ALTER INDEX wiki_page_sections_search ALTER COLUMN 1 SET STATISTICS 0;
