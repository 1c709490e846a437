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
-- the client is alive, so that a killed process does not hold the lock until its statement ends. On a cluster a file may change
-- tables and functions in one transaction only over one connection to each server; a plain server ignores that setting.
RESET ROLE; RESET ALL; SET client_connection_check_interval = '1s'; SET citus.multi_shard_modify_mode = 'sequential';
