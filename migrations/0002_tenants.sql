-- Tenants, the agents and spaces in them, and the versioned knobs of each level.
CREATE TABLE tenants (
    tenant_id uuid PRIMARY KEY,
    tokens_not_before timestamptz,
    wiki_compile_enabled boolean NOT NULL DEFAULT true,
    created_at timestamptz NOT NULL
);

CREATE TABLE agents (
    tenant_id uuid NOT NULL REFERENCES tenants,
    agent_id text NOT NULL,
    template_id text NOT NULL,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, agent_id)
);

CREATE TABLE spaces (
    tenant_id uuid NOT NULL REFERENCES tenants,
    space_id text NOT NULL,
    name text NOT NULL,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, space_id)
);

-- One row a version; the newest of a level and ref is in force. Rows are never changed.
CREATE TABLE profiles (
    tenant_id uuid NOT NULL REFERENCES tenants,
    level text NOT NULL CHECK (level IN ('tenant', 'template', 'agent', 'space')),
    ref text NOT NULL,
    version integer NOT NULL CHECK (version > 0),
    knobs jsonb NOT NULL,
    author text NOT NULL,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, level, ref, version)
);

CREATE TABLE workspaces (
    tenant_id uuid NOT NULL REFERENCES tenants,
    level text NOT NULL CHECK (level IN ('tenant', 'template', 'agent')),
    ref text NOT NULL,
    location text NOT NULL,
    PRIMARY KEY (tenant_id, level, ref)
);

ALTER TABLE tenants ENABLE ROW LEVEL SECURITY;
ALTER TABLE agents ENABLE ROW LEVEL SECURITY;
ALTER TABLE spaces ENABLE ROW LEVEL SECURITY;
ALTER TABLE profiles ENABLE ROW LEVEL SECURITY;
ALTER TABLE workspaces ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON tenants USING (tenant_id = app_tenant());
CREATE POLICY tenant ON agents USING (tenant_id = app_tenant());
CREATE POLICY tenant ON spaces USING (tenant_id = app_tenant());
CREATE POLICY tenant ON profiles USING (tenant_id = app_tenant());
CREATE POLICY tenant ON workspaces USING (tenant_id = app_tenant());
GRANT SELECT, INSERT, UPDATE ON tenants, agents, spaces TO sidecar_app, sidecar_worker;
GRANT SELECT, INSERT ON profiles TO sidecar_app, sidecar_worker;
GRANT SELECT, INSERT, UPDATE, DELETE ON workspaces TO sidecar_app, sidecar_worker;
