-- What turns spent, budgets for it, and the alerts of those that were crossed.

-- A narrow row for each receipt, so that sums over months never read receipts. The six columns of sources are the tokens that each
-- got into the context; prompt_tokens are the system prompt, the tools and the message. What a caller reported is null until then.
CREATE TABLE turn_accounts (
    tenant_id uuid NOT NULL REFERENCES tenants,
    owner_id uuid NOT NULL,
    receipt_id uuid NOT NULL,
    agent_id text NOT NULL,
    thread_id text NOT NULL,
    model_id text NOT NULL,
    is_degraded boolean NOT NULL,
    duration_ms real NOT NULL,
    failed_sources text[] NOT NULL,
    prompt_tokens integer NOT NULL,
    frame_tokens integer NOT NULL,
    thread_tokens integer NOT NULL,
    knowledge_tokens integer NOT NULL,
    memory_tokens integer NOT NULL,
    wiki_tokens integer NOT NULL,
    workspace_tokens integer NOT NULL,
    tools_tokens integer NOT NULL,
    reported_input_tokens integer,
    reported_output_tokens integer,
    reported_cache_read_tokens integer,
    reported_cache_write_tokens integer,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, receipt_id)
);
CREATE INDEX turn_accounts_by_time ON turn_accounts (tenant_id, owner_id, created_at DESC, receipt_id DESC);
CREATE INDEX turn_accounts_by_thread ON turn_accounts (tenant_id, owner_id, thread_id, created_at DESC, receipt_id DESC);
CREATE INDEX turn_accounts_by_tenant ON turn_accounts (tenant_id, created_at);

-- covers: the tenant, or one owner, agent or model of it, named by ref. percents are the shares of the limit that raise an alert.
CREATE TABLE cost_budgets (
    tenant_id uuid NOT NULL REFERENCES tenants,
    name text NOT NULL,
    covers text NOT NULL CHECK (covers IN ('tenant', 'owner', 'agent', 'model')),
    ref text NOT NULL,
    period text NOT NULL CHECK (period IN ('day', 'month')),
    limit_usd double precision NOT NULL,
    percents text[] NOT NULL,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, name)
);

CREATE TABLE cost_alerts (
    tenant_id uuid NOT NULL REFERENCES tenants,
    name text NOT NULL,
    period_start timestamptz NOT NULL,
    percent integer NOT NULL,
    spent_usd double precision NOT NULL,
    limit_usd double precision NOT NULL,
    raised_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, name, period_start, percent)
);
CREATE INDEX cost_alerts_by_time ON cost_alerts (tenant_id, raised_at DESC, name DESC, percent DESC);

ALTER TABLE turn_accounts ENABLE ROW LEVEL SECURITY;
ALTER TABLE cost_budgets ENABLE ROW LEVEL SECURITY;
ALTER TABLE cost_alerts ENABLE ROW LEVEL SECURITY;
CREATE POLICY owner ON turn_accounts USING (tenant_id = app_tenant() AND owner_id = app_owner());
CREATE POLICY tenant ON cost_budgets USING (tenant_id = app_tenant());
CREATE POLICY tenant ON cost_alerts USING (tenant_id = app_tenant());
GRANT SELECT, INSERT, UPDATE, DELETE ON turn_accounts, cost_budgets, cost_alerts TO sidecar_app, sidecar_worker;
GRANT SELECT ON turn_accounts, wiki_compile_jobs, wiki_compile_cursors, cost_budgets TO sidecar_search;

-- What a tenant's turns spent in a stretch of time, by a key and by model: sums, no texts. An admin's view over all owners.
CREATE FUNCTION tenant_spending(p_tenant uuid, p_from timestamptz, p_to timestamptz, p_by text)
RETURNS TABLE (key text, model_id text, turn_count bigint, reported_count bigint, prompt_tokens bigint, frame_tokens bigint,
    thread_tokens bigint, knowledge_tokens bigint, memory_tokens bigint, wiki_tokens bigint, workspace_tokens bigint,
    tools_tokens bigint, input_tokens bigint, output_tokens bigint, cache_read_tokens bigint, cache_write_tokens bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_temp
AS $$
BEGIN
    IF p_tenant IS DISTINCT FROM app_tenant() THEN RETURN; END IF;
    RETURN QUERY
    SELECT CASE p_by WHEN 'day' THEN to_char(a.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD') WHEN 'owner' THEN a.owner_id::text
            WHEN 'agent' THEN a.agent_id WHEN 'thread' THEN a.thread_id WHEN 'model' THEN a.model_id ELSE '' END,
        a.model_id, count(*), count(a.reported_input_tokens), sum(a.prompt_tokens), sum(a.frame_tokens), sum(a.thread_tokens),
        sum(a.knowledge_tokens), sum(a.memory_tokens), sum(a.wiki_tokens), sum(a.workspace_tokens), sum(a.tools_tokens),
        sum(coalesce(a.reported_input_tokens, a.prompt_tokens + a.frame_tokens + a.thread_tokens + a.knowledge_tokens
            + a.memory_tokens + a.wiki_tokens + a.workspace_tokens + a.tools_tokens)),
        coalesce(sum(a.reported_output_tokens), 0), coalesce(sum(a.reported_cache_read_tokens), 0),
        coalesce(sum(a.reported_cache_write_tokens), 0)
    FROM turn_accounts a WHERE a.tenant_id = p_tenant AND a.created_at >= p_from AND a.created_at < p_to
    GROUP BY 1, 2;
END
$$;

-- How the compile stands over all tenants: jobs by status, scopes behind their memories, and since when the oldest of them waits.
CREATE FUNCTION compile_state() RETURNS TABLE (status text, job_count bigint, oldest_at timestamptz)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp
AS $$ SELECT j.status, count(*), min(j.created_at) FROM wiki_compile_jobs j WHERE j.status IN ('pending', 'running', 'failed')
    GROUP BY j.status $$;

-- Which tenants have a budget: ids, never content.
CREATE FUNCTION tenants_with_budgets(p_limit integer) RETURNS TABLE (tenant_id uuid)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp
AS $$ SELECT DISTINCT b.tenant_id FROM cost_budgets b LIMIT p_limit $$;

DO $$
DECLARE
    signature text;
BEGIN
    FOREACH signature IN ARRAY ARRAY['tenant_spending(uuid, timestamptz, timestamptz, text)', 'compile_state()', 'tenants_with_budgets(integer)'] LOOP
        EXECUTE format('ALTER FUNCTION %s OWNER TO sidecar_search', signature);
        EXECUTE format('REVOKE ALL ON FUNCTION %s FROM PUBLIC', signature);
        EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO sidecar_app, sidecar_worker', signature);
    END LOOP;
END
$$;
