-- Which process dated a note of something forgotten: by its own clock it can tell exactly which of its turns are older.
ALTER TABLE forgotten_refs ADD COLUMN dated_by uuid;
DROP FUNCTION forgotten_since(uuid, uuid, timestamptz);
CREATE FUNCTION forgotten_since(p_tenant uuid, p_owner uuid, p_since timestamptz)
RETURNS TABLE (ref_hash bytea, forgotten_at timestamptz, dated_by uuid)
LANGUAGE plpgsql VOLATILE SET search_path = public, pg_temp
AS $$
BEGIN
    PERFORM pg_advisory_xact_lock_shared(hashtextextended('forgotten ' || p_tenant || p_owner, 0));
    RETURN QUERY SELECT f.ref_hash, f.forgotten_at, f.dated_by FROM forgotten_refs f
        WHERE f.tenant_id = p_tenant AND f.forgotten_at >= p_since;
END
$$;
REVOKE ALL ON FUNCTION forgotten_since(uuid, uuid, timestamptz) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION forgotten_since(uuid, uuid, timestamptz) TO sidecar_app, sidecar_worker;

-- What one owner's usage reports taught about a model. model_calibrations, learned from a whole tenant's reports, is read and written
-- by the release before this one alone.
CREATE TABLE owner_calibrations (
    tenant_id uuid NOT NULL REFERENCES tenants,
    owner_id uuid NOT NULL,
    model_id text NOT NULL,
    ratio double precision NOT NULL,
    error double precision NOT NULL,
    report_count bigint NOT NULL,
    ignored_count bigint NOT NULL,
    updated_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, owner_id, model_id)
);
CREATE INDEX owner_calibrations_by_model ON owner_calibrations (tenant_id, model_id);

ALTER TABLE owner_calibrations ENABLE ROW LEVEL SECURITY;
CREATE POLICY owner ON owner_calibrations USING (tenant_id = app_tenant() AND owner_id = app_owner());
GRANT SELECT, INSERT, UPDATE, DELETE ON owner_calibrations TO sidecar_app, sidecar_worker;
GRANT SELECT ON owner_calibrations TO sidecar_search;

-- What a tenant's turns count with, model by model: the median over its owners once three or more have reported often enough to be
-- trusted, with no owner's id; until then a row for each such owner. Numbers, no texts.
CREATE FUNCTION calibrations_in_force(p_tenant uuid, p_trusted_after bigint)
RETURNS TABLE (model_id text, owner_id uuid, ratio double precision, error double precision, report_count bigint, ignored_count bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_temp
AS $$
BEGIN
    IF p_tenant IS DISTINCT FROM app_tenant() THEN RETURN; END IF;
    RETURN QUERY
    WITH trusted AS (
        SELECT c.*, count(*) OVER (PARTITION BY c.model_id) AS owner_count FROM owner_calibrations c
        WHERE c.tenant_id = p_tenant AND c.report_count >= p_trusted_after
    )
    SELECT t.model_id, NULL::uuid, percentile_cont(0.5) WITHIN GROUP (ORDER BY t.ratio),
        percentile_cont(0.5) WITHIN GROUP (ORDER BY t.error), sum(t.report_count)::bigint, sum(t.ignored_count)::bigint
    FROM trusted t WHERE t.owner_count >= 3 GROUP BY t.model_id
    UNION ALL
    SELECT t.model_id, t.owner_id, t.ratio, t.error, t.report_count, t.ignored_count FROM trusted t WHERE t.owner_count < 3;
END
$$;
ALTER FUNCTION calibrations_in_force(uuid, bigint) OWNER TO sidecar_search;
REVOKE ALL ON FUNCTION calibrations_in_force(uuid, bigint) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION calibrations_in_force(uuid, bigint) TO sidecar_app, sidecar_worker;
