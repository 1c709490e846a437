-- name: put_switch!
-- Sets a backend's switch.
INSERT INTO backend_switches (tenant_id, backend, is_off, reason, author, changed_at)
VALUES (:tenant_id, :backend, :is_off, :reason, :author, :changed_at)
ON CONFLICT (tenant_id, backend) DO UPDATE SET is_off = excluded.is_off, reason = excluded.reason, author = excluded.author,
    changed_at = excluded.changed_at;

-- name: list_switches
-- A tenant's switches.
SELECT backend, is_off, reason, author, changed_at FROM backend_switches WHERE tenant_id = :tenant_id ORDER BY backend;

-- name: put_approval!
-- Approves a tool with a schema.
INSERT INTO tool_approvals (tenant_id, backend, tool, schema_hash, author, approved_at)
VALUES (:tenant_id, :backend, :tool, :schema_hash, :author, :approved_at)
ON CONFLICT (tenant_id, backend, tool) DO UPDATE SET schema_hash = excluded.schema_hash, author = excluded.author,
    approved_at = excluded.approved_at;

-- name: delete_approval!
-- Revokes a tool's approval.
DELETE FROM tool_approvals WHERE tenant_id = :tenant_id AND backend = :backend AND tool = :tool;

-- name: list_approvals
-- A tenant's approved tools.
SELECT backend, tool, schema_hash, author, approved_at FROM tool_approvals WHERE tenant_id = :tenant_id ORDER BY backend, tool;
