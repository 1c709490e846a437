-- name: insert_batch!
-- Writes a batch to the log.
INSERT INTO compile_batches (tenant_id, owner_id, batch_seq, kind, job_id, status, revision, cursor_from, cursor_to, read_through,
    options, memory_ids, content_hashes, seen_memory_ids, items, items_applied, verdicts, counters, planned_at, applied_at)
VALUES (:tenant_id, :owner_id, :batch_seq, :kind, :job_id, :status, :revision, :cursor_from, :cursor_to, :read_through,
    :options, :memory_ids, :content_hashes, :seen_memory_ids, :items, :items_applied, :verdicts, :counters, :now, :applied_at);

-- name: planned_batch^
-- The batch that is planned and not fully applied.
SELECT batch_seq, kind, job_id, revision, cursor_from, cursor_to, read_through, options, memory_ids, content_hashes,
    seen_memory_ids, items, items_applied, verdicts, counters FROM compile_batches WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND status = 'planned';

-- name: finish_batch!
-- Marks a batch applied and deletes its items.
UPDATE compile_batches SET status = 'applied', applied_at = :now, items = NULL, seen_memory_ids = '{}'
WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND batch_seq = :batch_seq;

-- name: keep_rest!
-- Records how many items were applied, and the revision that the rest is based on.
UPDATE compile_batches SET items_applied = :items_applied, revision = :revision
WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND batch_seq = :batch_seq;

-- name: close_planned!
-- Closes the planned batch if some of its items were applied: a replay applies as many.
UPDATE compile_batches SET status = 'applied', applied_at = planned_at, items = NULL, seen_memory_ids = '{}',
    options = jsonb_set(options, '{taken}', items_applied::text::jsonb)
WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND status = 'planned' AND items_applied > 0;

-- name: discard_planned!
-- Deletes the planned batch.
DELETE FROM compile_batches WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND status = 'planned';

-- name: batch_log
-- A page of the applied batches, oldest first.
SELECT batch_seq, kind, job_id, revision, cursor_from, cursor_to, read_through, options, memory_ids, content_hashes,
    seen_memory_ids, items, items_applied, verdicts, counters FROM compile_batches
WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND status = 'applied' AND batch_seq > :after
ORDER BY batch_seq LIMIT :limit;

-- name: close_plans_that_saw!
-- Closes partly applied plans that saw one of the memories.
UPDATE compile_batches SET status = 'applied', applied_at = planned_at, items = NULL, seen_memory_ids = '{}',
    options = jsonb_set(options, '{taken}', items_applied::text::jsonb)
WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND status = 'planned' AND items_applied > 0
    AND seen_memory_ids && :memory_ids::text[];

-- name: discard_plans_that_saw!
-- Deletes plans that saw one of the memories.
DELETE FROM compile_batches
WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND status = 'planned' AND seen_memory_ids && :memory_ids::text[];

-- name: empty_acts_that_saw!
-- Deletes the items of applied batches that saw one of the memories.
UPDATE compile_batches SET items = NULL
WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND items IS NOT NULL AND seen_memory_ids && :memory_ids::text[];

-- name: empty_acts_with_texts!
-- Deletes the items of applied batches that saw one of the memories and hold texts of pages.
UPDATE compile_batches SET items = NULL
WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND status = 'applied' AND items IS NOT NULL
    AND seen_memory_ids && :memory_ids::text[] AND jsonb_path_exists(items,
        '$[*] ? (@.item == "write_section" || @.item == "write_summary" || @.item == "create_page" || @.ruling.kind == "sentence")');

-- name: empty_acts_that_name!
-- Deletes the items of applied batches that hold a page's slug as a value, or its path inside a text.
UPDATE compile_batches SET items = NULL
WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND status = 'applied' AND items IS NOT NULL AND EXISTS (
    SELECT 1 FROM unnest(:slugs::text[], :paths::text[]) AS r (slug, path)
    WHERE jsonb_path_exists(items, '$.** ? (@ == $slug)', jsonb_build_object('slug', r.slug)) OR strpos(items::text, r.path) > 0);

-- name: clear_log!
-- Deletes a scope's log.
DELETE FROM compile_batches WHERE tenant_id = :tenant_id AND owner_id = :owner_id;

-- name: last_aggregated^
-- The job that aggregated last, the last page it saw if more had changed than one job may see, and whether it failed.
SELECT job_id, options -> 'reached' AS reached, options ? 'failed' AS is_failed FROM compile_batches
WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND kind = 'aggregation' AND status = 'applied'
    AND NOT options ?| array['links', 'taken']
ORDER BY batch_seq DESC LIMIT 1;

-- name: aggregated_before$
-- The last batch after which every change had been aggregated, not counting aggregations by this job or by the jobs before it
-- whose plans were cut at a cap.
WITH RECURSIVE chain AS (
    SELECT job_id, parent_job_id FROM wiki_compile_jobs
    WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND job_id = :job_id
    UNION ALL
    SELECT p.job_id, p.parent_job_id FROM chain c JOIN wiki_compile_jobs p ON p.job_id = c.parent_job_id
    WHERE p.tenant_id = :tenant_id AND p.owner_id = :owner_id AND p.metrics ->> 'cap_hit' IN ('new_pages', 'sections'))
SELECT b.batch_seq FROM compile_batches b
WHERE b.tenant_id = :tenant_id AND b.owner_id = :owner_id AND b.kind = 'aggregation' AND b.status = 'applied'
    AND NOT b.options ?| array['links', 'taken', 'reached'] AND NOT EXISTS (SELECT 1 FROM chain c WHERE c.job_id = b.job_id)
ORDER BY b.batch_seq DESC LIMIT 1;

-- name: judged_since
-- The pages and held names that applied batches after a given batch left to be judged again.
SELECT DISTINCT r.id::uuid AS id, r.is_page FROM compile_batches b CROSS JOIN LATERAL (
    SELECT p.id, true AS is_page FROM jsonb_array_elements_text(b.options -> 'judged_pages') AS p (id)
    UNION ALL SELECT m.id, false FROM jsonb_array_elements_text(b.options -> 'judged_mentions') AS m (id)) r
WHERE b.tenant_id = :tenant_id AND b.owner_id = :owner_id AND b.batch_seq > :after AND b.status = 'applied' AND b.kind = 'stale'
ORDER BY r.is_page, id;

-- name: memories_since
-- The last memories that applied batches read after a given batch, oldest first.
SELECT memory_id FROM (
    SELECT r.memory_id, b.batch_seq, r.place
    FROM compile_batches b CROSS JOIN LATERAL unnest(b.memory_ids) WITH ORDINALITY AS r (memory_id, place)
    WHERE b.tenant_id = :tenant_id AND b.owner_id = :owner_id AND b.batch_seq > :after AND b.status = 'applied' AND b.kind = 'leaf'
    ORDER BY b.batch_seq DESC, r.place DESC LIMIT :limit) m
ORDER BY batch_seq, place;

-- name: planned_otherwise$
-- How many batches of these kinds were planned by other rules than the given version.
SELECT count(*) FROM compile_batches
WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND kind = ANY(:kinds::text[])
    AND coalesce(options ->> 'rules', '0') <> :rules::text;
