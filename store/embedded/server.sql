-- name: create_database#
-- The one database of the embedded server, made on its first start.
CREATE DATABASE sidecar;
