-- What the compile remembers: which memories it has dealt with, the log of its batches with the plans still to apply, the models'
-- answers, what they cost, and which scopes have work.

-- null leaves a flag as the environment says.
ALTER TABLE tenants ADD COLUMN wiki_aggregation_pass_enabled boolean;
ALTER TABLE tenants ADD COLUMN wiki_deterministic_linking_enabled boolean;

-- The wiki's revision at which a page last changed: aggregation looks at what changed since its last run.
ALTER TABLE wiki_pages ADD COLUMN changed_revision bigint NOT NULL DEFAULT 0;
CREATE INDEX wiki_pages_by_revision ON wiki_pages (tenant_id, owner_id, changed_revision DESC, type, slug);

-- read_through is how far the feed was read, in the unit of dirty_through. crashes counts workers that died over the same batch.
ALTER TABLE wiki_compile_cursors ADD COLUMN read_through bigint NOT NULL DEFAULT 0;
ALTER TABLE wiki_compile_cursors ADD COLUMN aggregated_revision bigint NOT NULL DEFAULT 0;
ALTER TABLE wiki_compile_cursors ADD COLUMN batch_seq bigint NOT NULL DEFAULT 0;
ALTER TABLE wiki_compile_cursors ADD COLUMN crashes integer NOT NULL DEFAULT 0;

-- A continuation is its parent's nth; hops counts how long the chain is.
ALTER TABLE wiki_compile_jobs ADD COLUMN parent_job_id uuid;
ALTER TABLE wiki_compile_jobs ADD COLUMN sequence integer NOT NULL DEFAULT 0;
ALTER TABLE wiki_compile_jobs ADD COLUMN hops integer NOT NULL DEFAULT 0;
ALTER TABLE wiki_compile_jobs ADD COLUMN cancel_requested boolean NOT NULL DEFAULT false;
ALTER TABLE wiki_compile_jobs ADD CONSTRAINT wiki_compile_jobs_continuation UNIQUE (tenant_id, owner_id, parent_job_id, sequence);
CREATE INDEX wiki_compile_jobs_due ON wiki_compile_jobs (tenant_id, owner_id, not_before, created_at, job_id) WHERE status = 'pending';

CREATE INDEX wiki_link_evidence_by_ref ON wiki_link_evidence (tenant_id, owner_id, ref);
CREATE INDEX wiki_mention_sightings_by_memory ON wiki_mention_sightings (tenant_id, owner_id, memory_id);

-- One row a memory: the content in force and what became of it. A forgotten one is 'gone' until what it fed is rebuilt.
CREATE TABLE memory_ledger (
    tenant_id uuid NOT NULL REFERENCES tenants,
    owner_id uuid NOT NULL,
    memory_id text NOT NULL,
    document_id text NOT NULL,
    content_hash bytea NOT NULL,
    text_hash bytea NOT NULL,
    occurred_at timestamptz NOT NULL,
    outcome text NOT NULL CHECK (outcome IN ('applied', 'filtered', 'quarantined', 'gone')),
    reason text NOT NULL,
    updated_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, owner_id, memory_id)
);
CREATE INDEX memory_ledger_by_outcome ON memory_ledger (tenant_id, owner_id, outcome, memory_id) WHERE outcome <> 'applied';

-- The log: what each batch read and, while it is not applied whole, its plan. An operator's acts keep their items.
-- seen_memory_ids are the memories whose words may stand in the items.
CREATE TABLE compile_batches (
    tenant_id uuid NOT NULL REFERENCES tenants,
    owner_id uuid NOT NULL,
    batch_seq bigint NOT NULL,
    job_id uuid,
    kind text NOT NULL CHECK (kind IN ('leaf', 'stale', 'aggregation', 'operator', 'reset')),
    status text NOT NULL CHECK (status IN ('planned', 'applied')),
    revision bigint NOT NULL,
    cursor_from text NOT NULL,
    cursor_to text NOT NULL,
    read_through bigint NOT NULL,
    options jsonb NOT NULL,
    memory_ids text[] NOT NULL,
    content_hashes text[] NOT NULL,
    seen_memory_ids text[] NOT NULL,
    items jsonb,
    items_applied integer NOT NULL,
    verdicts jsonb NOT NULL,
    counters jsonb NOT NULL,
    planned_at timestamptz NOT NULL,
    applied_at timestamptz,
    PRIMARY KEY (tenant_id, owner_id, batch_seq)
);
CREATE UNIQUE INDEX compile_batches_planned ON compile_batches (tenant_id, owner_id) WHERE status = 'planned';

-- Models' answers, under the hash of what was asked, and the memories that were shown with it.
CREATE TABLE model_answers (
    tenant_id uuid NOT NULL REFERENCES tenants,
    owner_id uuid NOT NULL,
    answer_key bytea NOT NULL,
    answer bytea NOT NULL,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, owner_id, answer_key)
);

CREATE TABLE model_answer_memories (
    tenant_id uuid NOT NULL,
    owner_id uuid NOT NULL,
    answer_key bytea NOT NULL,
    memory_id text NOT NULL,
    PRIMARY KEY (tenant_id, owner_id, answer_key, memory_id),
    FOREIGN KEY (tenant_id, owner_id, answer_key) REFERENCES model_answers ON DELETE CASCADE
);
CREATE INDEX model_answer_memories_by_memory ON model_answer_memories (tenant_id, owner_id, memory_id);

-- What a tenant's models cost on a day (UTC, as 2026-03-01).
CREATE TABLE compile_spend (
    tenant_id uuid NOT NULL REFERENCES tenants,
    day text NOT NULL,
    model_id text NOT NULL,
    cost_usd double precision NOT NULL,
    PRIMARY KEY (tenant_id, day, model_id)
);

