-- name: insert_job!
-- Inserts a job that waits; one that exists stays.
INSERT INTO decay_jobs (tenant_id, owner_id, job_id, kind, summary_method, source_ids, policy, state, scheduled_for, created_at)
VALUES (:tenant_id, :owner_id, :job_id, :kind, :summary_method, :source_ids, :policy, 'pending', :scheduled_for, :created_at)
ON CONFLICT (tenant_id, owner_id, job_id) DO NOTHING;

-- name: claim_job^
-- Claims the given job, or the oldest one that is due; a job whose lease ended, or was taken before the clock was set back, is due again.
UPDATE decay_jobs SET state = 'in_progress', lease_until = :lease_until, fencing_token = fencing_token + 1
WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND job_id = (
    SELECT job_id FROM decay_jobs
    WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND job_id = coalesce(:job_id::uuid, job_id)
        AND summary_method = ANY(:methods::text[])
        AND (state = 'pending' AND (scheduled_for <= :now::timestamptz OR :job_id::uuid IS NOT NULL
                OR created_at > :now::timestamptz + interval '10 minutes' AND scheduled_for <= created_at)
            OR state = 'in_progress' AND (lease_until <= :now::timestamptz OR lease_until > :lease_until::timestamptz + interval '10 minutes'))
    ORDER BY scheduled_for, job_id LIMIT 1 FOR UPDATE SKIP LOCKED)
RETURNING job_id, kind, summary_method, source_ids, policy, state, scheduled_for, created_at, ended_at, fencing_token, result_id,
    failure, findings;

-- name: end_job$
-- Ends a job for the holder of its fencing token; returns nothing for another.
UPDATE decay_jobs SET state = :state, result_id = :result_id, failure = :failure, ended_at = :now, lease_until = NULL,
    findings = :findings
WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND job_id = :job_id AND fencing_token = :fencing_token
    AND state = 'in_progress'
RETURNING job_id;

-- name: cancel_job!
-- Cancels a job that has not started.
UPDATE decay_jobs SET state = 'cancelled', ended_at = :now
WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND job_id = :job_id AND state = 'pending';

-- name: list_jobs
-- An owner's jobs, newest first.
SELECT job_id, kind, summary_method, source_ids, policy, state, scheduled_for, created_at, ended_at, fencing_token, result_id,
    failure, findings
FROM decay_jobs
WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND (created_at, job_id) < (:before::timestamptz, :before_id::uuid)
ORDER BY created_at DESC, job_id DESC LIMIT :limit;

-- name: get_job^
-- One job, or no row.
SELECT job_id, kind, summary_method, source_ids, policy, state, scheduled_for, created_at, ended_at, fencing_token, result_id,
    failure, findings
FROM decay_jobs WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND job_id = :job_id;

-- name: next_due$
-- When the next waiting job is due, or the lease of a running one ends.
SELECT min(CASE state WHEN 'pending' THEN scheduled_for ELSE lease_until END) FROM decay_jobs
WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND state IN ('pending', 'in_progress');

-- name: aged_candidates
-- Candidates from before an instant that are no summaries, not pinned, in no summary and in no waiting job, oldest first, with the
-- number of contexts that contained them, of all contexts, and the bytes of those that are in a summary or a waiting job.
WITH newest_receipts AS (
    SELECT details FROM receipts
    WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND created_at >= :reads_since::timestamptz
    ORDER BY created_at DESC, receipt_id LIMIT 5000
), read_counts AS (
    SELECT item->>'id' AS item_id, count(*)::int AS reads FROM newest_receipts r
    CROSS JOIN LATERAL jsonb_array_elements(r.details->'sources') AS source
    CROSS JOIN LATERAL jsonb_array_elements(source->'items') AS item
    WHERE source->>'source' = 'memory' AND item->>'decision' IN ('kept', 'shortened')
    GROUP BY item->>'id'
), behind AS (
    SELECT s.superseded_id AS memory_id FROM memory_supersessions s
    WHERE s.tenant_id = :tenant_id AND s.owner_id = :owner_id AND s.reason = 'compressed' AND s.undone_at IS NULL
    UNION
    SELECT unnest(j.source_ids) FROM decay_jobs j
    WHERE j.tenant_id = :tenant_id AND j.owner_id = :owner_id AND j.state IN ('pending', 'in_progress')
), aged AS (
    SELECT m.memory_id, m.text, m.occurred_at, m.document_id, b.memory_id IS NOT NULL AS is_behind
    FROM memories m LEFT JOIN behind b USING (memory_id)
    WHERE m.tenant_id = :tenant_id AND m.owner_id = :owner_id AND m.status = 'candidate' AND m.memory_type <> 'summary'
        AND m.occurred_at < :before::timestamptz AND m.pinned_at IS NULL
)
SELECT a.memory_id, a.text, a.occurred_at, a.document_id, coalesce(s.reads, 0) AS reads,
    (SELECT count(*)::int FROM newest_receipts) AS contexts,
    (SELECT coalesce(sum(octet_length(o.text)), 0)::bigint FROM aged o WHERE o.is_behind) AS bytes_behind
FROM aged a LEFT JOIN read_counts s ON s.item_id = 'memory:' || a.memory_id
WHERE NOT a.is_behind
ORDER BY a.occurred_at, a.memory_id COLLATE "C" LIMIT :limit;

-- name: owners_due_decay
-- Owners with candidates from before an instant whose candidates were not reviewed on a day: ids only.
SELECT tenant_id, owner_id FROM owners_due_decay(:before, :day, :limit::int);

-- name: begin_day$
-- Records that an owner's candidates are reviewed on a day; returns nothing if they were already. A day beyond the next one is from
-- before the clock was set back.
INSERT INTO decay_days (tenant_id, owner_id, decayed_on) VALUES (:tenant_id, :owner_id, :day)
ON CONFLICT (tenant_id, owner_id) DO UPDATE SET decayed_on = excluded.decayed_on
WHERE decay_days.decayed_on < excluded.decayed_on OR decay_days.decayed_on > excluded.decayed_on + 1
RETURNING decayed_on;

-- name: expired_principles
-- Accepted principles, the given ones or all, that are no longer valid or at least `age_days` old, with the time at which they
-- expired.
SELECT memory_id, least(valid_until, occurred_at + :age_days::int * interval '1 day') AS expired_at FROM memories
WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND memory_type = 'principle' AND status = 'accepted'
    AND (:memory_ids::text[] = '{}' OR memory_id = ANY(:memory_ids::text[]))
    AND least(valid_until, occurred_at + :age_days::int * interval '1 day') <= :now::timestamptz
ORDER BY 2, memory_id COLLATE "C" LIMIT 1000;

-- name: forget_sources!
-- Takes forgotten memories out of every job.
UPDATE decay_jobs SET source_ids = ARRAY(
    SELECT s.source_id FROM unnest(source_ids) WITH ORDINALITY AS s (source_id, place)
    WHERE s.source_id <> ALL(:memory_ids::text[]) ORDER BY s.place)
WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND source_ids && :memory_ids::text[];
