-- A table without a primary key is rewritten in the order of another of its indexes; before, a purge failed at it.
CREATE OR REPLACE FUNCTION rewrite_table(p_table text) RETURNS void
LANGUAGE plpgsql VOLATILE SET search_path = public, pg_temp
AS $$
DECLARE
    sampled record;
BEGIN
    EXECUTE (SELECT format('CLUSTER %I USING %I', t.relname, x.relname) FROM pg_class t
        JOIN pg_index i ON i.indrelid = t.oid AND i.indisvalid AND i.indpred IS NULL
        JOIN pg_class x ON x.oid = i.indexrelid JOIN pg_am a ON a.oid = x.relam AND a.amname = 'btree'
        WHERE t.relnamespace = 'public'::regnamespace AND t.relname = p_table
        ORDER BY i.indisprimary DESC, x.relname LIMIT 1);
    EXECUTE format('ALTER TABLE %I SET WITHOUT CLUSTER', p_table);
    EXECUTE format('ANALYZE %I', p_table);
    IF pg_relation_size(format('public.%I', p_table)::regclass) > 0 THEN RETURN; END IF;
    FOR sampled IN
        SELECT a.attname AS name, format_type(a.atttypid, a.atttypmod) AS type FROM pg_stats s
        JOIN pg_attribute a ON a.attrelid = format('public.%I', p_table)::regclass AND a.attname = s.attname
        WHERE s.schemaname = 'public' AND s.tablename = p_table
            AND a.atttypid IN ('text'::regtype, 'text[]'::regtype, 'jsonb'::regtype, 'bytea'::regtype)
    LOOP
        IF to_regproc('pg_catalog.pg_clear_attribute_stats') IS NOT NULL THEN
            EXECUTE 'SELECT pg_clear_attribute_stats($1, $2, $3, false)' USING 'public', p_table, sampled.name;
        ELSE
            EXECUTE format('ALTER TABLE %I ALTER COLUMN %I TYPE %s', p_table, sampled.name, sampled.type);
        END IF;
    END LOOP;
END
$$;
