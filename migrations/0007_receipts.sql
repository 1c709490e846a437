-- What every assembly leaves behind, what callers reported about it, and what was learned from that.
CREATE TABLE receipts (
    tenant_id uuid NOT NULL REFERENCES tenants,
    owner_id uuid NOT NULL,
    receipt_id uuid NOT NULL,
    agent_id text NOT NULL,
    thread_id text NOT NULL,
    model_id text NOT NULL,
    is_degraded boolean NOT NULL,
    duration_ms real NOT NULL,
    details jsonb NOT NULL,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, receipt_id)
);
CREATE INDEX receipts_by_time ON receipts (tenant_id, owner_id, created_at DESC, receipt_id);
CREATE INDEX receipts_by_thread ON receipts (tenant_id, owner_id, thread_id, created_at DESC, receipt_id);

-- Texts that receipts name by their SHA-256, so that an assembly can be replayed while they are kept.
CREATE TABLE receipt_texts (
    tenant_id uuid NOT NULL REFERENCES tenants,
    text_hash bytea NOT NULL,
    text text NOT NULL,
    kept_until timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, text_hash)
);
CREATE INDEX receipt_texts_by_end ON receipt_texts (kept_until);

CREATE TABLE usage_reports (
    tenant_id uuid NOT NULL REFERENCES tenants,
    owner_id uuid NOT NULL,
    receipt_id uuid NOT NULL,
    input_tokens integer NOT NULL,
    output_tokens integer NOT NULL,
    cache_read_tokens integer NOT NULL,
    cache_write_tokens integer NOT NULL,
    used_item_ids text[] NOT NULL,
    reported_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, receipt_id),
    FOREIGN KEY (tenant_id, receipt_id) REFERENCES receipts ON DELETE CASCADE
);

CREATE TABLE model_calibrations (
    tenant_id uuid NOT NULL REFERENCES tenants,
    model_id text NOT NULL,
    calibration jsonb NOT NULL,
    updated_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, model_id)
);

ALTER TABLE receipts ENABLE ROW LEVEL SECURITY;
ALTER TABLE receipt_texts ENABLE ROW LEVEL SECURITY;
ALTER TABLE usage_reports ENABLE ROW LEVEL SECURITY;
ALTER TABLE model_calibrations ENABLE ROW LEVEL SECURITY;
CREATE POLICY owner ON receipts USING (tenant_id = app_tenant() AND owner_id = app_owner());
CREATE POLICY tenant ON receipt_texts USING (tenant_id = app_tenant());
CREATE POLICY owner ON usage_reports USING (tenant_id = app_tenant() AND owner_id = app_owner());
CREATE POLICY tenant ON model_calibrations USING (tenant_id = app_tenant());
GRANT SELECT, INSERT, UPDATE, DELETE ON receipts, receipt_texts, usage_reports, model_calibrations TO sidecar_app, sidecar_worker;
GRANT SELECT ON receipt_texts TO sidecar_search;

-- Which tenants hold receipt texts past their day: a tenant's id, never content.
CREATE FUNCTION tenants_with_expired_texts(p_now timestamptz, p_limit integer) RETURNS TABLE (tenant_id uuid)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp
AS $$ SELECT DISTINCT t.tenant_id FROM receipt_texts t WHERE t.kept_until < p_now LIMIT p_limit $$;
ALTER FUNCTION tenants_with_expired_texts(timestamptz, integer) OWNER TO sidecar_search;
REVOKE ALL ON FUNCTION tenants_with_expired_texts(timestamptz, integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION tenants_with_expired_texts(timestamptz, integer) TO sidecar_app, sidecar_worker;
