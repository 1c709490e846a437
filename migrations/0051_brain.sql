-- The Brain: what a tenant shares. Its pages and memories stand under an owner of its own in the tables of every owner's.
-- One row of settings per tenant that has ever had a rule. `rules_version` rises with each change of an approved rule.
CREATE TABLE brain_settings (
    tenant_id uuid PRIMARY KEY REFERENCES tenants,
    is_shown boolean NOT NULL,
    rules_version bigint NOT NULL
);

-- Which memories are released to the Brain. `trust_tier` raises what the rule releases, for the `reason`; 0 raises nothing.
CREATE TABLE brain_rules (
    tenant_id uuid NOT NULL REFERENCES tenants,
    rule_id uuid NOT NULL,
    name text NOT NULL,
    tags text[] NOT NULL,
    memory_types text[] NOT NULL,
    metadata jsonb NOT NULL,
    least_authority text NOT NULL,
    trust_tier integer NOT NULL CHECK (trust_tier BETWEEN 0 AND 5),
    reason text NOT NULL,
    state text NOT NULL CHECK (state IN ('proposed', 'approved', 'withdrawn')),
    proposed_by text NOT NULL,
    proposed_at timestamptz NOT NULL,
    approved_by text NOT NULL,
    approved_at timestamptz,
    withdrawn_by text NOT NULL,
    withdrawn_at timestamptz,
    PRIMARY KEY (tenant_id, rule_id),
    CHECK (trust_tier = 0 OR reason <> '')
);

-- What was released, under the Brain's owner: the copy's id and the memory it was made from. A held one has no copy, because it
-- contradicts `held_by`, which is trusted more; a withdrawn one has none because an admin took it back. The row goes with its memory.
CREATE TABLE brain_copies (
    tenant_id uuid NOT NULL REFERENCES tenants,
    owner_id uuid NOT NULL,
    copy_id text NOT NULL,
    origin_owner_id uuid NOT NULL,
    origin_memory_id text NOT NULL,
    fingerprint bytea NOT NULL,
    rule_id uuid NOT NULL,
    trust_tier integer NOT NULL CHECK (trust_tier BETWEEN 1 AND 5),
    state text NOT NULL CHECK (state IN ('released', 'held', 'withdrawn')),
    held_by text NOT NULL,
    reason text NOT NULL,
    changed_by text NOT NULL,
    changed_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, owner_id, copy_id),
    UNIQUE (tenant_id, owner_id, origin_owner_id, origin_memory_id)
);
CREATE INDEX brain_copies_held ON brain_copies (tenant_id, owner_id, held_by) WHERE state = 'held';
CREATE INDEX brain_copies_by_state ON brain_copies (tenant_id, owner_id, state, copy_id);
CREATE INDEX brain_copies_by_rule ON brain_copies (tenant_id, owner_id, rule_id);

-- How far an owner's memories were compared with the rules, and with which version of them.
CREATE TABLE brain_cursors (
    tenant_id uuid NOT NULL REFERENCES tenants,
    owner_id uuid NOT NULL,
    rules_version bigint NOT NULL,
    change_seq bigint NOT NULL,
    PRIMARY KEY (tenant_id, owner_id)
);

ALTER TABLE brain_settings ENABLE ROW LEVEL SECURITY;
ALTER TABLE brain_rules ENABLE ROW LEVEL SECURITY;
ALTER TABLE brain_copies ENABLE ROW LEVEL SECURITY;
ALTER TABLE brain_cursors ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON brain_settings USING (tenant_id = app_tenant());
CREATE POLICY tenant ON brain_rules USING (tenant_id = app_tenant());
CREATE POLICY owner ON brain_copies USING (tenant_id = app_tenant() AND owner_id = app_owner());
CREATE POLICY owner ON brain_cursors USING (tenant_id = app_tenant() AND owner_id = app_owner());
GRANT SELECT, INSERT, UPDATE, DELETE ON brain_settings, brain_rules, brain_copies, brain_cursors TO sidecar_app, sidecar_worker;

-- The owners of a tenant that have memories. Ids only.
CREATE FUNCTION owners_with_memories(p_tenant uuid) RETURNS TABLE (owner_id uuid)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_temp
AS $$
BEGIN
    IF p_tenant IS DISTINCT FROM app_tenant() THEN RETURN; END IF;
    RETURN QUERY SELECT f.owner_id FROM memory_feeds f WHERE f.tenant_id = p_tenant ORDER BY 1;
END
$$;
ALTER FUNCTION owners_with_memories(uuid) OWNER TO sidecar_search;
REVOKE ALL ON FUNCTION owners_with_memories(uuid) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION owners_with_memories(uuid) TO sidecar_app, sidecar_worker;
