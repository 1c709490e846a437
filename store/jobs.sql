-- name: wiki_compile_enabled$
-- Whether the tenant's memories are compiled.
SELECT wiki_compile_enabled FROM tenants WHERE tenant_id = :tenant_id;

-- name: mark_dirty!
-- Records that memories up to a position of the owner's feed wait to be compiled.
INSERT INTO wiki_compile_cursors AS c (tenant_id, owner_id, cursor, lease_holder, fence, dirty_through, wiki_revision, updated_at)
SELECT :tenant_id, :owner_id, '', '', 0, coalesce(max(f.change_seq), 0), 0, :now FROM memory_feeds f
WHERE f.tenant_id = :tenant_id AND f.owner_id = :owner_id
ON CONFLICT (tenant_id, owner_id) DO UPDATE SET dirty_through = greatest(c.dirty_through, excluded.dirty_through),
    updated_at = excluded.updated_at;

-- name: insert_job$
-- Queues a job, unless one bears its key already.
INSERT INTO wiki_compile_jobs (tenant_id, owner_id, job_id, dedupe_key, status, trigger, attempt, input, metrics, error,
    created_at, not_before)
VALUES (:tenant_id, :owner_id, :job_id, :dedupe_key, 'pending', :trigger, 0, '{}', '{}', '', :now, :now)
ON CONFLICT (tenant_id, dedupe_key) DO NOTHING RETURNING job_id;

-- name: is_pending$
-- Whether the job of a key has not been started yet.
SELECT EXISTS (SELECT 1 FROM wiki_compile_jobs
    WHERE tenant_id = :tenant_id AND dedupe_key = :dedupe_key AND status = 'pending');
