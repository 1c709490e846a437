-- What a memory service has yet to forget for an owner: ids and instants of the call, never a text. A row goes when the service did it.
CREATE TABLE remote_forgettings (
    tenant_id uuid NOT NULL REFERENCES tenants,
    owner_id uuid NOT NULL,
    forgetting_id uuid NOT NULL,
    backend text NOT NULL,
    target jsonb NOT NULL,
    created_at timestamptz NOT NULL,
    attempts integer NOT NULL DEFAULT 0,
    PRIMARY KEY (tenant_id, owner_id, forgetting_id)
);
ALTER TABLE remote_forgettings ENABLE ROW LEVEL SECURITY;
CREATE POLICY owner ON remote_forgettings USING (tenant_id = app_tenant() AND owner_id = app_owner());
GRANT SELECT, INSERT, UPDATE, DELETE ON remote_forgettings TO sidecar_app, sidecar_worker;
