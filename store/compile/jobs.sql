-- name: forget_error_details!
-- Cuts the details off the errors of an owner's jobs: a provider's message may quote the request.
UPDATE wiki_compile_jobs SET error = split_part(error, ' (', 1)
WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND strpos(error, ' (') > 0;

-- name: wiki_compile_enabled$
-- Whether compiling is enabled for the tenant.
SELECT wiki_compile_enabled FROM tenants WHERE tenant_id = :tenant_id;

-- name: insert_job$
-- Queues a job, unless one has its dedupe key.
INSERT INTO wiki_compile_jobs (tenant_id, owner_id, job_id, dedupe_key, status, trigger, attempt, input, metrics, error,
    created_at, not_before)
VALUES (:tenant_id, :owner_id, :job_id, :dedupe_key, 'pending', :trigger, 0, :input, '{}', '', :now, :now)
ON CONFLICT (tenant_id, dedupe_key) DO NOTHING RETURNING job_id;

-- name: insert_continuation$
-- Queues the continuation of a job, unless it exists.
INSERT INTO wiki_compile_jobs (tenant_id, owner_id, job_id, dedupe_key, status, trigger, attempt, input, metrics, error,
    parent_job_id, sequence, hops, created_at, not_before)
VALUES (:tenant_id, :owner_id, :job_id, :dedupe_key, 'pending', :trigger, 0, :input, '{}', '', :parent_job_id, :sequence, :hops,
    :now, :not_before)
ON CONFLICT (tenant_id, owner_id, parent_job_id, sequence) DO NOTHING RETURNING job_id;

-- name: pending_job_of_key$
-- The job of a dedupe key, if it has not started.
SELECT job_id FROM wiki_compile_jobs
WHERE tenant_id = :tenant_id AND dedupe_key = :dedupe_key AND status = 'pending';

-- name: started_keys
-- Of the given dedupe keys, those whose job has started.
SELECT dedupe_key FROM wiki_compile_jobs
WHERE tenant_id = :tenant_id AND dedupe_key = ANY(:keys::text[]) AND status <> 'pending';

-- name: waiting_job$
-- The next job with the same options to start.
SELECT job_id FROM wiki_compile_jobs
WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND status = 'pending' AND parent_job_id IS NULL
    AND input - 'traceparent' = :input AND not_before <= :now::timestamptz
ORDER BY created_at, job_id LIMIT 1;

-- name: resting_job$
-- The postponed job with the same options.
SELECT job_id FROM wiki_compile_jobs
WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND status = 'pending' AND parent_job_id IS NULL
    AND input - 'traceparent' = :input
    AND not_before > :now::timestamptz AND trigger IN ('memory_retain', 'webhook')
ORDER BY created_at, job_id LIMIT 1;

-- name: hasten_job!
-- Makes a waiting job due now, for a request that must not be postponed.
UPDATE wiki_compile_jobs SET not_before = :now, trigger = :trigger
WHERE tenant_id = :tenant_id AND job_id = :job_id AND status = 'pending' AND not_before > :now::timestamptz;

-- name: rest_jobs!
-- Postpones the jobs of a wiki that no turn reads, and undoes this for one that is read.
WITH pause AS (
    SELECT make_interval(secs => coalesce(t.wiki_unread_pause_s, :pause_s::int)) AS long
    FROM tenants t WHERE t.tenant_id = :tenant_id AND coalesce(t.wiki_unread_pause_s, :pause_s::int) > 0
), postponement AS (
    SELECT CASE WHEN EXISTS (
            SELECT 1 FROM turn_accounts a WHERE a.tenant_id = :tenant_id AND a.owner_id = :owner_id
                AND a.created_at > :now::timestamptz - pause.long AND a.wiki_tokens > 0)
        THEN :now ELSE greatest(:now, (
            SELECT max(l.finished_at) FROM wiki_compile_jobs l
            WHERE l.tenant_id = :tenant_id AND l.owner_id = :owner_id AND l.status = 'succeeded'
                AND l.finished_at <= :now::timestamptz + interval '10 minutes') + pause.long) END AS until
    FROM pause
)
UPDATE wiki_compile_jobs j SET not_before = postponement.until FROM postponement
WHERE j.tenant_id = :tenant_id AND j.owner_id = :owner_id AND j.status = 'pending' AND j.parent_job_id IS NULL AND j.error = ''
    AND j.trigger IN ('memory_retain', 'webhook') AND (j.not_before > :now) <> (postponement.until > :now);

-- name: back_off_jobs!
-- Postpones waiting jobs until the next retry of the scope's failed model.
WITH next_try AS (
    SELECT max(c.not_before) AS at FROM wiki_compile_jobs c JOIN wiki_compile_jobs p ON p.job_id = c.parent_job_id
    WHERE c.tenant_id = :tenant_id AND c.owner_id = :owner_id AND c.status = 'pending' AND c.not_before > :now
        AND c.created_at <= :now::timestamptz + interval '10 minutes'
        AND p.tenant_id = :tenant_id AND p.owner_id = :owner_id AND p.status = 'failed' AND p.error LIKE 'ModelFailing:%'
)
UPDATE wiki_compile_jobs j SET not_before = next_try.at FROM next_try
WHERE j.tenant_id = :tenant_id AND j.owner_id = :owner_id AND j.status = 'pending' AND j.parent_job_id IS NULL
    AND j.trigger IN ('memory_retain', 'webhook', 'lint') AND j.not_before <= :now AND next_try.at IS NOT NULL;

