-- How many active pages an owner has, at most 20,000: counted when pages change instead of twice for each question.
--
-- The number is right at the revision at which it was counted and is not used at another one. The release before this one raises
-- the revision without counting, so its writes only make a question count the pages as before, until the next change or the nightly
-- lint.
ALTER TABLE wiki_compile_cursors ADD COLUMN active_pages integer;
ALTER TABLE wiki_compile_cursors ADD COLUMN counted_revision bigint;

-- Counted in an index: left to choose, Postgres may count in the search index, and reads every page.
CREATE FUNCTION count_active_pages(p_tenant uuid, p_owner uuid) RETURNS integer
LANGUAGE plpgsql STABLE SET search_path = public, pg_temp SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off
AS $$
BEGIN
    RETURN (SELECT count(*) FROM (
        SELECT 1 FROM wiki_pages h WHERE h.tenant_id = p_tenant AND h.owner_id = p_owner AND h.status = 'active' LIMIT 20000) h);
END
$$;

CREATE OR REPLACE FUNCTION active_pages(p_tenant uuid, p_owner uuid) RETURNS integer
LANGUAGE plpgsql STABLE SET search_path = public, pg_temp SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off
AS $$
DECLARE
    kept integer;
BEGIN
    SELECT c.active_pages INTO kept FROM wiki_compile_cursors c
    WHERE c.tenant_id = p_tenant AND c.owner_id = p_owner AND c.counted_revision = c.wiki_revision;
    RETURN coalesce(kept, count_active_pages(p_tenant, p_owner));
END
$$;

-- Counts an owner's active pages and keeps the number. The caller has locked the scope's row in an earlier statement, or the number
-- might be that of before another writer's commit. On servers that share the tenants, only a function's text can call a function.
CREATE FUNCTION keep_active_pages(p_tenant uuid, p_owner uuid) RETURNS integer
LANGUAGE plpgsql SET search_path = public, pg_temp
AS $$
DECLARE
    counted integer := count_active_pages(p_tenant, p_owner);
BEGIN
    UPDATE wiki_compile_cursors c SET active_pages = counted, counted_revision = c.wiki_revision
    WHERE c.tenant_id = p_tenant AND c.owner_id = p_owner
        AND (c.active_pages IS DISTINCT FROM counted OR c.counted_revision IS DISTINCT FROM c.wiki_revision);
    RETURN counted;
END
$$;
REVOKE ALL ON FUNCTION count_active_pages(uuid, uuid), keep_active_pages(uuid, uuid) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION count_active_pages(uuid, uuid) TO sidecar_app, sidecar_worker, sidecar_search;
GRANT EXECUTE ON FUNCTION keep_active_pages(uuid, uuid) TO sidecar_app, sidecar_worker;
