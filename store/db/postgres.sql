-- name: server_version$
-- The version as a number: 180006 is 18.6.
SELECT current_setting('server_version_num')::integer;

-- name: available_extensions
-- Which of these extensions the server could install, and in which version.
SELECT name, default_version AS version FROM pg_catalog.pg_available_extensions WHERE name = ANY(:names::text[]);

-- name: server_time$
-- The time by the server's clock.
SELECT clock_timestamp();
