-- name: still_there$
-- Probes the connection.
SELECT 1;
