-- name: enqueue_background!
-- Queues work, unless the same waits.
INSERT INTO background_jobs (tenant_id, owner_id, job_id, kind, subject, status, attempt, error, created_at, not_before, lease_holder)
VALUES (:tenant_id, :owner_id, :job_id, :kind, :subject, 'pending', 0, '', :now, :now, '')
ON CONFLICT (tenant_id, owner_id, kind, subject) WHERE status = 'pending' DO NOTHING;

-- name: claim_background^
-- Takes the oldest due job, or one whose lease ran out.
UPDATE background_jobs SET status = 'running', attempt = attempt + 1, lease_holder = :holder, lease_until = :until
WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND job_id = (
    SELECT job_id FROM background_jobs
    WHERE tenant_id = :tenant_id AND owner_id = :owner_id
        AND ((status = 'pending' AND not_before <= :now::timestamptz) OR (status = 'running' AND lease_until <= :now))
    ORDER BY not_before, created_at, job_id LIMIT 1 FOR UPDATE SKIP LOCKED)
RETURNING job_id, kind, subject, attempt;

-- name: finish_background!
-- Ends a job that the holder has.
UPDATE background_jobs SET status = CASE WHEN :error::text = '' THEN 'succeeded' ELSE 'failed' END, error = :error,
    finished_at = :now, lease_until = NULL
WHERE tenant_id = :tenant_id AND job_id = :job_id AND status = 'running' AND lease_holder = :holder;

-- name: put_back_background!
-- Makes a job wait again, or ends it where another covers it.
UPDATE background_jobs SET error = :error, not_before = :not_before, lease_holder = '', lease_until = NULL,
    status = CASE WHEN EXISTS (SELECT 1 FROM background_jobs o WHERE o.tenant_id = :tenant_id AND o.owner_id = :owner_id
        AND o.kind = :kind AND o.subject = :subject AND o.status = 'pending') THEN 'failed' ELSE 'pending' END
WHERE tenant_id = :tenant_id AND job_id = :job_id AND status = 'running' AND lease_holder = :holder;

-- name: next_background$
-- From when on the scope has work of this sort.
SELECT min(CASE status WHEN 'pending' THEN not_before ELSE lease_until END) FROM background_jobs
WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND status IN ('pending', 'running');
