-- name: wait_on_servers
-- Waits on every other server until no session may see the rows that were deleted by now, half a minute at most.
SELECT n.nodename || ':' || n.nodeport AS server, coalesce(r.success, false) AS success,
    coalesce(r.result, 'the server is not active') AS result
FROM pg_dist_node AS n LEFT JOIN run_command_on_workers($command$
DO $$
DECLARE
    mark xid8 = pg_current_xact_id();
BEGIN
    COMMIT;
    FOR one IN 1..30 LOOP
        IF pg_snapshot_xmin(pg_current_snapshot()) > mark AND NOT EXISTS (
            SELECT FROM pg_stat_activity AS a WHERE a.datname = current_database() AND a.pid <> pg_backend_pid()
                AND a.backend_xmin IS NOT NULL AND age(a.backend_xmin) >= age(mark::xid)) THEN RETURN; END IF;
        PERFORM pg_sleep(1);
        COMMIT;
    END LOOP;
    RAISE EXCEPTION 'a session may still see deleted rows';
END $$
$command$) AS r USING (nodename, nodeport) WHERE n.noderole = 'primary' AND n.groupid <> 0 ORDER BY server;

-- name: rewrite_tables_on_servers
-- Rewrites the tenants' tables on every other server, each table in a transaction of its own, the smallest first. A table that is in
-- use is tried for half a minute.
SELECT n.nodename || ':' || n.nodeport AS server, coalesce(r.success, false) AS success,
    coalesce(r.result, 'the server is not active') AS result
FROM pg_dist_node AS n LEFT JOIN run_command_on_workers($command$
DO $$
DECLARE
    one record;
    busy text[] = '{}';
    is_done bool;
BEGIN
    PERFORM set_config('lock_timeout', '1s', false);
    FOR one IN
        SELECT c.relname FROM pg_class AS c
        WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r' AND pg_relation_size(c.oid) > 0
            AND EXISTS (SELECT FROM pg_attribute AS a WHERE a.attrelid = c.oid AND a.attname = 'tenant_id')
        ORDER BY pg_total_relation_size(c.oid), c.relname
    LOOP
        is_done = false;
        FOR attempt IN 1..30 LOOP
            BEGIN
                PERFORM rewrite_table(one.relname);
                is_done = true;
            EXCEPTION WHEN lock_not_available OR deadlock_detected THEN NULL;
            END;
            COMMIT;
            EXIT WHEN is_done;
        END LOOP;
        IF NOT is_done THEN busy = busy || one.relname::text; END IF;
    END LOOP;
    IF busy <> '{}' THEN RAISE EXCEPTION 'in use: %', array_to_string(busy, ', '); END IF;
END $$
$command$) AS r USING (nodename, nodeport) WHERE n.noderole = 'primary' AND n.groupid <> 0 ORDER BY server;

-- name: rewrite_statistics_on_servers
-- Rewrites the planner's samples on every other server.
SELECT n.nodename || ':' || n.nodeport AS server, coalesce(r.success, false) AS success,
    coalesce(r.result, 'the server is not active') AS result
FROM pg_dist_node AS n LEFT JOIN run_command_on_workers('VACUUM (FULL) pg_catalog.pg_statistic') AS r USING (nodename, nodeport)
WHERE n.noderole = 'primary' AND n.groupid <> 0 ORDER BY server;

-- name: clear_log_on_servers
-- Fills the recycled files of every other server's log, which still hold their old contents, and removes its old files.
SELECT n.nodename || ':' || n.nodeport AS server, coalesce(r.success, false) AS success,
    coalesce(r.result, 'the server is not active') AS result
FROM pg_dist_node AS n LEFT JOIN run_command_on_workers($command$
DO $$
BEGIN
    FOR one IN 1..200 LOOP
        PERFORM pg_logical_emit_message(false, 'sidecar', 'purge');
        PERFORM pg_switch_wal();
        EXIT WHEN NOT EXISTS (SELECT FROM pg_ls_waldir() AS w
            WHERE w.name ~ '^[0-9A-F]{24}$' AND w.name > pg_walfile_name(pg_current_wal_insert_lsn()));
    END LOOP;
    CHECKPOINT;
EXCEPTION WHEN insufficient_privilege THEN RAISE EXCEPTION 'may not clear the log';
END $$
$command$) AS r USING (nodename, nodeport) WHERE n.noderole = 'primary' AND n.groupid <> 0 ORDER BY server;
