-- name: create_database#
-- Creates the database of the embedded server, on its first start.
CREATE DATABASE sidecar;
