-- Forgettings whose words a purge has still to remove from the files: the transaction that forgot, and when. A row stands until the
-- tables were written anew after no session could see any more what was there before. Belongs to the installation; no content.
CREATE TABLE purge_queue (
    requested_by xid8 PRIMARY KEY DEFAULT pg_current_xact_id(),
    requested_at timestamptz NOT NULL
);
GRANT SELECT, INSERT, UPDATE, DELETE ON purge_queue TO sidecar_app, sidecar_worker;

-- The tables in which an owner's rows hold a word, in any case, bytes included, with the number of such rows. Row security applies.
CREATE FUNCTION rows_holding(p_tenant uuid, p_owner uuid, p_word text) RETURNS TABLE (table_name text, row_count bigint)
LANGUAGE plpgsql STABLE SET search_path = public, pg_temp
AS $$
DECLARE
    held record;
BEGIN
    FOR held IN
        SELECT c.relname AS name FROM pg_class c
        WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r' AND has_table_privilege(c.oid, 'SELECT')
            AND (SELECT count(*) FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attname IN ('tenant_id', 'owner_id')) = 2
        ORDER BY 1
    LOOP
        EXECUTE format('SELECT count(*) FROM %I t WHERE t.tenant_id = $1 AND t.owner_id = $2 AND ('
            'strpos(lower(t::text), lower($3)) > 0 OR strpos(t::text, encode(convert_to($3, ''UTF8''), ''hex'')) > 0)', held.name)
            INTO row_count USING p_tenant, p_owner, p_word;
        table_name := held.name;
        IF row_count > 0 THEN RETURN NEXT; END IF;
    END LOOP;
END
$$;
REVOKE ALL ON FUNCTION rows_holding(uuid, uuid, text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION rows_holding(uuid, uuid, text) TO sidecar_app, sidecar_worker;

-- The owners of a tenant that have receipts: whoever read a shared document may have kept texts of it. Ids only.
CREATE FUNCTION owners_with_receipts(p_tenant uuid) RETURNS TABLE (owner_id uuid)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_temp
AS $$
BEGIN
    IF p_tenant IS DISTINCT FROM app_tenant() THEN RETURN; END IF;
    RETURN QUERY SELECT DISTINCT r.owner_id FROM receipts r WHERE r.tenant_id = p_tenant ORDER BY 1;
END
$$;
ALTER FUNCTION owners_with_receipts(uuid) OWNER TO sidecar_search;
REVOKE ALL ON FUNCTION owners_with_receipts(uuid) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION owners_with_receipts(uuid) TO sidecar_app, sidecar_worker;
GRANT SELECT ON receipts TO sidecar_search;

-- Deletes the vectors of some turns that stay without their texts. Nothing where the database holds no vectors.
CREATE FUNCTION drop_turn_vectors(p_tenant uuid, p_owner uuid, p_turns uuid[]) RETURNS void
LANGUAGE plpgsql VOLATILE SET search_path = public, pg_temp
AS $$
BEGIN
    IF to_regclass('turn_vectors') IS NULL THEN RETURN; END IF;
    DELETE FROM turn_vectors v USING turns t
    WHERE t.tenant_id = p_tenant AND t.owner_id = p_owner AND t.turn_id = ANY(p_turns)
        AND v.tenant_id = p_tenant AND v.owner_id = p_owner AND v.thread_id = t.thread_id AND v.position = t.position;
END
$$;
REVOKE ALL ON FUNCTION drop_turn_vectors(uuid, uuid, uuid[]) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION drop_turn_vectors(uuid, uuid, uuid[]) TO sidecar_app, sidecar_worker;

-- Writes a table and its indexes anew, so that no file holds what was deleted from it, and samples it anew for the planner. Nobody
-- reads the table meanwhile. For the owner of the tables.
CREATE FUNCTION rewrite_table(p_table text) RETURNS void
LANGUAGE plpgsql VOLATILE SET search_path = public, pg_temp
AS $$
BEGIN
    EXECUTE (SELECT format('CLUSTER %I USING %I', t.relname, x.relname) FROM pg_class t
        JOIN pg_index i ON i.indrelid = t.oid AND i.indisprimary JOIN pg_class x ON x.oid = i.indexrelid
        WHERE t.relnamespace = 'public'::regnamespace AND t.relname = p_table);
    EXECUTE format('ALTER TABLE %I SET WITHOUT CLUSTER', p_table);
    EXECUTE format('ANALYZE %I', p_table);
END
$$;
REVOKE ALL ON FUNCTION rewrite_table(text) FROM PUBLIC;
