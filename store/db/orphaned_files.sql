-- name: folder$
-- The folder of this database's files, below the server's data directory.
SELECT 'base/' || oid FROM pg_database WHERE datname = current_database();

-- name: file_numbers
-- The numbers of the files that belong to tables and indexes of this database.
SELECT n.file_number::text AS file_number FROM (SELECT pg_relation_filenode(oid) AS file_number FROM pg_class) AS n
WHERE n.file_number IS NOT NULL;

-- name: transactions
-- The transactions of other sessions of this database that are in progress.
SELECT l.virtualtransaction AS name FROM pg_locks AS l JOIN pg_stat_activity AS a USING (pid)
WHERE l.locktype = 'virtualxid' AND l.mode = 'ExclusiveLock' AND a.datname = current_database() AND l.pid <> pg_backend_pid();
