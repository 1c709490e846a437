-- The compile states of a tenant's wikis, the farthest behind its memories first, and how many there are. An admin's view over all owners.
CREATE FUNCTION compile_states(p_tenant uuid, p_limit integer)
RETURNS TABLE (owner_id uuid, cursor text, fence bigint, lease_holder text, lease_until timestamptz, dirty_through bigint, read_through bigint,
    wiki_revision bigint, aggregated_revision bigint, batch_seq bigint, crashes integer, owner_count bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_temp
AS $$
BEGIN
    IF p_tenant IS DISTINCT FROM app_tenant() THEN RETURN; END IF;
    RETURN QUERY
    SELECT c.owner_id, c.cursor, c.fence, c.lease_holder, c.lease_until, c.dirty_through, c.read_through, c.wiki_revision,
        c.aggregated_revision, c.batch_seq, c.crashes, count(*) OVER ()
    FROM wiki_compile_cursors c WHERE c.tenant_id = p_tenant
    ORDER BY c.read_through - c.dirty_through, c.owner_id LIMIT p_limit;
END
$$;

ALTER FUNCTION compile_states(uuid, integer) OWNER TO sidecar_search;
REVOKE ALL ON FUNCTION compile_states(uuid, integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION compile_states(uuid, integer) TO sidecar_app, sidecar_worker;
