-- Of the texts that hold a word close to one that is written nowhere, the first hundred are looked at: the shortest first, as they
-- are ranked, ties by key. They were whichever stood first in the table.
DO $do$
DECLARE
    kind text;
    body text;
    ordered text;
BEGIN
    FOREACH kind IN ARRAY ARRAY['turns', 'memories', 'chunks', 'sections', 'pages'] LOOP
        SELECT pg_get_functiondef(p.oid) INTO STRICT body FROM pg_proc p
        WHERE p.proname = 'recall_' || kind AND p.pronamespace = 'public'::regnamespace;
        ordered := replace(body, ' LIMIT 100) f', ' ORDER BY 2, 1 LIMIT 100) f');
        ASSERT ordered <> body, 'recall_' || kind || ' is not as 0020 left it';
        EXECUTE ordered;
    END LOOP;
END
$do$;
