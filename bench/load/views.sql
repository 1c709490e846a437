-- name: first_page$
-- The only page.
SELECT page_id FROM wiki_pages;

-- name: receipts!
-- Copies a receipt the given number of times, one a minute back in time, over five hundred threads and five agents; one in twenty is degraded.
INSERT INTO receipts (tenant_id, owner_id, receipt_id, agent_id, thread_id, model_id, is_degraded, duration_ms, details, created_at)
SELECT tenant_id, owner_id, md5('receipt' || n)::uuid, 'agent-' || n % 5, 'thread-' || n % 500, model_id, n % 20 = 0,
    20 + n % 400, details, created_at - n * interval '1 minute'
FROM receipts, generate_series(1, :many::int) AS n WHERE receipt_id = :receipt_id;

-- name: accounts!
-- Gives each copied receipt its account.
INSERT INTO turn_accounts (tenant_id, owner_id, receipt_id, agent_id, thread_id, model_id, is_degraded, duration_ms, failed_sources,
    prompt_tokens, frame_tokens, thread_tokens, knowledge_tokens, memory_tokens, wiki_tokens, workspace_tokens, tools_tokens, created_at)
SELECT tenant_id, owner_id, receipt_id, agent_id, thread_id, model_id, is_degraded, duration_ms,
    CASE WHEN is_degraded THEN ARRAY['wiki'] ELSE '{}' END, 700, 100, 800, 0, 900, 1200, 0, 0, created_at
FROM receipts WHERE receipt_id <> :receipt_id;

-- name: reports!
-- Gives every third copied receipt a report of usage.
INSERT INTO usage_reports (tenant_id, owner_id, receipt_id, input_tokens, output_tokens, cache_read_tokens, cache_write_tokens,
    used_item_ids, reported_at)
