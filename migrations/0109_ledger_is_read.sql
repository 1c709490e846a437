-- A service connects as a member of the roles, and reads at its start which migrations were applied.
GRANT SELECT ON schema_migrations TO sidecar_app, sidecar_worker;
