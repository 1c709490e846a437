-- name: ensure_tenant!
-- Creates a tenant if missing.
INSERT INTO tenants (tenant_id, created_at) VALUES (:tenant_id, :now) ON CONFLICT (tenant_id) DO NOTHING;

-- name: get_tenant^
-- The tenant, or no row.
SELECT tenant_id, created_at, tokens_not_before, wiki_compile_enabled FROM tenants WHERE tenant_id = :tenant_id;

-- name: compile_flags^
-- The tenant's compile flags.
SELECT wiki_compile_enabled, wiki_aggregation_pass_enabled, wiki_deterministic_linking_enabled, wiki_unread_pause_s FROM tenants
WHERE tenant_id = :tenant_id;

-- name: revoke_tokens<!
-- Advances the instant before which the tenant's tokens are rejected, never back, and returns the one in force.
UPDATE tenants SET tokens_not_before = greatest(tokens_not_before, :not_before::timestamptz) WHERE tenant_id = :tenant_id
RETURNING tokens_not_before;

-- name: put_agent!
-- Creates an agent or changes its template.
INSERT INTO agents AS a (tenant_id, agent_id, template_id, created_at) VALUES (:tenant_id, :agent_id, :template_id, :now)
ON CONFLICT (tenant_id, agent_id) DO UPDATE SET template_id = excluded.template_id
WHERE a.template_id <> excluded.template_id;

-- name: put_space!
-- Creates a space or changes its name.
INSERT INTO spaces AS s (tenant_id, space_id, name, created_at) VALUES (:tenant_id, :space_id, :name, :now)
ON CONFLICT (tenant_id, space_id) DO UPDATE SET name = excluded.name WHERE s.name <> excluded.name;

-- name: put_workspace!
-- Sets the location of a workspace.
INSERT INTO workspaces (tenant_id, level, ref, location) VALUES (:tenant_id, :level, :ref, :location)
ON CONFLICT (tenant_id, level, ref) DO UPDATE SET location = excluded.location;

-- name: remove_workspace!
-- Deletes a workspace.
DELETE FROM workspaces WHERE tenant_id = :tenant_id AND level = :level AND ref = :ref;

-- name: workspaces_of_agent
-- The workspaces an agent sees, in order of precedence: its own, its template's, the tenant's.
SELECT w.level, w.ref, w.location
FROM (VALUES (1, 'agent', :agent_id::text), (2, 'template', :template_id::text), (3, 'tenant', '')) AS wanted (distance, level, ref)
CROSS JOIN LATERAL (
    SELECT level, ref, location FROM workspaces
    WHERE tenant_id = :tenant_id AND level = wanted.level AND ref = wanted.ref LIMIT 1) w
ORDER BY wanted.distance;