-- Other work in the background: one waiting per kind and subject.
CREATE TABLE background_jobs (
    tenant_id uuid NOT NULL REFERENCES tenants,
    owner_id uuid NOT NULL,
    job_id uuid NOT NULL,
    kind text NOT NULL,
    subject text NOT NULL,
    status text NOT NULL CHECK (status IN ('pending', 'running', 'succeeded', 'failed')),
    attempt integer NOT NULL,
    error text NOT NULL,
    created_at timestamptz NOT NULL,
    not_before timestamptz NOT NULL,
    lease_holder text NOT NULL,
    lease_until timestamptz,
    finished_at timestamptz,
    PRIMARY KEY (tenant_id, job_id)
);
CREATE UNIQUE INDEX background_jobs_waiting ON background_jobs (tenant_id, owner_id, kind, subject) WHERE status = 'pending';
CREATE INDEX background_jobs_due ON background_jobs (tenant_id, owner_id, not_before, created_at, job_id)
    WHERE status IN ('pending', 'running');

-- Hints, rebuilt from the jobs: which scopes have work from when on, and which tenant was served last. No content.
CREATE TABLE compile_ready (
    tenant_id uuid NOT NULL,
    owner_id uuid NOT NULL,
    ready_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, owner_id)
);
CREATE INDEX compile_ready_by_time ON compile_ready (ready_at);

CREATE TABLE compile_served (
    tenant_id uuid PRIMARY KEY,
    served_at timestamptz NOT NULL
);

ALTER TABLE memory_ledger ENABLE ROW LEVEL SECURITY;
ALTER TABLE compile_batches ENABLE ROW LEVEL SECURITY;
ALTER TABLE model_answers ENABLE ROW LEVEL SECURITY;
ALTER TABLE model_answer_memories ENABLE ROW LEVEL SECURITY;
ALTER TABLE compile_spend ENABLE ROW LEVEL SECURITY;
ALTER TABLE background_jobs ENABLE ROW LEVEL SECURITY;
CREATE POLICY owner ON memory_ledger USING (tenant_id = app_tenant() AND owner_id = app_owner());
CREATE POLICY owner ON compile_batches USING (tenant_id = app_tenant() AND owner_id = app_owner());
CREATE POLICY owner ON model_answers USING (tenant_id = app_tenant() AND owner_id = app_owner());
CREATE POLICY owner ON model_answer_memories USING (tenant_id = app_tenant() AND owner_id = app_owner());
CREATE POLICY tenant ON compile_spend USING (tenant_id = app_tenant());
CREATE POLICY owner ON background_jobs USING (tenant_id = app_tenant() AND owner_id = app_owner());
GRANT SELECT, INSERT, UPDATE, DELETE ON memory_ledger, compile_batches, model_answers, model_answer_memories, compile_spend,
    background_jobs, compile_ready, compile_served TO sidecar_app, sidecar_worker;
GRANT SELECT ON wiki_compile_jobs, wiki_compile_cursors, background_jobs TO sidecar_search;

-- The names of active pages that are like the given ones, both folded: at most so many each, the likest first.
CREATE FUNCTION similar_names(p_tenant uuid, p_owner uuid, p_names text[], p_least real, p_each integer)
RETURNS TABLE (name text, alias text, found_id uuid, likeness real)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_temp SET pg_trgm.similarity_threshold = 0.5 SET enable_seqscan = off
AS $$
BEGIN
    IF p_tenant IS DISTINCT FROM app_tenant() OR p_owner IS DISTINCT FROM app_owner() THEN RETURN; END IF;
    PERFORM set_config('pg_trgm.similarity_threshold', greatest(p_least, 0.3)::text, true);
    RETURN QUERY
    SELECT n.name, found.alias, found.page_id, found.likeness FROM unnest(p_names) AS n (name) CROSS JOIN LATERAL (
        SELECT a.alias, a.page_id, similarity(a.alias, n.name) AS likeness FROM wiki_page_aliases a
        CROSS JOIN LATERAL (
            SELECT 1 FROM wiki_pages p WHERE p.tenant_id = p_tenant AND p.page_id = a.page_id AND p.status = 'active' LIMIT 1) p
        WHERE a.tenant_id = p_tenant AND a.owner_id = p_owner AND a.alias % n.name
        ORDER BY 3 DESC, 1, 2 LIMIT p_each) found;
END
$$;

-- Every scope with work, from when on: what compile_ready is rebuilt from. Ids and times only.
CREATE FUNCTION scopes_with_work() RETURNS TABLE (tenant_id uuid, owner_id uuid, ready_at timestamptz)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp
AS $$
    SELECT w.tenant_id, w.owner_id, min(w.ready_at) FROM (
        SELECT j.tenant_id, j.owner_id, greatest(j.not_before, c.lease_until) AS ready_at
        FROM wiki_compile_jobs j LEFT JOIN wiki_compile_cursors c USING (tenant_id, owner_id)
        WHERE j.status IN ('pending', 'running')
        UNION ALL
        SELECT b.tenant_id, b.owner_id, greatest(b.not_before, b.lease_until) FROM background_jobs b
        WHERE b.status IN ('pending', 'running')) w
    GROUP BY w.tenant_id, w.owner_id
$$;

ALTER FUNCTION similar_names(uuid, uuid, text[], real, integer) OWNER TO sidecar_search;
ALTER FUNCTION scopes_with_work() OWNER TO sidecar_search;
REVOKE ALL ON FUNCTION similar_names(uuid, uuid, text[], real, integer), scopes_with_work() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION similar_names(uuid, uuid, text[], real, integer) TO sidecar_app, sidecar_worker;
GRANT EXECUTE ON FUNCTION scopes_with_work() TO sidecar_app, sidecar_worker;
