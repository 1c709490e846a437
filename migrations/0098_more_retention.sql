-- What background work leaves is written in the order of time, so that a small index of blocks finds the old rows.
CREATE INDEX compile_batches_by_age ON compile_batches USING brin (planned_at) WITH (autosummarize = on);
CREATE INDEX model_answers_by_age ON model_answers USING brin (created_at) WITH (autosummarize = on);
CREATE INDEX wiki_compile_jobs_by_age ON wiki_compile_jobs USING brin (created_at) WITH (autosummarize = on);
CREATE INDEX background_jobs_by_age ON background_jobs USING brin (created_at) WITH (autosummarize = on);
CREATE INDEX decay_jobs_by_age ON decay_jobs USING brin (created_at) WITH (autosummarize = on);
GRANT SELECT (tenant_id, owner_id, batch_seq, kind, status, options, items, planned_at) ON compile_batches TO sidecar_search;
GRANT SELECT (tenant_id, owner_id, created_at) ON model_answers TO sidecar_search;
GRANT SELECT (tenant_id, owner_id, state, created_at, ended_at) ON decay_jobs TO sidecar_search;
GRANT SELECT (tenant_id, status, decided_at) ON ontology_change_sets TO sidecar_search;
GRANT SELECT (tenant_id, status, created_at, finished_at) ON ontology_reprocess_jobs TO sidecar_search;
GRANT SELECT (tenant_id, day) ON compile_spend TO sidecar_search;
GRANT SELECT (tenant_id, raised_at) ON cost_alerts TO sidecar_search;

-- Owners after a given one with rows that are deleted by their age, each kind by its own instant: ids, never content, in the order
-- of the ids. Null keeps a kind for good. Of the compile's log go the batches that no later compile needs: those before an old
-- aggregation of all changed pages, or before the wiki's last 2,000; what an operator did stays, since it says which pages are the
-- operator's. Of jobs an owner's newest stays. The release before this one asks `owners_with_old_rows`.
CREATE FUNCTION owners_to_prune(
    p_receipts timestamptz, p_accounts timestamptz, p_log timestamptz, p_jobs timestamptz, p_after_tenant uuid, p_after_owner uuid,
    p_limit integer)
RETURNS TABLE (tenant_id uuid, owner_id uuid)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp
AS $$
    SELECT o.tenant_id, o.owner_id FROM (
        SELECT r.tenant_id, r.owner_id FROM receipts r WHERE r.created_at < p_receipts
        UNION SELECT a.tenant_id, a.owner_id FROM turn_accounts a WHERE a.created_at < p_accounts
        UNION SELECT a.tenant_id, a.owner_id FROM compile_accounts a
            WHERE a.day < to_char(p_accounts AT TIME ZONE 'UTC', 'YYYY-MM-DD')
        UNION SELECT m.tenant_id, m.owner_id FROM model_answers m WHERE m.created_at < p_log
        UNION SELECT b.tenant_id, b.owner_id FROM compile_batches b
            JOIN wiki_compile_cursors c ON c.tenant_id = b.tenant_id AND c.owner_id = b.owner_id
            WHERE b.planned_at < p_log AND b.status = 'applied' AND (b.kind <> 'operator' OR b.items IS NULL)
                AND (b.batch_seq < c.batch_seq - 2000 OR EXISTS (
                    SELECT 1 FROM compile_batches l WHERE l.tenant_id = b.tenant_id AND l.owner_id = b.owner_id
                        AND l.batch_seq > b.batch_seq AND l.planned_at < p_log AND l.kind = 'aggregation' AND l.status = 'applied'
                        AND NOT l.options ?| ARRAY['links', 'taken', 'reached']))
        UNION SELECT j.tenant_id, j.owner_id FROM wiki_compile_jobs j
            WHERE j.created_at < p_jobs AND j.finished_at < p_jobs AND EXISTS (
                SELECT 1 FROM wiki_compile_jobs l
                WHERE l.tenant_id = j.tenant_id AND l.owner_id = j.owner_id AND l.created_at > j.created_at)
        UNION SELECT g.tenant_id, g.owner_id FROM background_jobs g
            WHERE g.created_at < p_jobs AND g.status IN ('succeeded', 'failed') AND coalesce(g.finished_at, g.not_before) < p_jobs
        UNION SELECT d.tenant_id, d.owner_id FROM decay_jobs d WHERE d.created_at < p_jobs AND d.ended_at < p_jobs) o
    WHERE (o.tenant_id, o.owner_id) > (p_after_tenant, p_after_owner) ORDER BY 1, 2 LIMIT p_limit
$$;

-- The same for the rows that belong to a tenant.
CREATE FUNCTION tenants_to_prune(p_accounts timestamptz, p_jobs timestamptz, p_after_tenant uuid, p_limit integer)
RETURNS TABLE (tenant_id uuid)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp
AS $$
    SELECT t.tenant_id FROM (
        SELECT s.tenant_id FROM compile_spend s WHERE s.day < to_char(p_accounts AT TIME ZONE 'UTC', 'YYYY-MM-DD')
        UNION SELECT a.tenant_id FROM cost_alerts a WHERE a.raised_at < p_accounts
        UNION SELECT c.tenant_id FROM ontology_change_sets c WHERE c.status = 'rejected' AND c.decided_at < p_jobs
        UNION SELECT j.tenant_id FROM ontology_reprocess_jobs j
            WHERE j.finished_at < p_jobs AND EXISTS (
                SELECT 1 FROM ontology_reprocess_jobs l WHERE l.tenant_id = j.tenant_id AND l.created_at > j.created_at)) t
    WHERE t.tenant_id > p_after_tenant ORDER BY 1 LIMIT p_limit
$$;
ALTER FUNCTION owners_to_prune(timestamptz, timestamptz, timestamptz, timestamptz, uuid, uuid, integer) OWNER TO sidecar_search;
ALTER FUNCTION tenants_to_prune(timestamptz, timestamptz, uuid, integer) OWNER TO sidecar_search;
REVOKE ALL ON FUNCTION owners_to_prune(timestamptz, timestamptz, timestamptz, timestamptz, uuid, uuid, integer),
    tenants_to_prune(timestamptz, timestamptz, uuid, integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION owners_to_prune(timestamptz, timestamptz, timestamptz, timestamptz, uuid, uuid, integer),
    tenants_to_prune(timestamptz, timestamptz, uuid, integer) TO sidecar_app, sidecar_worker;
