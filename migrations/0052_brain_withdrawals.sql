-- Copies that left the Brain, and the pages that rested on them, until no owner's receipts hold words of them. Ids only, under the
-- Brain's owner.
CREATE TABLE brain_withdrawals (
    tenant_id uuid NOT NULL REFERENCES tenants,
    owner_id uuid NOT NULL,
    ref_kind text NOT NULL CHECK (ref_kind IN ('memory', 'page')),
    ref text NOT NULL,
    withdrawn_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, owner_id, ref_kind, ref)
);

ALTER TABLE brain_withdrawals ENABLE ROW LEVEL SECURITY;
CREATE POLICY owner ON brain_withdrawals USING (tenant_id = app_tenant() AND owner_id = app_owner());
GRANT SELECT, INSERT, UPDATE, DELETE ON brain_withdrawals TO sidecar_app, sidecar_worker;
