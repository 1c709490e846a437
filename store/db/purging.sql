-- name: request_purge!
-- Requests a purge of the rows that this transaction deletes.
INSERT INTO purge_queue (requested_at) VALUES (:now) ON CONFLICT (requested_by) DO NOTHING;

-- name: requested
-- The requests of a purge, and whether a session may still see the deleted rows. A transaction in any database of the server that
-- began earlier counts: this session's own snapshot is as old as the oldest of them. A request by a transaction that is yet to come
-- was restored from another server's dump: no session of this server saw its rows.
SELECT q.requested_by::text AS requested_by, q.requested_by < pg_snapshot_xmax(pg_current_snapshot()) AND (
        pg_snapshot_xmin(pg_current_snapshot()) <= q.requested_by OR EXISTS (
            SELECT FROM pg_stat_activity AS a WHERE a.datname = current_database() AND a.pid <> pg_backend_pid()
                AND a.backend_xmin IS NOT NULL AND age(a.backend_xmin) >= age(q.requested_by::xid))) AS is_seen
FROM purge_queue AS q ORDER BY q.requested_by;

-- name: mark$
-- The id of a transaction after everything that this session has done.
SELECT pg_current_xact_id()::text;

-- name: is_seen_before$
-- Whether a session may still see rows that were deleted before a transaction.
SELECT pg_snapshot_xmin(pg_current_snapshot()) <= :mark::text::xid8 OR EXISTS (
    SELECT FROM pg_stat_activity AS a WHERE a.datname = current_database() AND a.pid <> pg_backend_pid() AND a.backend_xmin IS NOT NULL
        AND age(a.backend_xmin) >= age(:mark::text::xid8::xid));

-- name: tables_with_texts
-- The tenants' tables that are not empty, the smallest first.
SELECT c.relname AS table_name FROM pg_class AS c WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r'
    AND pg_relation_size(c.oid) > 0 AND EXISTS (SELECT FROM pg_attribute AS a WHERE a.attrelid = c.oid AND a.attname = 'tenant_id')
ORDER BY pg_total_relation_size(c.oid), c.relname;

-- name: wait_briefly$
-- Makes statements of this session wait for a lock at most one second, and lifts the limits that the server or the role may set for
-- ordinary statements: rewriting a large table takes longer.
SELECT count(set_config(name, CASE name WHEN 'lock_timeout' THEN '1s' ELSE '0' END, false)) FROM pg_settings
WHERE name IN ('lock_timeout', 'statement_timeout', 'transaction_timeout', 'idle_session_timeout');

-- name: take_purge$
-- Whether this session may purge: only one session purges at a time.
SELECT pg_try_advisory_lock(hashtextextended('purge', 0));

-- name: rewrite_table$
-- Rewrites a table and its indexes.
SELECT rewrite_table(:table_name);

-- name: rewrite_statistics#
-- Rewrites the planner's samples of all tables.
VACUUM (FULL) pg_catalog.pg_statistic;

-- name: waiting_segments$
-- The number of old files of the log that are kept for reuse under later names.
SELECT count(*) FROM pg_ls_waldir() AS w
WHERE w.name ~ '^[0-9A-F]{24}$' AND w.name > pg_walfile_name(pg_current_wal_insert_lsn());

-- name: switch_log$
-- Ends the log's file and begins the next.
SELECT pg_switch_wal()::text FROM (SELECT pg_logical_emit_message(false, 'sidecar', 'purge')) AS written;

-- name: checkpoint#
-- Writes all changes to the tables' files, and removes earlier files of the log.
CHECKPOINT;

-- name: settle_requests!
-- Takes requests off the queue.
DELETE FROM purge_queue WHERE requested_by = ANY(:requests::text[]::xid8[]);
