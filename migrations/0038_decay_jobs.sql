-- Jobs that compress what has aged. A worker claims one for a while, with a fencing token that counts the claims; a job whose lease
-- ended is claimed again. `policy` is what the sources were chosen by, frozen when the job was scheduled.
CREATE TABLE decay_jobs (
    tenant_id uuid NOT NULL REFERENCES tenants,
    owner_id uuid NOT NULL,
    job_id uuid NOT NULL,
    kind text NOT NULL CHECK (kind IN ('candidate_compression')),
    summary_method text NOT NULL CHECK (summary_method IN ('deterministic_concatenate')),
    source_ids text[] NOT NULL,
    policy jsonb NOT NULL,
    state text NOT NULL CHECK (state IN ('pending', 'in_progress', 'completed', 'failed', 'cancelled')),
    scheduled_for timestamptz NOT NULL,
    created_at timestamptz NOT NULL,
    ended_at timestamptz,
    lease_until timestamptz,
    fencing_token bigint NOT NULL DEFAULT 0,
    result_id text NOT NULL DEFAULT '',
    failure text NOT NULL DEFAULT '' CHECK ((failure <> '') = (state = 'failed')),
    PRIMARY KEY (tenant_id, owner_id, job_id)
);
CREATE INDEX decay_jobs_by_time ON decay_jobs (tenant_id, owner_id, created_at DESC, job_id);

ALTER TABLE decay_jobs ENABLE ROW LEVEL SECURITY;
CREATE POLICY owner ON decay_jobs USING (tenant_id = app_tenant() AND owner_id = app_owner());
GRANT SELECT, INSERT, UPDATE, DELETE ON decay_jobs TO sidecar_app, sidecar_worker;
