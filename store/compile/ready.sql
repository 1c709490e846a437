-- name: announce!
-- Records that a scope has work from an instant on.
INSERT INTO compile_ready AS r (tenant_id, owner_id, ready_at) VALUES (:tenant_id, :owner_id, :ready_at)
ON CONFLICT (tenant_id, owner_id) DO UPDATE SET ready_at = least(r.ready_at, excluded.ready_at);

-- name: notify_ready!
-- Notifies the workers.
SELECT pg_notify('compile_ready', '');

-- name: due_scopes
-- Scopes to try: each tenant's first before any tenant's second, least recently served tenants first.
SELECT d.tenant_id, d.owner_id, d.ready_at FROM (
    SELECT tenant_id, owner_id, ready_at, row_number() OVER (PARTITION BY tenant_id ORDER BY ready_at, owner_id) AS place
    FROM compile_ready WHERE ready_at <= :now) d
LEFT JOIN compile_served s USING (tenant_id)
ORDER BY d.place, s.served_at NULLS FIRST, d.ready_at, d.tenant_id LIMIT :limit;

-- name: next_ready_at$
-- When the next hint falls due.
SELECT min(ready_at) FROM compile_ready WHERE ready_at > :after;

-- name: settle_hint!
-- Moves or deletes a hint, unless it was renewed meanwhile.
WITH gone AS (
    DELETE FROM compile_ready
    WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND ready_at = :ready_at AND :next_at::timestamptz IS NULL)
UPDATE compile_ready SET ready_at = :next_at
WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND ready_at = :ready_at AND :next_at::timestamptz IS NOT NULL;

-- name: forget_hints!
-- Deletes a scope's hint.
DELETE FROM compile_ready WHERE tenant_id = :tenant_id AND owner_id = :owner_id;

-- name: serve_tenant!
-- Records when a tenant was last served.
INSERT INTO compile_served (tenant_id, served_at) VALUES (:tenant_id, :now)
ON CONFLICT (tenant_id) DO UPDATE SET served_at = excluded.served_at;

-- name: set_served_back!
-- Sets the tenants that were served at a time that has not come to now.
UPDATE compile_served SET served_at = :now WHERE served_at > :now::timestamptz + interval '10 minutes';

-- name: look_at_all!
-- Makes every hint due.
UPDATE compile_ready SET ready_at = :now WHERE ready_at > :now;

-- name: rebuild_hints!
-- Adds missing hints.
INSERT INTO compile_ready AS r (tenant_id, owner_id, ready_at) SELECT tenant_id, owner_id, ready_at FROM scopes_with_work()
ON CONFLICT (tenant_id, owner_id) DO UPDATE SET ready_at = excluded.ready_at WHERE r.ready_at > excluded.ready_at;
