-- No trigger stands on a tenant's table: one that names an index knows only this server's, and tables that bear triggers cannot be
-- spread over several. What 0022's did after each statement, a writer of pages now asks for once, at the end of what it wrote.
DROP TRIGGER settle_words ON wiki_pages;
DROP TRIGGER settle_words ON wiki_page_sections;
DROP FUNCTION settle_words();

-- Moves the pages and sections that were written from the search indexes' pending lists into the indexes.
CREATE FUNCTION settle_search() RETURNS bigint LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
    SELECT gin_clean_pending_list('public.wiki_pages_search') + gin_clean_pending_list('public.wiki_page_sections_search')
$$;
REVOKE ALL ON FUNCTION settle_search() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION settle_search() TO sidecar_app, sidecar_worker;

-- The walk from owner to owner looks each one up by itself: a recursive query cannot be answered by several servers together.
DO $do$
DECLARE
    body text := pg_get_functiondef('places_with_texts(text, uuid, uuid, text, integer)'::regprocedure);
    walk text := $walk$
        FOR place IN 1..p_limit LOOP
            SELECT p.tenant_id, p.owner_id, '' INTO tenant_id, owner_id, ref FROM wiki_pages p
            WHERE (p.tenant_id, p.owner_id) > (p_after_tenant, p_after_owner) ORDER BY p.tenant_id, p.owner_id LIMIT 1;
            EXIT WHEN NOT FOUND;
            RETURN NEXT;
            p_after_tenant := tenant_id;
            p_after_owner := owner_id;
        END LOOP;$walk$;
    changed text := regexp_replace(body, '\s+RETURN QUERY WITH RECURSIVE owners AS.*FROM owners o LIMIT p_limit;', walk);
BEGIN
    ASSERT changed <> body;
    EXECUTE changed;
END
$do$;
