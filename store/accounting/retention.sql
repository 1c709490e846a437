-- name: owners_to_prune
-- Owners after a given one with rows from before the given instants, in the order of their ids.
SELECT tenant_id, owner_id FROM owners_to_prune(:receipts::timestamptz, :accounts::timestamptz, :log::timestamptz, :jobs::timestamptz,
    :tenant_id::uuid, :owner_id::uuid, :limit::int);

-- name: tenants_to_prune
-- Tenants after a given one with rows of their own from before the given instants, in the order of their ids.
SELECT tenant_id FROM tenants_to_prune(:accounts::timestamptz, :jobs::timestamptz, :tenant_id::uuid, :limit::int);

-- name: delete_old_receipts!
-- Deletes some of an owner's old receipts, the oldest first, with the usage reported for them.
DELETE FROM receipts WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND receipt_id = ANY(ARRAY(
    SELECT receipt_id FROM receipts WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND created_at < :before::timestamptz
    ORDER BY created_at LIMIT :limit::int));

-- name: delete_old_accounts!
-- Deletes some of an owner's old accounts of turns, the oldest first.
DELETE FROM turn_accounts WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND receipt_id = ANY(ARRAY(
    SELECT receipt_id FROM turn_accounts WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND created_at < :before::timestamptz
    ORDER BY created_at LIMIT :limit::int));

-- name: delete_old_compile_accounts!
-- Deletes the costs of an owner's compiles on days before a day: a few rows per day.
DELETE FROM compile_accounts WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND day < :before_day;

-- name: delete_old_answers!
-- Deletes some of the models' old answers, the oldest first.
DELETE FROM model_answers WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND answer_key = ANY(ARRAY(
    SELECT answer_key FROM model_answers WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND created_at < :before::timestamptz
    ORDER BY created_at LIMIT :limit::int));

-- name: delete_old_batches!
-- Deletes some old batches of an owner's log that no later compile needs, the oldest first: those before an old aggregation of all
-- changed pages, or before the wiki's last ones.
DELETE FROM compile_batches WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND batch_seq = ANY(ARRAY(
    SELECT b.batch_seq FROM compile_batches b
    WHERE b.tenant_id = :tenant_id AND b.owner_id = :owner_id AND b.planned_at < :before::timestamptz AND b.status = 'applied'
        AND (b.kind <> 'operator' OR b.items IS NULL)
        AND b.batch_seq < greatest(
            (SELECT max(l.batch_seq) FROM compile_batches l
                WHERE l.tenant_id = :tenant_id AND l.owner_id = :owner_id AND l.planned_at < :before AND l.kind = 'aggregation'
                    AND l.status = 'applied' AND NOT l.options ?| array['links', 'taken', 'reached']),
            (SELECT c.batch_seq - 2000 FROM wiki_compile_cursors c
                WHERE c.tenant_id = :tenant_id AND c.owner_id = :owner_id))
    ORDER BY b.batch_seq LIMIT :limit::int));

-- name: mark_pruned!
-- Marks the first remaining batch of an owner's log: batches before it were deleted, so the log cannot be replayed.
UPDATE compile_batches SET options = jsonb_set(options, '{pruned}', 'true')
WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND batch_seq = (
    SELECT min(batch_seq) FROM compile_batches WHERE tenant_id = :tenant_id AND owner_id = :owner_id);

-- name: delete_old_compile_jobs!
-- Deletes some of an owner's compile jobs that ended long ago, the oldest first, but not the newest job; none while a continuation
-- waits or runs, because it reads the jobs before it.
DELETE FROM wiki_compile_jobs WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND job_id = ANY(ARRAY(
    SELECT j.job_id FROM wiki_compile_jobs j
    WHERE j.tenant_id = :tenant_id AND j.owner_id = :owner_id AND j.finished_at < :before::timestamptz
        AND j.created_at < (SELECT max(l.created_at) FROM wiki_compile_jobs l
            WHERE l.tenant_id = :tenant_id AND l.owner_id = :owner_id)
        AND NOT EXISTS (SELECT 1 FROM wiki_compile_jobs r WHERE r.tenant_id = :tenant_id AND r.owner_id = :owner_id
            AND r.status IN ('pending', 'running') AND r.parent_job_id IS NOT NULL)
    ORDER BY j.created_at LIMIT :limit::int));

-- name: delete_old_background_jobs!
-- Deletes some of an owner's background jobs that ended long ago.
DELETE FROM background_jobs WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND job_id = ANY(ARRAY(
    SELECT job_id FROM background_jobs WHERE tenant_id = :tenant_id AND owner_id = :owner_id
        AND status IN ('succeeded', 'failed') AND coalesce(finished_at, not_before) < :before::timestamptz
    ORDER BY created_at LIMIT :limit::int));

-- name: delete_old_decay_jobs!
-- Deletes some of an owner's decay jobs that ended long ago, the oldest first; their summaries stay.
DELETE FROM decay_jobs WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND job_id = ANY(ARRAY(
    SELECT job_id FROM decay_jobs WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND ended_at < :before::timestamptz
    ORDER BY created_at LIMIT :limit::int));

-- name: delete_old_spend!
-- Deletes the costs of a tenant's models on days before a day.
DELETE FROM compile_spend WHERE tenant_id = :tenant_id AND day < :before_day;

-- name: delete_old_alerts!
-- Deletes the alerts of a tenant's budgets that were raised long ago.
DELETE FROM cost_alerts WHERE tenant_id = :tenant_id AND raised_at < :before::timestamptz;

-- name: delete_rejected_change_sets!
-- Deletes some change sets that were rejected long ago, with their items and evidence; the list of rejected proposals stays.
DELETE FROM ontology_change_sets WHERE tenant_id = :tenant_id AND change_set_id = ANY(ARRAY(
    SELECT change_set_id FROM ontology_change_sets
    WHERE tenant_id = :tenant_id AND status = 'rejected' AND decided_at < :before::timestamptz
    ORDER BY decided_at LIMIT :limit::int));

-- name: delete_old_reprocess_jobs!
-- Deletes some of a tenant's reprocess jobs that ended long ago, but not the newest.
DELETE FROM ontology_reprocess_jobs WHERE tenant_id = :tenant_id AND job_id = ANY(ARRAY(
    SELECT j.job_id FROM ontology_reprocess_jobs j
    WHERE j.tenant_id = :tenant_id AND j.finished_at < :before::timestamptz
        AND j.created_at < (SELECT max(l.created_at) FROM ontology_reprocess_jobs l WHERE l.tenant_id = :tenant_id)
    ORDER BY j.created_at LIMIT :limit::int));
