-- A message may be searched with words of its thread, each with a weight below 1, and with a vector of the message in its thread.
--
-- Each vector finds its own nearest texts, so that one part of a question cannot crowd out another. Words of the thread never take
-- the place of the message's own: the twelve rarest of those are looked for as before, and the eight best of the thread's beside them.
-- A text that holds the message's words competes for its place without the thread's, and once more with them.
DO $do$
DECLARE
    kind text;
    was regprocedure;
    body text;
    change text[];
    changes text[] := ARRAY[
        ARRAY[E'    one bit varying;\n    two bit varying;\n    three bit varying;\n    four bit varying;\n',
            E'    nearby bit varying;\n    places integer[];\n'],
        ARRAY[E'    IF has_vectors AND everything <= 12 * few THEN\n',
            E'    FOR part IN 1..CASE WHEN has_vectors THEN cardinality(p_vectors) ELSE 0 END LOOP\n    IF everything <= 12 * few THEN\n'],
        ARRAY[E'    ELSIF has_vectors THEN\n', E'    ELSE\n'],
        ARRAY['least(x.vector <#> (SELECT p_vectors[1]::halfvec), x.vector <#> (SELECT p_vectors[2]::halfvec),'
            ' x.vector <#> (SELECT p_vectors[3]::halfvec), x.vector <#> (SELECT p_vectors[4]::halfvec))',
            'x.vector <#> (SELECT p_vectors[part]::halfvec)'],
        ARRAY[E'SELECT binary_quantize(p_vectors[1]::halfvec), binary_quantize(p_vectors[2]::halfvec), binary_quantize(p_vectors[3]::halfvec),\n'
            '            binary_quantize(p_vectors[4]::halfvec) INTO one, two, three, four;',
            'SELECT binary_quantize(p_vectors[part]::halfvec) INTO nearby;'],
        ARRAY['least(x.signs <~> one, x.signs <~> two, x.signs <~> three, x.signs <~> four)', 'x.signs <~> nearby'],
        ARRAY[E'    END IF;\n    WITH words AS MATERIALIZED (\n        SELECT w.ord, w.word FROM unnest(p_words) WITH ORDINALITY AS w (word, ord)\n',
            E'    END IF;\n    nearest := nearest || near;\n'
            '    places := places || ARRAY(SELECT generate_series(1, cardinality(near)));\n    END LOOP;\n'
            '    WITH words AS MATERIALIZED (\n'
            '        SELECT w.ord, w.word, coalesce(p_weights[w.ord], 1)::float8 AS share, coalesce(p_weights[w.ord], 1) >= 1 AS is_own\n'
            '        FROM unnest(p_words) WITH ORDINALITY AS w (word, ord)\n'],
        ARRAY[E'        WHERE words.word ~ ', E'        WHERE words.is_own AND words.word ~ '],
        ARRAY[E'    ), weights AS MATERIALIZED (\n'
            '        SELECT c.ord, c.is_exact AND c.n >= 500 AS is_frequent, inverse_frequency(c.n, everything) AS weight,\n'
            '            1::bigint << (c.ord - 1)::integer AS bit\n'
            '        FROM counted c ORDER BY c.n, c.ord LIMIT 12\n',
            E'    ), weighed AS MATERIALIZED (\n'
            '        SELECT c.ord, c.n, c.is_exact AND c.n >= 500 AS is_frequent, w.is_own,\n'
            '            inverse_frequency(c.n, everything) AS idf, inverse_frequency(c.n, everything) * w.share AS weight,\n'
            '            1::bigint << (c.ord - 1)::integer AS bit\n'
            '        FROM counted c JOIN words w USING (ord)\n'
            '    ), weights AS MATERIALIZED (\n'
            '        (SELECT * FROM weighed WHERE weighed.is_own ORDER BY weighed.n, weighed.ord LIMIT 12)\n'
            '        UNION ALL\n'
            '        (SELECT * FROM weighed WHERE NOT weighed.is_own AND weighed.idf >= 2 ORDER BY weighed.weight DESC, weighed.ord LIMIT 8)\n'],
        ARRAY[E'    ), held AS MATERIALIZED (\n        SELECT hits.key, sum(w.weight) * length_share(',
            E'    ), held AS MATERIALIZED (\n'
            '        SELECT hits.key, sum(w.weight) FILTER (WHERE w.is_own) / sum(w.weight) AS own, sum(w.weight) * length_share('],
        ARRAY[E'        SELECT b.key, row_number() OVER (ORDER BY b.score DESC, b.key) AS place\n'
            '        FROM (SELECT h.key, h.score FROM held h ORDER BY h.score DESC, h.key LIMIT p_limit) b\n'
            '        UNION ALL\n'
            '        SELECT n.key, n.place FROM unnest(near) WITH ORDINALITY AS n (key, place)\n',
            E'        SELECT b.key, row_number() OVER (ORDER BY b.score DESC, b.key) AS place\n'
            '        FROM (SELECT h.key, h.score * h.own AS score FROM held h WHERE h.own > 0 ORDER BY 2 DESC, 1 LIMIT p_limit) b\n'
            '        UNION ALL\n'
            '        SELECT b.key, row_number() OVER (ORDER BY b.score DESC, b.key) AS place\n'
            '        FROM (SELECT h.key, h.score FROM held h WHERE p_weights IS NOT NULL ORDER BY 2 DESC, 1 LIMIT p_limit) b\n'
            '        UNION ALL\n'
            '        SELECT n.key, n.place FROM unnest(nearest, places) AS n (key, place)\n']
    ];
BEGIN
    FOREACH kind IN ARRAY ARRAY['turns', 'memories', 'chunks', 'sections', 'pages'] LOOP
        SELECT p.oid::regprocedure, pg_get_functiondef(p.oid) INTO STRICT was, body FROM pg_proc p
        WHERE p.proname = 'recall_' || kind AND p.pronamespace = 'public'::regnamespace;
        FOREACH change SLICE 1 IN ARRAY changes LOOP
            ASSERT position(change[1] IN body) > 0, 'recall_' || kind || ' is not as 0023 left it: ' || change[1];
            body := replace(body, change[1], change[2]);
        END LOOP;
        body := regexp_replace(body, '\n    near (\w+)\[\];', E'\n    near \\1[];\n    nearest \\1[];');
        body := regexp_replace(body, '^([^)]*)\)', '\1, p_weights real[] DEFAULT NULL)');
        EXECUTE 'DROP FUNCTION ' || was;
        EXECUTE body;
        SELECT p.oid::regprocedure INTO STRICT was FROM pg_proc p
        WHERE p.proname = 'recall_' || kind AND p.pronamespace = 'public'::regnamespace;
        EXECUTE 'ALTER FUNCTION ' || was || ' OWNER TO sidecar_search';
        EXECUTE 'REVOKE ALL ON FUNCTION ' || was || ' FROM PUBLIC';
        EXECUTE 'GRANT EXECUTE ON FUNCTION ' || was || ' TO sidecar_app, sidecar_worker';
    END LOOP;
END
$do$;
