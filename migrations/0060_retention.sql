-- Rows of a turn are written in the order of time, so that a small index of blocks finds the old ones.
CREATE INDEX receipts_by_age ON receipts USING brin (created_at) WITH (autosummarize = on);
CREATE INDEX turn_accounts_by_age ON turn_accounts USING brin (created_at) WITH (autosummarize = on);
GRANT SELECT ON receipts, turn_accounts TO sidecar_search;

-- Which owners have rows from before the given instants, each kind by its own: ids, never content. Null keeps a kind for good.
CREATE FUNCTION owners_with_old_rows(p_receipts timestamptz, p_accounts timestamptz, p_limit integer)
RETURNS TABLE (tenant_id uuid, owner_id uuid)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp
AS $$
    SELECT r.tenant_id, r.owner_id FROM receipts r WHERE r.created_at < p_receipts
    UNION SELECT a.tenant_id, a.owner_id FROM turn_accounts a WHERE a.created_at < p_accounts
    LIMIT p_limit
$$;
ALTER FUNCTION owners_with_old_rows(timestamptz, timestamptz, integer) OWNER TO sidecar_search;
REVOKE ALL ON FUNCTION owners_with_old_rows(timestamptz, timestamptz, integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION owners_with_old_rows(timestamptz, timestamptz, integer) TO sidecar_app, sidecar_worker;
