-- name: try_migration_lock$
-- Tries to take the lock that lets one process migrate a database at a time; false if another holds it. Callers poll,
-- because a waiting statement holds a snapshot, for which CREATE INDEX CONCURRENTLY would wait in turn.
SELECT pg_try_advisory_lock(hashtextextended('context-sidecar migrate', 0));

-- name: has_ledger$
-- Whether this database was ever migrated.
SELECT to_regclass('public.schema_migrations') IS NOT NULL;

-- name: create_ledger#
-- Creates the ledger: the applied migrations with their time, and a checksum that detects edits.
CREATE TABLE IF NOT EXISTS public.schema_migrations (
    version integer PRIMARY KEY,
    name text NOT NULL,
    checksum text NOT NULL,
    applied_at timestamptz NOT NULL
);

-- name: read_ledger
-- Every applied migration, in order.
SELECT version, name, checksum, applied_at FROM public.schema_migrations ORDER BY version;

-- name: record_migration!
-- Records that a file was applied.
INSERT INTO public.schema_migrations (version, name, checksum, applied_at)
VALUES (:version, :name, :checksum, clock_timestamp());

-- name: renew_session#
-- Resets session settings made by a file, so that no file depends on another; and makes the server check every second that
-- the client is alive, so that a killed process does not hold the lock until its statement ends. Tables go to the schema public also if
-- the user has a schema of its own. On a cluster a file may change tables and functions in one transaction only over one connection to
-- each server; a plain server ignores that setting.
RESET ROLE; RESET ALL; SET search_path = public; SET client_connection_check_interval = '1s'; SET citus.multi_shard_modify_mode = 'sequential';

-- name: ignore_timeouts$
-- Lifts the limits that the server or the role may set for ordinary statements: indexing or rewriting a large table takes longer.
SELECT count(set_config(name, '0', false)) FROM pg_settings WHERE name IN ('statement_timeout', 'transaction_timeout', 'lock_timeout',
    'idle_in_transaction_session_timeout', 'idle_session_timeout');

-- name: are_rights_lost$
-- Whether the tables are there without the rights of the roles: a server without the roles restores a dump in that way.
SELECT to_regclass('public.installation_keys') IS NOT NULL AND NOT COALESCE((SELECT
    has_table_privilege(oid, to_regclass('public.installation_keys'), 'SELECT') FROM pg_roles WHERE rolname = 'sidecar_app'), false);

-- name: let_search_own#
-- Lets sidecar_search own the functions that a file gives to it: unless a superuser does that, it needs the right to create them.
-- Only the schema's owner can give the right. And loads the library of pg_trgm, whose settings only a superuser may name before.
DO $$ BEGIN
    IF EXISTS (SELECT FROM pg_extension WHERE extname = 'pg_trgm') THEN PERFORM show_limit(); END IF;
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'sidecar_search')
        AND EXISTS (SELECT FROM pg_roles WHERE rolname = current_user AND NOT rolsuper)
        AND EXISTS (SELECT FROM pg_namespace WHERE nspname = 'public' AND pg_has_role(nspowner, 'USAGE')) THEN
        GRANT CREATE ON SCHEMA public TO sidecar_search;
    END IF;
END $$;

-- name: end_search_owning#
-- Takes the right away again.
DO $$ BEGIN
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'sidecar_search')
        AND EXISTS (SELECT FROM pg_roles WHERE rolname = current_user AND NOT rolsuper)
        AND EXISTS (SELECT FROM pg_namespace WHERE nspname = 'public' AND pg_has_role(nspowner, 'USAGE')) THEN
        REVOKE CREATE ON SCHEMA public FROM sidecar_search;
    END IF;
END $$;
