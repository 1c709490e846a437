-- The day (UTC) for which an owner's aged candidates were last looked through by the worker: once a day, whatever restarts.
CREATE TABLE decay_days (
    tenant_id uuid NOT NULL REFERENCES tenants,
    owner_id uuid NOT NULL,
    decayed_on date NOT NULL,
    PRIMARY KEY (tenant_id, owner_id)
);
ALTER TABLE decay_days ENABLE ROW LEVEL SECURITY;
CREATE POLICY owner ON decay_days USING (tenant_id = app_tenant() AND owner_id = app_owner());
GRANT SELECT, INSERT, UPDATE, DELETE ON decay_days TO sidecar_app, sidecar_worker;
GRANT SELECT ON decay_days TO sidecar_search;

CREATE INDEX memories_aging ON memories (tenant_id, owner_id, occurred_at)
    WHERE status = 'candidate' AND memory_type <> 'summary' AND NOT is_compressed AND pinned_at IS NULL;

-- Owners with candidates from before an instant that were not looked through on a day: ids only.
CREATE FUNCTION owners_due_decay(p_before timestamptz, p_day date, p_limit integer) RETURNS TABLE (tenant_id uuid, owner_id uuid)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp
AS $$
    SELECT m.tenant_id, m.owner_id FROM memories m
    WHERE m.status = 'candidate' AND m.memory_type <> 'summary' AND NOT m.is_compressed AND m.pinned_at IS NULL
        AND m.occurred_at < p_before AND NOT EXISTS (
            SELECT 1 FROM decay_days d WHERE d.tenant_id = m.tenant_id AND d.owner_id = m.owner_id AND d.decayed_on >= p_day)
    GROUP BY m.tenant_id, m.owner_id ORDER BY m.tenant_id, m.owner_id LIMIT p_limit
$$;
ALTER FUNCTION owners_due_decay(timestamptz, date, integer) OWNER TO sidecar_search;
REVOKE ALL ON FUNCTION owners_due_decay(timestamptz, date, integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION owners_due_decay(timestamptz, date, integer) TO sidecar_app, sidecar_worker;
