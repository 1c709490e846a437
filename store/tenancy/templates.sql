-- name: layers_of_turn
-- The newest knobs of each level of a turn, least specific first. The template's row, which names it, comes even without knobs.
WITH template AS (
    SELECT coalesce((SELECT template_id FROM agents WHERE tenant_id = :tenant_id AND agent_id = :agent_id), 'default') AS ref
), wanted AS (
    SELECT 1 AS distance, 'tenant' AS level, '' AS ref
    UNION ALL SELECT 2, 'template', ref FROM template
    UNION ALL SELECT 3, 'agent', :agent_id::text
    UNION ALL SELECT 4, 'space', :space_id::text WHERE :space_id <> ''
)
SELECT wanted.level, wanted.ref, newest.version, newest.knobs, newest.author, newest.created_at
FROM wanted LEFT JOIN LATERAL (
    SELECT p.version, p.knobs, p.author, p.created_at FROM profiles p
    WHERE p.tenant_id = :tenant_id AND p.level = wanted.level AND p.ref = wanted.ref
    ORDER BY p.version DESC LIMIT 1) newest ON true
ORDER BY wanted.distance;

-- name: newest_version^
-- The newest knobs of a level and ref.
SELECT level, ref, version, knobs, author, created_at FROM profiles
WHERE tenant_id = :tenant_id AND level = :level AND ref = :ref
ORDER BY version DESC LIMIT 1;

-- name: get_version^
-- One version of a level and ref.
SELECT level, ref, version, knobs, author, created_at FROM profiles
WHERE tenant_id = :tenant_id AND level = :level AND ref = :ref AND version = :version;

-- name: lock_profiles^
-- Locks a tenant's profiles against other writers until the transaction ends. Rows that reference the tenant can still be written.
SELECT tenant_id FROM tenants WHERE tenant_id = :tenant_id FOR NO KEY UPDATE;

-- name: insert_version!
-- Writes a version of a level's knobs.
INSERT INTO profiles (tenant_id, level, ref, version, knobs, author, created_at)
VALUES (:tenant_id, :level, :ref, :version, :knobs::jsonb, :author, :now);

-- name: list_versions
-- A page of a level's versions, newest first.
SELECT level, ref, version, knobs, author, created_at FROM profiles
WHERE tenant_id = :tenant_id AND level = :level AND ref = :ref AND version < :before
ORDER BY version DESC LIMIT :limit;

-- name: notify_profile_changed
-- Notifies listeners, when the transaction commits, that a tenant's profiles have changed.
SELECT pg_notify('profile_changed', :tenant_id::uuid::text);
