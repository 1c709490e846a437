-- What a cluster that spreads the tenants over many servers must be told of the search functions; called when it is made, and again
-- after each migration of one. A database on one server is left as it is.
--
-- Such a cluster finds the server of a query by `tenant_id = …`; uuid_eq() says the same and tells it nothing, and a plan made for
-- any tenant cannot be sent to the server of one. On one server both are right: the operator would let the planner read a tenant's
-- rows one by one where the search index holds a scope's words, and plans of that size are dear to make anew. Nor does it look into
-- a function in SQL that is given parameters; one in PL/pgSQL it sends where the rows lie.
CREATE FUNCTION spread_search() RETURNS integer LANGUAGE plpgsql SET search_path = public, pg_temp
AS $$
DECLARE
    found record;
    changed integer := 0;
BEGIN
    FOR found IN SELECT p.oid::regprocedure AS name, pg_get_functiondef(p.oid) AS body,
            l.lanname = 'sql' AND p.proretset AND NOT p.prosecdef AND 'p_tenant' = ANY(p.proargnames) AS is_read_in_sql
        FROM pg_proc p
        JOIN pg_language l ON l.oid = p.prolang
        WHERE p.pronamespace = 'public'::regnamespace AND p.prokind = 'f' AND l.lanname IN ('sql', 'plpgsql')
            AND p.proname <> 'spread_search'
    LOOP
        IF found.body ~ 'uuid_eq\(\w+\.tenant_id, p_tenant\)' THEN
            EXECUTE regexp_replace(found.body, 'uuid_eq\((\w+)\.tenant_id, p_tenant\)', '\1.tenant_id = p_tenant', 'g');
            changed := changed + 1;
        END IF;
        IF found.is_read_in_sql THEN
            EXECUTE regexp_replace(
                regexp_replace(found.body, '\n LANGUAGE sql\n', E'\n LANGUAGE plpgsql\n'),
                '\n(AS \$function\$)(.*)(\$function\$)', E'\n\\1\n#variable_conflict use_column\nBEGIN\n    RETURN QUERY \\2;\nEND\n\\3');
            changed := changed + 1;
        END IF;
        IF found.body ~ '\n SET plan_cache_mode TO ' THEN
            EXECUTE format('ALTER FUNCTION %s RESET plan_cache_mode', found.name);
            changed := changed + 1;
        END IF;
    END LOOP;
    RETURN changed;
END
$$;
REVOKE ALL ON FUNCTION spread_search() FROM PUBLIC;
