-- What was forgotten of late, so that a turn which had read it before keeps no text of it afterwards. No id stands here, only the
-- SHA-256 of an owner with an id; a row is needed for as long as a turn may be under way.
CREATE TABLE forgotten_refs (
    tenant_id uuid NOT NULL REFERENCES tenants,
    ref_hash bytea NOT NULL,
    forgotten_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, ref_hash)
);
CREATE INDEX forgotten_refs_by_time ON forgotten_refs (tenant_id, forgotten_at);

ALTER TABLE forgotten_refs ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON forgotten_refs USING (tenant_id = app_tenant());
GRANT SELECT, INSERT, UPDATE, DELETE ON forgotten_refs TO sidecar_app, sidecar_worker;

-- What was forgotten in a tenant since an instant. Until the transaction ends nothing more of this owner's is forgotten: who forgets
-- takes the same lock alone. Of each statement its own snapshot: what was committed while waiting is seen.
CREATE FUNCTION forgotten_since(p_tenant uuid, p_owner uuid, p_since timestamptz)
RETURNS TABLE (ref_hash bytea, forgotten_at timestamptz)
LANGUAGE plpgsql VOLATILE SET search_path = public, pg_temp
AS $$
BEGIN
    PERFORM pg_advisory_xact_lock_shared(hashtextextended('forgotten ' || p_tenant || p_owner, 0));
    RETURN QUERY SELECT f.ref_hash, f.forgotten_at FROM forgotten_refs f WHERE f.tenant_id = p_tenant AND f.forgotten_at >= p_since;
END
$$;
REVOKE ALL ON FUNCTION forgotten_since(uuid, uuid, timestamptz) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION forgotten_since(uuid, uuid, timestamptz) TO sidecar_app, sidecar_worker;

-- 'owed': a memory whose page went with its name. It is there, and has to be read again.
ALTER TABLE memory_ledger DROP CONSTRAINT memory_ledger_outcome_check;
ALTER TABLE memory_ledger ADD CONSTRAINT memory_ledger_outcome_check
    CHECK (outcome IN ('applied', 'filtered', 'quarantined', 'gone', 'owed'));
