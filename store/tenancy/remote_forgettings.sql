-- name: insert_remote_forgetting!
-- Stores a request to a backend to forget.
INSERT INTO remote_forgettings (tenant_id, owner_id, forgetting_id, backend, target, created_at)
VALUES (:tenant_id, :owner_id, :forgetting_id, :backend, :target, :now);

-- name: remote_forgettings_waiting
-- An owner's pending requests to forget, oldest first.
SELECT forgetting_id, backend, target, attempts FROM remote_forgettings
WHERE tenant_id = :tenant_id AND owner_id = :owner_id ORDER BY created_at, forgetting_id LIMIT 1000;

-- name: end_remote_forgetting!
-- Deletes a request.
DELETE FROM remote_forgettings WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND forgetting_id = :forgetting_id;

-- name: count_attempt!
-- Counts an attempt that failed.
UPDATE remote_forgettings SET attempts = attempts + 1
WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND forgetting_id = :forgetting_id;
