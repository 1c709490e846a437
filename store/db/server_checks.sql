-- name: server_facts^
-- The version as a number (180006 is 18.6), and the connections that any user may open. PostgreSQL 15 reserves none for a role.
-- The encoding of the database, whether its search_path leads past our tables, and which of the given extensions are installed where
-- our search functions, whose search_path is fixed, do not find them.
SELECT current_setting('server_version_num')::integer AS version,
    current_setting('max_connections')::integer - current_setting('superuser_reserved_connections')::integer
        - coalesce(current_setting('reserved_connections', true), '0')::integer AS connections,
    current_setting('server_encoding') AS encoding,
    to_regclass('schema_migrations') IS DISTINCT FROM to_regclass('public.schema_migrations') AS is_hidden,
    ARRAY(SELECT e.extname::text FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace
        WHERE e.extname = ANY(:extensions::text[]) AND n.nspname NOT IN ('public', 'pg_catalog') ORDER BY 1) AS elsewhere;

-- name: available_extensions
-- The given extensions that the server can install, with their versions.
SELECT name, default_version AS version FROM pg_catalog.pg_available_extensions WHERE name = ANY(:names::text[]);

-- name: server_time$
-- The time of the server's clock.
SELECT clock_timestamp();
