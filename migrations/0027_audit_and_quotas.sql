-- What admins read and changed, call by call: who, when, about which owner, with what outcome; ids, never texts. A row outlives what it
-- tells of, so nothing is referred to; forgetting an owner takes the ids out of the rows about that owner.
CREATE TABLE audit_entries (
    tenant_id uuid NOT NULL,
    entry_id uuid NOT NULL,
    called_at timestamptz NOT NULL,
    role text NOT NULL,
    subject text NOT NULL,
    token_id text NOT NULL,
    via text NOT NULL CHECK (via IN ('rpc', 'console')),
    method text NOT NULL,
    about_owner uuid,
    object text NOT NULL,
    outcome text NOT NULL,
    PRIMARY KEY (tenant_id, entry_id)
);
CREATE INDEX audit_entries_by_time ON audit_entries (tenant_id, called_at DESC, entry_id DESC);
CREATE INDEX audit_entries_by_owner ON audit_entries (tenant_id, about_owner, called_at DESC, entry_id DESC);
CREATE INDEX audit_entries_by_age ON audit_entries (called_at);

ALTER TABLE audit_entries ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON audit_entries USING (tenant_id = app_tenant());
GRANT SELECT, INSERT, DELETE, UPDATE (object) ON audit_entries TO sidecar_app, sidecar_worker;
GRANT SELECT ON audit_entries TO sidecar_search;

-- Which tenants hold audit entries from before an instant: ids, never content.
CREATE FUNCTION tenants_with_old_audit(p_before timestamptz, p_limit integer) RETURNS TABLE (tenant_id uuid)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp
AS $$ SELECT DISTINCT a.tenant_id FROM audit_entries a WHERE a.called_at < p_before LIMIT p_limit $$;
ALTER FUNCTION tenants_with_old_audit(timestamptz, integer) OWNER TO sidecar_search;
REVOKE ALL ON FUNCTION tenants_with_old_audit(timestamptz, integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION tenants_with_old_audit(timestamptz, integer) TO sidecar_app, sidecar_worker;

-- How many bytes an owner's turns and memories hold, as they were given: kept with each write, so that a quota costs no scan.
CREATE TABLE owner_storage (
    tenant_id uuid NOT NULL REFERENCES tenants,
    owner_id uuid NOT NULL,
    stored_bytes bigint NOT NULL,
    PRIMARY KEY (tenant_id, owner_id)
);
INSERT INTO owner_storage (tenant_id, owner_id, stored_bytes)
SELECT held.tenant_id, held.owner_id, sum(held.bytes) FROM (
    SELECT t.tenant_id, t.owner_id, octet_length(t.text) + octet_length(t.parts::text) AS bytes FROM turns t
    UNION ALL SELECT m.tenant_id, m.owner_id, octet_length(m.text) + octet_length(m.metadata::text) FROM memories m
) AS held GROUP BY held.tenant_id, held.owner_id;

ALTER TABLE owner_storage ENABLE ROW LEVEL SECURITY;
CREATE POLICY owner ON owner_storage USING (tenant_id = app_tenant() AND owner_id = app_owner());
GRANT SELECT, INSERT, UPDATE, DELETE ON owner_storage TO sidecar_app, sidecar_worker;
