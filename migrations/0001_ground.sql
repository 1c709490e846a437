-- Extensions, roles and the two functions that name the scope in force.
--
-- sidecar_app answers requests, sidecar_worker does background work; both are bound by row security. sidecar_search owns the
-- search functions alone: it passes row security, cannot log in, and its functions return ids and scores, never content.
CREATE EXTENSION IF NOT EXISTS pg_trgm;
CREATE EXTENSION IF NOT EXISTS btree_gin;
CREATE EXTENSION IF NOT EXISTS unaccent;

DO $$
DECLARE
    wanted record;
BEGIN
    FOR wanted IN SELECT * FROM (VALUES ('sidecar_app', 'NOBYPASSRLS'), ('sidecar_worker', 'NOBYPASSRLS'), ('sidecar_search', 'BYPASSRLS')) AS r (name, rule) LOOP
        BEGIN
            IF NOT EXISTS (SELECT 1 FROM pg_roles WHERE rolname = wanted.name) THEN
                EXECUTE format('CREATE ROLE %I NOLOGIN %s', wanted.name, wanted.rule);
            END IF;
        EXCEPTION WHEN duplicate_object OR unique_violation THEN
            NULL;  -- another database of this cluster made it at the same moment
        END;
    END LOOP;
    BEGIN
        EXECUTE format('GRANT sidecar_app, sidecar_worker, sidecar_search TO %I', current_user);
    EXCEPTION WHEN OTHERS THEN
        IF SQLERRM NOT LIKE '%tuple concurrently updated%' THEN RAISE; END IF;
    END;
END
$$;

GRANT USAGE ON SCHEMA public TO sidecar_app, sidecar_worker, sidecar_search;

-- The tenant in force, or null: a query that forgets its tenant finds nothing.
CREATE FUNCTION app_tenant() RETURNS uuid LANGUAGE sql STABLE PARALLEL SAFE
AS $$ SELECT nullif(current_setting('app.tenant_id', true), '')::uuid $$;

-- The owner in force, or null.
CREATE FUNCTION app_owner() RETURNS uuid LANGUAGE sql STABLE PARALLEL SAFE
AS $$ SELECT nullif(current_setting('app.owner_id', true), '')::uuid $$;

-- Secrets of the installation: the fence keys. No tenant's row refers to them by key.
CREATE TABLE installation_keys (
    key_id text PRIMARY KEY,
    purpose text NOT NULL,
    secret bytea NOT NULL,
    created_at timestamptz NOT NULL
);
GRANT SELECT ON installation_keys TO sidecar_app, sidecar_worker;
