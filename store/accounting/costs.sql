-- name: add_accounts!
-- Inserts accounts of turns, given as columns. An account that already exists is left unchanged.
INSERT INTO turn_accounts (tenant_id, owner_id, receipt_id, agent_id, thread_id, model_id, is_degraded, duration_ms, failed_sources,
    prompt_tokens, frame_tokens, thread_tokens, knowledge_tokens, memory_tokens, wiki_tokens, workspace_tokens, tools_tokens, created_at)
SELECT :tenant_id, :owner_id, r.receipt_id, r.agent_id, r.thread_id, r.model_id, r.is_degraded, r.duration_ms,
    string_to_array(r.failed_sources, ' '), r.prompt_tokens, r.frame_tokens, r.thread_tokens, r.knowledge_tokens, r.memory_tokens,
    r.wiki_tokens, r.workspace_tokens, r.tools_tokens, r.created_at
FROM unnest(:receipt_ids::uuid[], :agent_ids::text[], :thread_ids::text[], :model_ids::text[], :degraded::boolean[],
    :durations_ms::real[], :failed_sources::text[], :prompt_tokens::int[], :frame_tokens::int[], :thread_tokens::int[],
    :knowledge_tokens::int[], :memory_tokens::int[], :wiki_tokens::int[], :workspace_tokens::int[], :tools_tokens::int[],
    :created_at::timestamptz[])
    AS r (receipt_id, agent_id, thread_id, model_id, is_degraded, duration_ms, failed_sources, prompt_tokens, frame_tokens,
        thread_tokens, knowledge_tokens, memory_tokens, wiki_tokens, workspace_tokens, tools_tokens, created_at)
ON CONFLICT (tenant_id, receipt_id) DO NOTHING;

-- name: report_account!
-- Stores the usage a caller reported for a turn.
UPDATE turn_accounts SET reported_input_tokens = :input_tokens, reported_output_tokens = :output_tokens,
    reported_cache_read_tokens = :cache_read_tokens, reported_cache_write_tokens = :cache_write_tokens
WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND receipt_id = :receipt_id;

-- name: list_accounts
-- A page of an owner's turns, newest first; an empty text or false disables a filter.
SELECT receipt_id, agent_id, thread_id, model_id, is_degraded, duration_ms, failed_sources, prompt_tokens, frame_tokens, thread_tokens,
    knowledge_tokens, memory_tokens, wiki_tokens, workspace_tokens, tools_tokens, reported_input_tokens, reported_output_tokens,
    reported_cache_read_tokens, reported_cache_write_tokens, created_at
FROM turn_accounts
WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND (created_at, receipt_id) < (:before::timestamptz, :before_id::uuid)
    AND (:thread_id::text = '' OR thread_id = :thread_id::text) AND (:agent_id::text = '' OR agent_id = :agent_id::text)
    AND (:model_id::text = '' OR model_id = :model_id::text) AND (NOT :degraded_only::boolean OR is_degraded)
    AND (:failed_source::text = '' OR :failed_source::text = ANY(failed_sources)) AND duration_ms >= :least_ms::real
ORDER BY created_at DESC, receipt_id DESC LIMIT :limit;

-- name: accounts_of
-- The accounts of these receipts.
SELECT receipt_id, agent_id, thread_id, model_id, is_degraded, duration_ms, failed_sources, prompt_tokens, frame_tokens, thread_tokens,
    knowledge_tokens, memory_tokens, wiki_tokens, workspace_tokens, tools_tokens, reported_input_tokens, reported_output_tokens,
    reported_cache_read_tokens, reported_cache_write_tokens, created_at
FROM turn_accounts WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND receipt_id = ANY(:receipt_ids::uuid[]);

-- name: owner_spending
-- Spending of an owner's turns in a time range, by key and model.
SELECT CASE :by::text WHEN 'day' THEN to_char(created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD') WHEN 'owner' THEN owner_id::text
        WHEN 'agent' THEN agent_id WHEN 'thread' THEN thread_id WHEN 'model' THEN model_id ELSE '' END AS key,
    model_id, count(*) AS turn_count, sum(prompt_tokens) AS prompt_tokens,
    sum(frame_tokens) AS frame_tokens, sum(thread_tokens) AS thread_tokens, sum(knowledge_tokens) AS knowledge_tokens,
    sum(memory_tokens) AS memory_tokens, sum(wiki_tokens) AS wiki_tokens, sum(workspace_tokens) AS workspace_tokens,
    sum(tools_tokens) AS tools_tokens,
    sum(coalesce(reported_input_tokens, prompt_tokens + frame_tokens + thread_tokens + knowledge_tokens + memory_tokens
        + wiki_tokens + workspace_tokens + tools_tokens)) AS input_tokens,
    coalesce(sum(reported_output_tokens), 0) AS output_tokens, coalesce(sum(reported_cache_read_tokens), 0) AS cache_read_tokens,
    coalesce(sum(reported_cache_write_tokens), 0) AS cache_write_tokens
FROM turn_accounts
WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND created_at >= :since::timestamptz AND created_at < :until::timestamptz
GROUP BY 1, 2;

-- name: tenant_spending
-- Spending of a tenant's turns in a time range, by key and model.
SELECT s.* FROM tenants AS t CROSS JOIN tenant_spending(:tenant_id::uuid, :since::timestamptz, :until::timestamptz, :by::text) AS s
WHERE t.tenant_id = :tenant_id;

-- name: add_compile_account!
-- Adds a model call to the compile spending of a day.
INSERT INTO compile_accounts AS a (tenant_id, owner_id, day, pass, model_id, call_count, input_tokens, output_tokens, cached_tokens,
    unpriced_tokens, cost_usd)
VALUES (:tenant_id, :owner_id, :day, :in_pass, :model_id, 1, :input_tokens, :output_tokens, :cached_tokens, :unpriced_tokens, :cost_usd)
ON CONFLICT (tenant_id, owner_id, day, pass, model_id) DO UPDATE SET call_count = a.call_count + 1,
    input_tokens = a.input_tokens + excluded.input_tokens, output_tokens = a.output_tokens + excluded.output_tokens,
    cached_tokens = a.cached_tokens + excluded.cached_tokens, unpriced_tokens = a.unpriced_tokens + excluded.unpriced_tokens,
    cost_usd = a.cost_usd + excluded.cost_usd;

-- name: owner_compile_spending
-- Compile spending of an owner's wiki by pass and model, from one day to before another.
SELECT pass, model_id, sum(call_count)::bigint AS call_count, sum(input_tokens)::bigint AS input_tokens,
    sum(output_tokens)::bigint AS output_tokens, sum(cached_tokens)::bigint AS cached_tokens,
    sum(unpriced_tokens)::bigint AS unpriced_tokens, sum(cost_usd) AS cost_usd
FROM compile_accounts WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND day >= :since::text AND day < :until::text
GROUP BY pass, model_id;

-- name: tenant_compile_spending
-- Compile spending of all a tenant's wikis by pass and model.
SELECT pass, model_id, call_count, input_tokens, output_tokens, cached_tokens, unpriced_tokens, cost_usd
FROM tenants AS t CROSS JOIN tenant_compile_spending(:tenant_id::uuid, :since::text, :until::text)
WHERE t.tenant_id = :tenant_id;

-- name: compile_spending
-- A tenant's compile cost by day and model, from one day to before another.
SELECT day, model_id, cost_usd FROM compile_spend WHERE tenant_id = :tenant_id AND day >= :since::text AND day < :until::text;
