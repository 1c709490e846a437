-- name: indexes
-- The statements that drop and rebuild each index of the tables, except those behind constraints.
SELECT format('DROP INDEX %s', i.indexrelid::regclass) AS away, pg_get_indexdef(i.indexrelid) AS back
FROM pg_index i
WHERE i.indrelid = ANY(:tables::text[]::regclass[]) AND NOT EXISTS (SELECT 1 FROM pg_constraint c WHERE c.conindid = i.indexrelid)
ORDER BY pg_relation_size(i.indrelid) DESC, pg_get_indexdef(i.indexrelid);

-- name: hurry#
-- Turns off synchronous commit and foreign-key checks for this connection.
SET synchronous_commit = off;
SET session_replication_role = replica;
SET maintenance_work_mem = '512MB';

-- name: put_off_checkpoints#
-- Allows more writes between two checkpoints.
ALTER SYSTEM SET max_wal_size = '16GB';

-- name: take_settings#
-- Reloads the server's settings.
SELECT pg_reload_conf();

-- name: tidy#
-- Vacuums and analyses, as autovacuum would within a minute.
VACUUM ANALYZE;

-- name: checkpoint#
-- Runs a checkpoint now, so that none falls into the measurement.
CHECKPOINT;
