-- Deletion of a tenant. Its owners after one, in the order of their ids: those with rows in a table that refers to the tenant itself.
-- Every other owner's row refers to one of these, so an owner who is not found has none.
CREATE FUNCTION owners_of_tenant(p_tenant uuid, p_after uuid, p_limit integer) RETURNS TABLE (owner_id uuid)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_temp
AS $$
BEGIN
    IF p_tenant IS DISTINCT FROM app_tenant() THEN RETURN; END IF;
    RETURN QUERY
    SELECT DISTINCT o.owner_id FROM (
        (SELECT t.owner_id FROM background_jobs t WHERE t.tenant_id = p_tenant AND t.owner_id > p_after ORDER BY t.owner_id LIMIT p_limit) UNION ALL
        (SELECT t.owner_id FROM brain_copies t WHERE t.tenant_id = p_tenant AND t.owner_id > p_after ORDER BY t.owner_id LIMIT p_limit) UNION ALL
        (SELECT t.owner_id FROM brain_cursors t WHERE t.tenant_id = p_tenant AND t.owner_id > p_after ORDER BY t.owner_id LIMIT p_limit) UNION ALL
        (SELECT t.owner_id FROM brain_withdrawals t WHERE t.tenant_id = p_tenant AND t.owner_id > p_after ORDER BY t.owner_id LIMIT p_limit) UNION ALL
        (SELECT t.owner_id FROM compile_accounts t WHERE t.tenant_id = p_tenant AND t.owner_id > p_after ORDER BY t.owner_id LIMIT p_limit) UNION ALL
        (SELECT t.owner_id FROM compile_batches t WHERE t.tenant_id = p_tenant AND t.owner_id > p_after ORDER BY t.owner_id LIMIT p_limit) UNION ALL
        (SELECT t.owner_id FROM decay_days t WHERE t.tenant_id = p_tenant AND t.owner_id > p_after ORDER BY t.owner_id LIMIT p_limit) UNION ALL
        (SELECT t.owner_id FROM decay_jobs t WHERE t.tenant_id = p_tenant AND t.owner_id > p_after ORDER BY t.owner_id LIMIT p_limit) UNION ALL
        (SELECT t.owner_id FROM memory_feeds t WHERE t.tenant_id = p_tenant AND t.owner_id > p_after ORDER BY t.owner_id LIMIT p_limit) UNION ALL
        (SELECT t.owner_id FROM memory_ledger t WHERE t.tenant_id = p_tenant AND t.owner_id > p_after ORDER BY t.owner_id LIMIT p_limit) UNION ALL
        (SELECT t.owner_id FROM model_answers t WHERE t.tenant_id = p_tenant AND t.owner_id > p_after ORDER BY t.owner_id LIMIT p_limit) UNION ALL
        (SELECT t.owner_id FROM owner_calibrations t WHERE t.tenant_id = p_tenant AND t.owner_id > p_after ORDER BY t.owner_id LIMIT p_limit) UNION ALL
        (SELECT t.owner_id FROM owner_storage t WHERE t.tenant_id = p_tenant AND t.owner_id > p_after ORDER BY t.owner_id LIMIT p_limit) UNION ALL
        (SELECT t.owner_id FROM places_to_embed t WHERE t.tenant_id = p_tenant AND t.owner_id > p_after ORDER BY t.owner_id LIMIT p_limit) UNION ALL
        (SELECT t.owner_id FROM receipt_texts t WHERE t.tenant_id = p_tenant AND t.owner_id > p_after ORDER BY t.owner_id LIMIT p_limit) UNION ALL
        (SELECT t.owner_id FROM receipts t WHERE t.tenant_id = p_tenant AND t.owner_id > p_after ORDER BY t.owner_id LIMIT p_limit) UNION ALL
        (SELECT t.owner_id FROM remote_forgettings t WHERE t.tenant_id = p_tenant AND t.owner_id > p_after ORDER BY t.owner_id LIMIT p_limit) UNION ALL
        (SELECT t.owner_id FROM threads t WHERE t.tenant_id = p_tenant AND t.owner_id > p_after ORDER BY t.owner_id LIMIT p_limit) UNION ALL
        (SELECT t.owner_id FROM turn_accounts t WHERE t.tenant_id = p_tenant AND t.owner_id > p_after ORDER BY t.owner_id LIMIT p_limit) UNION ALL
        (SELECT t.owner_id FROM webhook_subscriptions t WHERE t.tenant_id = p_tenant AND t.owner_id > p_after ORDER BY t.owner_id LIMIT p_limit) UNION ALL
        (SELECT t.owner_id FROM wiki_compile_cursors t WHERE t.tenant_id = p_tenant AND t.owner_id > p_after ORDER BY t.owner_id LIMIT p_limit) UNION ALL
        (SELECT t.owner_id FROM wiki_compile_jobs t WHERE t.tenant_id = p_tenant AND t.owner_id > p_after ORDER BY t.owner_id LIMIT p_limit) UNION ALL
        (SELECT t.owner_id FROM wiki_kept_ends t WHERE t.tenant_id = p_tenant AND t.owner_id > p_after ORDER BY t.owner_id LIMIT p_limit) UNION ALL
        (SELECT t.owner_id FROM wiki_kept_edges t WHERE t.tenant_id = p_tenant AND t.owner_id > p_after ORDER BY t.owner_id LIMIT p_limit) UNION ALL
        (SELECT t.owner_id FROM wiki_lints t WHERE t.tenant_id = p_tenant AND t.owner_id > p_after ORDER BY t.owner_id LIMIT p_limit) UNION ALL
        (SELECT t.owner_id FROM wiki_pages t WHERE t.tenant_id = p_tenant AND t.owner_id > p_after ORDER BY t.owner_id LIMIT p_limit) UNION ALL
        (SELECT t.owner_id FROM wiki_rulings t WHERE t.tenant_id = p_tenant AND t.owner_id > p_after ORDER BY t.owner_id LIMIT p_limit) UNION ALL
        (SELECT t.owner_id FROM wiki_unresolved_mentions t WHERE t.tenant_id = p_tenant AND t.owner_id > p_after ORDER BY t.owner_id LIMIT p_limit)
    ) o ORDER BY o.owner_id LIMIT p_limit;
END
$$;

ALTER FUNCTION owners_of_tenant(uuid, uuid, integer) OWNER TO sidecar_search;
REVOKE ALL ON FUNCTION owners_of_tenant(uuid, uuid, integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION owners_of_tenant(uuid, uuid, integer) TO sidecar_app, sidecar_worker;
GRANT SELECT (tenant_id, owner_id) ON background_jobs, brain_copies, brain_cursors, brain_withdrawals, compile_accounts, compile_batches,
    decay_days, decay_jobs, memory_feeds, memory_ledger, model_answers, owner_calibrations, owner_storage,
    places_to_embed, receipt_texts, receipts, remote_forgettings, threads, turn_accounts, webhook_subscriptions,
    wiki_compile_cursors, wiki_compile_jobs, wiki_kept_ends, wiki_kept_edges, wiki_lints, wiki_pages,
    wiki_rulings, wiki_unresolved_mentions TO sidecar_search;

-- Versions and the rows in them are never changed; only the deletion of their tenant deletes them.
GRANT DELETE ON agents, spaces, profiles, ontology_versions, ontology_entity_types, ontology_relationship_types,
    ontology_facet_templates, ontology_external_mappings TO sidecar_app;
