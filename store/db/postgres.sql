-- name: has_citus$
-- Whether this database has the extension that spreads tables over servers.
SELECT EXISTS (SELECT FROM pg_catalog.pg_extension WHERE extname = 'citus');