SELECT tenant_id, owner_id, receipt_id, 3900, 250, 2000, 0, ARRAY(SELECT jsonb_path_query(details, '$.sources[*].items[*].id') #>> '{}' LIMIT 3),
    created_at
FROM receipts WHERE receipt_id <> :receipt_id AND get_byte(uuid_send(receipt_id), 0) % 3 = 0;

-- name: turns!
-- Gives each of the five hundred threads twenty turns.
INSERT INTO turns SELECT made.* FROM turns t, generate_series(0, 499) AS thread, LATERAL jsonb_populate_record(t, jsonb_build_object(
    'thread_id', 'thread-' || thread, 'turn_id', md5('turn' || thread || '.' || t.turn_id)::uuid)) AS made
WHERE t.thread_id = :thread_id;

-- name: threads!
-- Makes the five hundred threads.
INSERT INTO threads SELECT made.* FROM threads t, generate_series(0, 499) AS thread,
    LATERAL jsonb_populate_record(t, jsonb_build_object('thread_id', 'thread-' || thread)) AS made
WHERE t.thread_id = :thread_id;

-- name: pages!
-- Copies the only page, with names and times of their own.
INSERT INTO wiki_pages SELECT made.* FROM wiki_pages p, generate_series(1, :many::int) AS n,
    LATERAL jsonb_populate_record(p, jsonb_build_object('page_id', md5('page' || n)::uuid, 'slug', 'page-' || n, 'title',
        (:titles::text[])[1 + n % cardinality(:titles::text[])] || ' ' || n, 'hubness_score', n % 97, 'type',
        (ARRAY['entity', 'topic', 'decision'])[1 + n % 3], 'last_compiled_at', p.last_compiled_at - n * interval '1 minute',
        'search_tsv', (:vectors::text[])[1 + n % cardinality(:vectors::text[])])) AS made
WHERE p.page_id = :page_id;

-- name: vectors
-- Builds the search vectors.
SELECT search_vector(words)::text AS vector FROM unnest(:texts::text[]) AS words;

-- name: sections!
-- Gives each copied page three sections.
INSERT INTO wiki_page_sections SELECT made.* FROM wiki_page_sections s, wiki_pages p, generate_series(1, 3) AS n,
    LATERAL jsonb_populate_record(s, jsonb_build_object('page_id', p.page_id, 'section_id', md5(p.slug || n)::uuid, 'section_slug',
        'section-' || n, 'heading', 'Section ' || n, 'position', n)) AS made
WHERE s.page_id = :page_id AND p.page_id <> :page_id;

-- name: aliases!
-- Gives each copied page its title as an alias.
INSERT INTO wiki_page_aliases (tenant_id, owner_id, page_id, alias, display, source, created_at)
SELECT tenant_id, owner_id, page_id, lower(title), title, 'compiler', created_at FROM wiki_pages WHERE page_id <> :page_id;

-- name: links!
-- Links each page with four others, one in a hundred with a hub that all of them share.
INSERT INTO wiki_page_links (tenant_id, owner_id, link_id, from_page_id, to_page_id, kind, created_at)
SELECT p.tenant_id, p.owner_id, md5('link' || n || '.' || k)::uuid, md5('page' || n)::uuid, md5('page' || CASE WHEN k = 1 THEN 1 + n / 100
    ELSE 1 + (n * 7 * k + k) % :many::int END)::uuid, 'reference', p.created_at
FROM wiki_pages p, generate_series(1, :many::int) AS n, generate_series(1, 4) AS k
WHERE p.page_id = :page_id AND n <> CASE WHEN k = 1 THEN 1 + n / 100 ELSE 1 + (n * 7 * k + k) % :many::int END
ON CONFLICT DO NOTHING;

-- name: evidence!
-- Writes each link's cause.
INSERT INTO wiki_link_evidence (tenant_id, owner_id, link_id, origin, context, ref)
SELECT tenant_id, owner_id, link_id, 'co_mention', '', 'm' || get_byte(uuid_send(link_id), 0) FROM wiki_page_links;

-- name: sources!
-- Writes two sources for each section.
INSERT INTO wiki_section_sources (tenant_id, owner_id, page_id, subject, subject_ref, section_id, source_kind, source_ref, text_hash, first_seen_at)
SELECT s.tenant_id, s.owner_id, s.page_id, 'section', s.section_slug, s.section_id, 'memory', 'm' || (get_byte(uuid_send(s.section_id), k) * 2 + k),
    '\x00', :now
FROM wiki_page_sections s, generate_series(0, 1) AS k WHERE s.page_id <> :page_id;

-- name: mentions!
-- Writes held names.
INSERT INTO wiki_unresolved_mentions (tenant_id, owner_id, mention_id, alias, alias_normalized, suggested_type, status, updated_at)
SELECT :tenant_id, :owner_id, md5('mention' || n)::uuid, 'Name ' || n, 'name ' || n, 'entity', 'open', :now::timestamptz - n * interval '1 minute'
FROM generate_series(1, 5000) AS n;

-- name: sightings!
-- Writes the sightings of held names.
INSERT INTO wiki_mention_sightings (tenant_id, owner_id, mention_id, memory_id, quote, seen_at)
SELECT m.tenant_id, m.owner_id, m.mention_id, 'm' || k, 'Somebody spoke of ' || m.alias, :now FROM wiki_unresolved_mentions m, generate_series(1, 2) AS k;

-- name: jobs!
-- Writes finished compile jobs.
INSERT INTO wiki_compile_jobs (tenant_id, owner_id, job_id, dedupe_key, status, trigger, attempt, input, metrics, error, created_at, not_before,
    claimed_at, finished_at)
SELECT :tenant_id, :owner_id, md5('job' || n)::uuid, 'bench' || n, CASE WHEN n % 50 = 0 THEN 'failed' ELSE 'succeeded' END, 'memory_retain', 1, '{}',
    jsonb_build_object('records_read', 50, 'pages_created', 3, 'cost_usd', 0.01, 'planner_calls', 1, 'rejections', jsonb_build_object('unknown_handle', 1)),
    '', t, t, t, t + interval '20 s'
FROM generate_series(1, 5000) AS n, LATERAL (SELECT :now::timestamptz - n * interval '10 minutes' AS t) AS at;

-- name: batches!
-- Gives each job a batch in the log.
INSERT INTO compile_batches (tenant_id, owner_id, batch_seq, job_id, kind, status, revision, cursor_from, cursor_to, read_through, options, memory_ids,
    content_hashes, seen_memory_ids, items_applied, verdicts, counters, planned_at, applied_at)
SELECT :tenant_id, :owner_id, n, md5('job' || n)::uuid, 'leaf', 'applied', n, '', '', n, '{}', ARRAY['m1', 'm2'], ARRAY['a', 'b'], ARRAY['m1', 'm2'], 5, '[]',
    '{}', :now, :now
FROM generate_series(1, 5000) AS n;

-- name: ledger!
-- Writes the outcomes of memories in the ledger.
INSERT INTO memory_ledger (tenant_id, owner_id, memory_id, document_id, content_hash, text_hash, occurred_at, outcome, reason, updated_at)
SELECT :tenant_id, :owner_id, 'm' || n, '', '\x00', '\x00', :now, CASE WHEN n % 100 = 0 THEN 'quarantined' ELSE 'applied' END, '', :now
FROM generate_series(1, 20000) AS n;

-- name: compile_accounts!
-- Writes the costs of a year of compiles.
INSERT INTO compile_accounts (tenant_id, owner_id, day, pass, model_id, call_count, input_tokens, output_tokens, cached_tokens, unpriced_tokens, cost_usd)
SELECT :tenant_id, :owner_id, to_char(:now::timestamptz - n * interval '1 day', 'YYYY-MM-DD'), pass, 'openai.gpt-oss-120b-1:0', 9, 9000, 900, 0, 0, 0.02
FROM generate_series(0, 364) AS n, unnest(ARRAY['leaf', 'section', 'aggregation']) AS pass;
