-- name: enqueue_background!
-- Queues a job, unless one of its kind and subject waits.
INSERT INTO background_jobs (tenant_id, owner_id, job_id, kind, subject, status, attempt, error, created_at, not_before, lease_holder)
VALUES (:tenant_id, :owner_id, :job_id, :kind, :subject, 'pending', 0, '', :now, :not_before, '')
ON CONFLICT (tenant_id, owner_id, kind, subject) WHERE status = 'pending' DO NOTHING;

-- name: claim_background^
-- Claims the oldest due job of the kinds, or one whose lease ran out. A job of a time that has not come, and a lease that ends later
-- than one taken now would, are from before the clock was set back.
UPDATE background_jobs SET status = 'running', attempt = attempt + 1, lease_holder = :holder, lease_until = :until
WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND job_id = (
    SELECT job_id FROM background_jobs
    WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND kind = ANY(:kinds::text[])
        AND ((status = 'pending' AND (not_before <= :now::timestamptz
                OR (created_at > :now::timestamptz + interval '10 minutes' AND not_before >= created_at)))
            OR (status = 'running' AND (lease_until <= :now OR lease_until > :until::timestamptz + interval '10 minutes')))
    ORDER BY not_before, created_at, job_id LIMIT 1 FOR UPDATE SKIP LOCKED)
RETURNING job_id, kind, subject, attempt;

-- name: make_background!
-- Creates a job of a kind and subject, unless one waits or runs.
INSERT INTO background_jobs (tenant_id, owner_id, job_id, kind, subject, status, attempt, error, created_at, not_before, lease_holder)
SELECT :tenant_id, :owner_id, :job_id, :kind, :subject, 'pending', 0, '', :now, :now, ''
WHERE NOT EXISTS (
    SELECT 1 FROM background_jobs b
    WHERE b.tenant_id = :tenant_id AND b.owner_id = :owner_id AND b.kind = :kind AND b.subject = :subject
        AND b.status IN ('pending', 'running'))
ON CONFLICT (tenant_id, owner_id, kind, subject) WHERE status = 'pending' DO NOTHING;

-- name: lock_background
-- Locks the jobs of a kind and subject against concurrent claims.
SELECT job_id FROM background_jobs
WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND kind = :kind AND subject = :subject AND status IN ('pending', 'running')
ORDER BY job_id FOR UPDATE;

-- name: take_background^
-- Claims the due job of a kind and subject, or one whose lease ran out, unless another holder has it.
UPDATE background_jobs SET status = 'running', attempt = attempt + 1, lease_holder = :holder, lease_until = :until
WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND job_id = (
    SELECT b.job_id FROM background_jobs b
    WHERE b.tenant_id = :tenant_id AND b.owner_id = :owner_id AND b.kind = :kind AND b.subject = :subject
        AND ((b.status = 'pending' AND (b.not_before <= :now::timestamptz
                OR (b.created_at > :now::timestamptz + interval '10 minutes' AND b.not_before >= b.created_at)))
            OR (b.status = 'running' AND (b.lease_until <= :now OR b.lease_until > :until::timestamptz + interval '10 minutes')))
    ORDER BY b.status DESC, b.not_before, b.created_at, b.job_id LIMIT 1)
    AND NOT EXISTS (
        SELECT 1 FROM background_jobs o
        WHERE o.tenant_id = :tenant_id AND o.owner_id = :owner_id AND o.kind = :kind AND o.subject = :subject
            AND o.status = 'running' AND o.lease_until > :now AND o.lease_until <= :until::timestamptz + interval '10 minutes')
RETURNING job_id, kind, subject, attempt;

-- name: unmake_background!
-- Deletes a job that was created in this transaction and not claimed.
DELETE FROM background_jobs WHERE tenant_id = :tenant_id AND job_id = :job_id AND status = 'pending';

-- name: drop_background!
-- Deletes a job that the holder has.
DELETE FROM background_jobs
WHERE tenant_id = :tenant_id AND job_id = :job_id AND status = 'running' AND lease_holder = :holder;

-- name: finish_background!
-- Ends a job that the holder has.
UPDATE background_jobs SET status = CASE WHEN :error::text = '' THEN 'succeeded' ELSE 'failed' END, error = :error,
    finished_at = :now, lease_until = NULL
WHERE tenant_id = :tenant_id AND job_id = :job_id AND status = 'running' AND lease_holder = :holder;

-- name: put_back_background!
-- Requeues a job, or ends it if another waiting job covers it.
UPDATE background_jobs SET error = :error, not_before = :not_before, lease_holder = '', lease_until = NULL,
    status = CASE WHEN EXISTS (SELECT 1 FROM background_jobs o WHERE o.tenant_id = :tenant_id AND o.owner_id = :owner_id
        AND o.kind = :kind AND o.subject = :subject AND o.status = 'pending') THEN 'failed' ELSE 'pending' END
WHERE tenant_id = :tenant_id AND job_id = :job_id AND status = 'running' AND lease_holder = :holder;

-- name: forget_background_details!
-- Cuts the details off the errors of an owner's jobs: a provider's message may quote the request.
UPDATE background_jobs SET error = split_part(error, ' (', 1)
WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND strpos(error, ' (') > 0;

-- name: withdraw_background!
-- Deletes a waiting job.
DELETE FROM background_jobs
WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND kind = :kind AND subject = :subject AND status = 'pending';

-- name: next_background$
-- When the scope's next background job falls due.
SELECT min(CASE status WHEN 'pending' THEN not_before ELSE lease_until END) FROM background_jobs
WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND status IN ('pending', 'running');