-- name: failing_streak$
-- How many of the scope's latest ten jobs failed in a row because their model did.
SELECT count(*) FROM (
    SELECT bool_and(l.status = 'failed' AND l.error LIKE 'ModelFailing:%') OVER (ORDER BY l.finished_at DESC, l.job_id) AS is_failing
    FROM (SELECT status, error, finished_at, job_id FROM wiki_compile_jobs
        WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND status IN ('succeeded', 'failed')
        ORDER BY finished_at DESC, job_id LIMIT 10) l) s
WHERE s.is_failing;

-- name: start_next_job^
-- Starts the scope's next job: one left running by a dead worker, else the oldest due one. One of a time that has not come was
-- queued before the clock was set back, and is due.
UPDATE wiki_compile_jobs SET status = 'running', attempt = attempt + 1, claimed_at = :now
WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND job_id = (
    SELECT job_id FROM wiki_compile_jobs
    WHERE tenant_id = :tenant_id AND owner_id = :owner_id
        AND (status = 'running' OR (status = 'pending' AND (not_before <= :now
            OR (greatest(created_at, claimed_at) > :now::timestamptz + interval '10 minutes'
            AND not_before >= greatest(created_at, claimed_at)))))
    ORDER BY status = 'running' DESC, created_at, sequence, job_id LIMIT 1)
RETURNING job_id, status, trigger, attempt, input, metrics, error, parent_job_id, sequence, hops, cancel_requested, created_at,
    not_before, claimed_at, finished_at;

-- name: next_startable$
-- The job to start next: one left running by a dead worker, else the oldest due one.
SELECT job_id FROM wiki_compile_jobs
WHERE tenant_id = :tenant_id AND owner_id = :owner_id
    AND (status = 'running' OR (status = 'pending' AND (not_before <= :now
        OR (greatest(created_at, claimed_at) > :now::timestamptz + interval '10 minutes'
            AND not_before >= greatest(created_at, claimed_at)))))
ORDER BY status = 'running' DESC, created_at, sequence, job_id LIMIT 1;

-- name: record_job$
-- Writes a running job's metrics, and returns whether its cancellation was requested.
UPDATE wiki_compile_jobs SET metrics = :metrics WHERE tenant_id = :tenant_id AND job_id = :job_id AND status = 'running'
RETURNING cancel_requested;

-- name: settle_job$
-- Ends a running job, and returns it.
UPDATE wiki_compile_jobs SET status = :status, error = :error, metrics = :metrics, finished_at = :now
WHERE tenant_id = :tenant_id AND job_id = :job_id AND status = 'running' RETURNING job_id;

-- name: put_back_job$
-- Requeues a running job, and returns it.
UPDATE wiki_compile_jobs SET status = 'pending', error = :error, not_before = :not_before,
    metrics = CASE WHEN :metrics::jsonb = '{}' THEN metrics ELSE :metrics END,
    attempt = greatest(attempt - :refund::int, 0)
WHERE tenant_id = :tenant_id AND job_id = :job_id AND status = 'running' RETURNING job_id;

-- name: notify_progress!
-- Notifies listeners, on commit, that these jobs changed.
SELECT pg_notify('compile_progress', r.job_id::text) FROM unnest(:job_ids::uuid[]) AS r (job_id);

-- name: get_job^
-- One job of the scope.
SELECT job_id, status, trigger, attempt, input, metrics, error, parent_job_id, sequence, hops, cancel_requested, created_at,
    not_before, claimed_at, finished_at FROM wiki_compile_jobs WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND job_id = :job_id;

-- name: list_jobs
-- A page of the scope's jobs, newest first.
SELECT job_id, status, trigger, attempt, input, metrics, error, parent_job_id, sequence, hops, cancel_requested, created_at,
    not_before, claimed_at, finished_at FROM wiki_compile_jobs
WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND created_at <= :before::timestamptz
    AND (created_at < :before OR job_id > :after_id)
ORDER BY created_at DESC, job_id LIMIT :limit;

-- name: running_job^
-- The scope's running job.
SELECT job_id, status, trigger, attempt, input, metrics, error, parent_job_id, sequence, hops, cancel_requested, created_at,
    not_before, claimed_at, finished_at FROM wiki_compile_jobs
WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND status = 'running';

-- name: cancel_job$
-- Cancels a waiting job, or asks a running one to stop, and returns it.
UPDATE wiki_compile_jobs SET cancel_requested = true,
    status = CASE WHEN status = 'pending' THEN 'cancelled' ELSE status END,
    finished_at = CASE WHEN status = 'pending' THEN :now::timestamptz ELSE finished_at END
WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND job_id = :job_id AND status IN ('pending', 'running')
RETURNING job_id;

-- name: cancel_pending_jobs
-- Cancels the scope's waiting jobs, and returns them.
UPDATE wiki_compile_jobs SET status = 'cancelled', cancel_requested = true, finished_at = :now
WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND status = 'pending' RETURNING job_id;

-- name: next_due$
-- When the scope's next waiting job may start.
SELECT min(not_before) FROM wiki_compile_jobs
WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND status = 'pending';
