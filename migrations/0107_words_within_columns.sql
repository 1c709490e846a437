-- Columns are joined by a control character, not by a space: a word counted where one column ended with its half and the next began.
CREATE OR REPLACE FUNCTION rows_holding(p_tenant uuid, p_owner uuid, p_word text) RETURNS TABLE (table_name text, row_count bigint)
LANGUAGE plpgsql STABLE SET search_path = public, pg_temp
AS $$
DECLARE
    held record;
BEGIN
    FOR held IN
        SELECT c.relname AS name,
            coalesce(string_agg(format(', t.%I', a.attname), '') FILTER (WHERE e.typname <> 'bytea'), '') AS texts,
            coalesce(string_agg(format('t.%I', a.attname), ', ') FILTER (WHERE e.typname = 'bytea'), '') AS bytes
        FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
            JOIN pg_type y ON y.oid = a.atttypid JOIN pg_type e ON e.oid = CASE y.typcategory WHEN 'A' THEN y.typelem ELSE y.oid END
        WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r' AND has_table_privilege(c.oid, 'SELECT')
            AND (SELECT count(*) FROM pg_attribute k WHERE k.attrelid = c.oid AND k.attname IN ('tenant_id', 'owner_id')) = 2
            AND e.typcategory NOT IN ('B', 'D', 'N', 'R', 'T', 'V') AND e.typname NOT IN ('uuid', 'xid8', 'halfvec', 'vector')
            AND NOT (e.typname = 'bytea' AND a.attname ~ '(hash|sha256|signature|fingerprint|key)$')
        GROUP BY c.relname ORDER BY c.relname
    LOOP
        EXECUTE format('SELECT count(*) FROM %I t WHERE t.tenant_id = $1 AND t.owner_id = $2 AND ('
            'strpos(lower(concat_ws(chr(31), ''''%s)), lower($3)) > 0 OR strpos(ROW(%s)::text, encode(convert_to($3, ''UTF8''), ''hex'')) > 0)',
            held.name, held.texts, held.bytes)
            INTO row_count USING p_tenant, p_owner, p_word;
        table_name := held.name;
        IF row_count > 0 THEN RETURN NEXT; END IF;
    END LOOP;
END
$$;
