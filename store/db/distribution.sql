-- name: worker_nodes$
-- How many servers hold shards.
SELECT count(*) FROM pg_dist_node WHERE noderole = 'primary' AND isactive AND shouldhaveshards;

-- name: spread_tables
-- The tables that are spread already.
SELECT c.relname AS table_name
FROM pg_dist_partition p JOIN pg_class c ON c.oid = p.logicalrelid WHERE c.relnamespace = 'public'::regnamespace;

-- name: foreign_keys
-- The foreign keys between tables, as (child, parent).
SELECT child.relname AS child, parent.relname AS parent FROM pg_constraint k
JOIN pg_class child ON child.oid = k.conrelid JOIN pg_class parent ON parent.oid = k.confrelid
WHERE k.contype = 'f' AND child.relnamespace = 'public'::regnamespace AND child.oid <> parent.oid;

-- name: distribute_table$
-- Spreads a table's rows by their tenant, colocated with those of the given table.
SELECT create_distributed_table(format('public.%I', :table_name::text), 'tenant_id', colocate_with => :beside);

-- name: let_roles_log_in#
-- Lets the product's roles log in: the coordinator connects to the other servers as the role in force.
DO $$ BEGIN ALTER ROLE sidecar_app LOGIN; ALTER ROLE sidecar_worker LOGIN; ALTER ROLE sidecar_search LOGIN; END $$;

-- name: settings_of_nodes
-- Sets this database's settings on every server: a search function may run on the server of its rows and query there; and looking
-- up a type does not read the list of shards.
-- As one statement: of several, the first one's success would be returned for all.
SELECT nodeid, success, result FROM run_command_on_all_nodes(format(
    'DO $$ BEGIN PERFORM set_config(''citus.enable_ddl_propagation'', ''off'', true);'
    ' ALTER DATABASE %1$I SET citus.allow_nested_distributed_execution = on;'
    ' ALTER DATABASE %1$I SET citus.override_table_visibility = off; END $$', current_database()));

-- name: spread_search$
-- Makes the search functions run on the server of their tenant.
SELECT spread_search();

-- name: index_pages_at_once#
-- Words enter the search index of pages as they are written: the pending list of another server cannot be settled from here.
ALTER INDEX wiki_pages_search SET (fastupdate = off);

-- name: index_sections_at_once#
-- The same for the sections of pages.
ALTER INDEX wiki_page_sections_search SET (fastupdate = off);

-- name: wait_briefly_for_servers$
-- A server that does not answer is waited for only briefly.
SELECT set_config('citus.node_connection_timeout', '2s', true);

-- name: shard_servers
-- The servers with shards, each with its share of the tenants, and whether it answers this role.
SELECT n.nodename || ':' || n.nodeport AS address, held.shards AS shards, sum(held.shards) OVER ()::bigint AS of_shards,
    citus_check_connection_to_node(n.nodename, n.nodeport) AS answers
FROM pg_dist_node AS n CROSS JOIN LATERAL (
    SELECT count(*) AS shards FROM pg_dist_placement AS p JOIN pg_dist_shard AS s USING (shardid)
    WHERE p.groupid = n.groupid AND s.logicalrelid = to_regclass('public.tenants')) AS held
WHERE n.noderole = 'primary' AND n.isactive AND held.shards > 0 ORDER BY address;
