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
    finished_at FROM ontology_reprocess_jobs
WHERE tenant_id = :tenant_id AND created_at <= :before::timestamptz AND (created_at < :before OR job_id > :after_id)
ORDER BY created_at DESC, job_id LIMIT :limit;
