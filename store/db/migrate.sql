-- name: try_migration_lock$
-- Takes the lock that lets one process migrate a database at a time; false when another holds it. Asked again and again
-- rather than waited for: a waiting statement holds a snapshot, for which CREATE INDEX CONCURRENTLY would wait in turn.
SELECT pg_try_advisory_lock(hashtextextended('context-sidecar migrate', 0));

-- name: has_ledger$
-- Whether anything was ever migrated here.
SELECT to_regclass('public.schema_migrations') IS NOT NULL;

-- name: create_ledger#
-- What was applied and when, with the checksum by which an edit is found out.
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
-- Says that a file was applied.
INSERT INTO public.schema_migrations (version, name, checksum, applied_at)
VALUES (:version, :name, :checksum, clock_timestamp());

-- name: renew_session#
-- Undoes what a file set for the session, so that none depends on its neighbour; and has the server look every second
-- whether we still live, so that a killed process does not hold the lock until its statement ends.
RESET ROLE; RESET ALL; SET client_connection_check_interval = '1s';
