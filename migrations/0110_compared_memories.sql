-- A fifth vector of a question to memories is only compared with them, not searched by: its product with a memory's vector tells
-- how sensitive the memory is. It follows the places of four parts, of which the last may be null.
DO $$
DECLARE
    body text := pg_get_functiondef((SELECT p.oid FROM pg_proc p
        WHERE p.pronamespace = 'public'::regnamespace AND p.proname = 'recall_memories'));
    change text[];
BEGIN
    FOREACH change SLICE 1 IN ARRAY ARRAY[
        ARRAY['CASE WHEN has_vectors THEN cardinality(p_vectors) ELSE 0 END',
            'CASE WHEN has_vectors THEN cardinality(array_remove(p_vectors[1:4], NULL)) ELSE 0 END'],
        ARRAY['(-(x.vector <#> (SELECT p_vectors[4]::halfvec)))::real]',
            '(-(x.vector <#> (SELECT p_vectors[4]::halfvec)))::real, (-(x.vector <#> (SELECT p_vectors[5]::halfvec)))::real]']]
    LOOP
        IF strpos(body, change[1]) = 0 THEN
            RAISE EXCEPTION 'recall_memories is not the function that this migration changes';
        END IF;
        body := replace(body, change[1], change[2]);
    END LOOP;
    EXECUTE body;
END
$$;
