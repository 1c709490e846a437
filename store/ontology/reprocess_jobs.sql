-- name: insert_job$
-- Queues a job, unless one has its dedupe key.
INSERT INTO ontology_reprocess_jobs (tenant_id, job_id, dedupe_key, change_set_id, from_version, to_version, status, attempt,
    lease_holder, fence, continuation, continuation_offset, input, impact, metrics, error, created_at, not_before)
VALUES (:tenant_id, :job_id, :dedupe_key, :change_set_id, :from_version, :to_version, 'pending', 0, '', 0, '{}', 0, '{}', :impact,
    '{}', '', :now, :now)
ON CONFLICT (tenant_id, dedupe_key) DO NOTHING RETURNING job_id;

-- name: job_of_key$
-- The job of a dedupe key.
SELECT job_id FROM ontology_reprocess_jobs WHERE tenant_id = :tenant_id AND dedupe_key = :dedupe_key;

-- name: list_jobs
-- A page of the tenant's jobs, newest first.
SELECT job_id, change_set_id, from_version, to_version, status, attempt, continuation_offset, impact, metrics, error, created_at,
    finished_at, continuation, fence FROM ontology_reprocess_jobs
WHERE tenant_id = :tenant_id AND created_at <= :before::timestamptz AND (created_at < :before OR job_id > :after_id)
ORDER BY created_at DESC, job_id LIMIT :limit;

-- name: claim_job^
-- Claims the oldest due job, or one whose lease ran out or was taken before the clock was set back, and counts the claim.
UPDATE ontology_reprocess_jobs SET status = 'running', attempt = attempt + 1, fence = fence + 1, lease_holder = :holder,
    lease_until = :until, claimed_at = :now
WHERE tenant_id = :tenant_id AND job_id = (
    SELECT job_id FROM ontology_reprocess_jobs
    WHERE tenant_id = :tenant_id AND ((status = 'pending' AND (not_before <= :now::timestamptz
            OR created_at > :now::timestamptz + interval '10 minutes'))
        OR (status = 'running' AND (lease_until <= :now OR lease_until > :until::timestamptz + interval '10 minutes')))
    ORDER BY created_at, job_id LIMIT 1 FOR UPDATE SKIP LOCKED)
RETURNING job_id, change_set_id, from_version, to_version, status, attempt, continuation, continuation_offset, impact, metrics, error,
    created_at, finished_at, fence;

-- name: hold_job$
-- Locks the job if the fence is still the holder's.
SELECT job_id FROM ontology_reprocess_jobs
WHERE tenant_id = :tenant_id AND job_id = :job_id AND fence = :fence AND status = 'running' FOR UPDATE;

-- name: advance_job!
-- Records the job's progress, renews its lease, and resets its count of attempts.
UPDATE ontology_reprocess_jobs SET continuation = :continuation, continuation_offset = :offset, metrics = :metrics,
    lease_until = :until, attempt = 1, error = ''
WHERE tenant_id = :tenant_id AND job_id = :job_id AND fence = :fence AND status = 'running';

-- name: release_job!
-- Releases a job for another claim.
UPDATE ontology_reprocess_jobs SET status = 'pending', lease_holder = '', lease_until = NULL, not_before = :not_before,
    attempt = attempt - 1
WHERE tenant_id = :tenant_id AND job_id = :job_id AND fence = :fence AND status = 'running';

-- name: end_job!
-- Ends a job.
UPDATE ontology_reprocess_jobs SET status = :status, error = :error, lease_holder = '', lease_until = NULL, finished_at = :now
WHERE tenant_id = :tenant_id AND job_id = :job_id AND fence = :fence AND status = 'running';

-- name: next_due$
-- When the tenant's next job is due, or the lease of a running one ends.
SELECT min(CASE status WHEN 'pending' THEN not_before ELSE lease_until END) FROM ontology_reprocess_jobs
WHERE tenant_id = :tenant_id AND status IN ('pending', 'running');
