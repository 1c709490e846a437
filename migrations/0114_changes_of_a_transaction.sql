-- The number of rows that the session deleted or changed, by table. A cluster runs it on the server of the tenant's rows if the query
-- also reads a row of that tenant. There, the name of a table ends with the number of its shard.
CREATE FUNCTION changes_so_far() RETURNS TABLE (table_name text, row_count bigint) LANGUAGE plpgsql VOLATILE SET search_path = public, pg_temp
AS $$
BEGIN
    RETURN QUERY SELECT regexp_replace(s.relname, '_[0-9]+$', ''), sum(s.n_tup_upd + s.n_tup_del)::bigint
    FROM pg_stat_xact_user_tables AS s WHERE s.schemaname = 'public' AND s.n_tup_upd + s.n_tup_del > 0 GROUP BY 1;
END
$$;
REVOKE ALL ON FUNCTION changes_so_far() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION changes_so_far() TO sidecar_app, sidecar_worker;
