-- What compiling spent, by owner, day (UTC, as 2026-03-01), pass and model. Answers that were kept cost nothing and stand nowhere here.
-- unpriced_tokens are those of models without a known price.
CREATE TABLE compile_accounts (
    tenant_id uuid NOT NULL REFERENCES tenants,
    owner_id uuid NOT NULL,
    day text NOT NULL,
    pass text NOT NULL,
    model_id text NOT NULL,
    call_count bigint NOT NULL,
    input_tokens bigint NOT NULL,
    output_tokens bigint NOT NULL,
    cached_tokens bigint NOT NULL,
    unpriced_tokens bigint NOT NULL,
    cost_usd double precision NOT NULL,
    PRIMARY KEY (tenant_id, owner_id, day, pass, model_id)
);
CREATE INDEX compile_accounts_by_day ON compile_accounts (tenant_id, day);

ALTER TABLE compile_accounts ENABLE ROW LEVEL SECURITY;
CREATE POLICY owner ON compile_accounts USING (tenant_id = app_tenant() AND owner_id = app_owner());
GRANT SELECT, INSERT, UPDATE, DELETE ON compile_accounts TO sidecar_app, sidecar_worker;
GRANT SELECT ON compile_accounts TO sidecar_search;

-- What compiling all of a tenant's wikis spent, from one day on to before another: sums, no texts.
CREATE FUNCTION tenant_compile_spending(p_tenant uuid, p_from text, p_to text)
RETURNS TABLE (pass text, model_id text, call_count bigint, input_tokens bigint, output_tokens bigint, cached_tokens bigint,
    unpriced_tokens bigint, cost_usd double precision)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_temp
AS $$
BEGIN
    IF p_tenant IS DISTINCT FROM app_tenant() THEN RETURN; END IF;
    RETURN QUERY
    SELECT a.pass, a.model_id, sum(a.call_count)::bigint, sum(a.input_tokens)::bigint, sum(a.output_tokens)::bigint,
        sum(a.cached_tokens)::bigint, sum(a.unpriced_tokens)::bigint, sum(a.cost_usd)
    FROM compile_accounts a WHERE a.tenant_id = p_tenant AND a.day >= p_from AND a.day < p_to GROUP BY 1, 2;
END
$$;
ALTER FUNCTION tenant_compile_spending(uuid, text, text) OWNER TO sidecar_search;
REVOKE ALL ON FUNCTION tenant_compile_spending(uuid, text, text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION tenant_compile_spending(uuid, text, text) TO sidecar_app, sidecar_worker;

-- A scope's other work, done or not.
CREATE INDEX background_jobs_by_owner ON background_jobs (tenant_id, owner_id, job_id);

-- When a section goes, what stands under it is looked for.
CREATE INDEX wiki_section_children_by_section ON wiki_section_children (tenant_id, section_id);
