-- Decay jobs compress candidates or episodes, or review principles past their time; `findings` holds what a review found, ids and
-- instants. A model writes summaries only where an operator's signature pins the model and the prompt.
ALTER TABLE decay_jobs
    DROP CONSTRAINT decay_jobs_kind_check,
    DROP CONSTRAINT decay_jobs_summary_method_check,
    ADD CONSTRAINT decay_jobs_kind_check
        CHECK (kind IN ('candidate_compression', 'episode_compression', 'expired_principle_review')),
    ADD CONSTRAINT decay_jobs_summary_method_check CHECK (summary_method IN ('deterministic_concatenate', 'llm_summary', 'none')),
    ADD COLUMN findings jsonb NOT NULL DEFAULT '[]';

CREATE TABLE decay_attestations (
    tenant_id uuid NOT NULL REFERENCES tenants,
    attestation_id uuid NOT NULL,
    model_id text NOT NULL,
    prompt_hash text NOT NULL,
    key_id text NOT NULL,
    envelope bytea NOT NULL,
    signature bytea NOT NULL,
    issued_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    created_at timestamptz NOT NULL,
    revoked_at timestamptz,
    PRIMARY KEY (tenant_id, attestation_id)
);
CREATE INDEX decay_attestations_by_time ON decay_attestations (tenant_id, created_at DESC, attestation_id);
ALTER TABLE decay_attestations ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON decay_attestations USING (tenant_id = app_tenant());
GRANT SELECT, INSERT, UPDATE, DELETE ON decay_attestations TO sidecar_app, sidecar_worker;
