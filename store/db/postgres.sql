-- name: server_limits^
-- The version as a number (180006 is 18.6), and the connections that any user may open. PostgreSQL 15 reserves none for a role.
SELECT current_setting('server_version_num')::integer AS version,
    current_setting('max_connections')::integer - current_setting('superuser_reserved_connections')::integer
        - coalesce(current_setting('reserved_connections', true), '0')::integer AS connections;

-- name: available_extensions
-- The given extensions that the server can install, with their versions.
SELECT name, default_version AS version FROM pg_catalog.pg_available_extensions WHERE name = ANY(:names::text[]);

-- name: server_time$
-- The time of the server's clock.
SELECT clock_timestamp();

-- name: has_citus$
-- Whether this database has the extension that spreads tables over servers.
SELECT EXISTS (SELECT FROM pg_catalog.pg_extension WHERE extname = 'citus');
