-- What a tenant decides about its backends: switches, approved tools, and the webhooks that may queue a compile.
CREATE TABLE backend_switches (
    tenant_id uuid NOT NULL REFERENCES tenants,
    backend text NOT NULL,
    is_off boolean NOT NULL,
    reason text NOT NULL,
    author text NOT NULL,
    changed_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, backend)
);

CREATE TABLE tool_approvals (
    tenant_id uuid NOT NULL REFERENCES tenants,
    backend text NOT NULL,
    tool text NOT NULL,
    schema_hash bytea NOT NULL,
    author text NOT NULL,
    approved_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, backend, tool)
);

CREATE TABLE webhook_subscriptions (
    tenant_id uuid NOT NULL REFERENCES tenants,
    owner_id uuid NOT NULL,
    subscription_id uuid NOT NULL,
    backend text NOT NULL,
    secret bytea NOT NULL,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, owner_id, subscription_id)
);
CREATE INDEX webhook_subscriptions_by_id ON webhook_subscriptions (subscription_id);

CREATE TABLE webhook_deliveries (
    tenant_id uuid NOT NULL,
    owner_id uuid NOT NULL,
    subscription_id uuid NOT NULL,
    delivery_id text NOT NULL,
    received_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, owner_id, subscription_id, delivery_id),
    FOREIGN KEY (tenant_id, owner_id, subscription_id) REFERENCES webhook_subscriptions ON DELETE CASCADE
);

ALTER TABLE backend_switches ENABLE ROW LEVEL SECURITY;
ALTER TABLE tool_approvals ENABLE ROW LEVEL SECURITY;
ALTER TABLE webhook_subscriptions ENABLE ROW LEVEL SECURITY;
ALTER TABLE webhook_deliveries ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON backend_switches USING (tenant_id = app_tenant());
CREATE POLICY tenant ON tool_approvals USING (tenant_id = app_tenant());
CREATE POLICY owner ON webhook_subscriptions USING (tenant_id = app_tenant() AND owner_id = app_owner());
CREATE POLICY owner ON webhook_deliveries USING (tenant_id = app_tenant() AND owner_id = app_owner());
GRANT SELECT, INSERT, UPDATE, DELETE ON backend_switches, tool_approvals, webhook_subscriptions, webhook_deliveries
    TO sidecar_app, sidecar_worker;
GRANT SELECT (tenant_id, owner_id, subscription_id) ON webhook_subscriptions TO sidecar_search;

-- Whose subscription an id is: a notice comes without a scope. Ids, never content, and never the secret.
CREATE FUNCTION scope_of_webhook(p_subscription uuid) RETURNS TABLE (tenant_id uuid, owner_id uuid)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp
AS $$ SELECT s.tenant_id, s.owner_id FROM webhook_subscriptions s WHERE s.subscription_id = p_subscription LIMIT 1 $$;
ALTER FUNCTION scope_of_webhook(uuid) OWNER TO sidecar_search;
REVOKE ALL ON FUNCTION scope_of_webhook(uuid) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION scope_of_webhook(uuid) TO sidecar_app, sidecar_worker;
