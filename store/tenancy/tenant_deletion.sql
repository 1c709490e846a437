-- name: owners_of_tenant
-- Owners of a tenant with rows, after one, in the order of their ids.
SELECT owner_id FROM owners_of_tenant(:tenant_id::uuid, :after::uuid, :limit::int);

-- name: lock_tenant$
-- Locks the tenant until the transaction ends: no other one can write a row that refers to it, and those that did have ended.
SELECT tenant_id FROM tenants WHERE tenant_id = :tenant_id FOR UPDATE;

-- name: reset_tenant!
-- Resets the tenant to a new one's settings. The time before which its tokens are refused stays.
UPDATE tenants SET wiki_compile_enabled = DEFAULT, wiki_aggregation_pass_enabled = DEFAULT,
    wiki_deterministic_linking_enabled = DEFAULT, wiki_unread_pause_s = DEFAULT
WHERE tenant_id = :tenant_id;

-- name: delete_brain_rules!
-- Deletes a tenant's rows.
DELETE FROM brain_rules WHERE tenant_id = :tenant_id;

-- name: delete_brain_settings!
-- Deletes a tenant's rows.
DELETE FROM brain_settings WHERE tenant_id = :tenant_id;

-- name: delete_backend_switches!
-- Deletes a tenant's rows.
DELETE FROM backend_switches WHERE tenant_id = :tenant_id;

-- name: delete_tool_approvals!
-- Deletes a tenant's rows.
DELETE FROM tool_approvals WHERE tenant_id = :tenant_id;

-- name: delete_cost_alerts!
-- Deletes a tenant's rows.
DELETE FROM cost_alerts WHERE tenant_id = :tenant_id;

-- name: delete_cost_budgets!
-- Deletes a tenant's rows.
DELETE FROM cost_budgets WHERE tenant_id = :tenant_id;

-- name: delete_compile_spend!
-- Deletes a tenant's rows.
DELETE FROM compile_spend WHERE tenant_id = :tenant_id;

-- name: delete_decay_attestations!
-- Deletes a tenant's rows.
DELETE FROM decay_attestations WHERE tenant_id = :tenant_id;

-- name: delete_model_calibrations!
-- Deletes a tenant's rows.
DELETE FROM model_calibrations WHERE tenant_id = :tenant_id;

-- name: delete_knowledge_assignments!
-- Deletes a tenant's rows.
DELETE FROM knowledge_assignments WHERE tenant_id = :tenant_id;

-- name: delete_bases_to_embed!
-- Deletes a tenant's rows.
DELETE FROM bases_to_embed WHERE tenant_id = :tenant_id;

-- name: delete_knowledge_bases!
-- Deletes a tenant's rows.
DELETE FROM knowledge_bases WHERE tenant_id = :tenant_id;

-- name: delete_ontology_rejections!
-- Deletes a tenant's rows.
DELETE FROM ontology_rejections WHERE tenant_id = :tenant_id;

-- name: delete_ontology_reprocess_jobs!
-- Deletes a tenant's rows.
DELETE FROM ontology_reprocess_jobs WHERE tenant_id = :tenant_id;

-- name: delete_ontology_external_mappings!
-- Deletes a tenant's rows.
DELETE FROM ontology_external_mappings WHERE tenant_id = :tenant_id;

-- name: delete_ontology_facet_templates!
-- Deletes a tenant's rows.
DELETE FROM ontology_facet_templates WHERE tenant_id = :tenant_id;

-- name: delete_ontology_relationship_types!
-- Deletes a tenant's rows.
DELETE FROM ontology_relationship_types WHERE tenant_id = :tenant_id;

-- name: delete_ontology_entity_types!
-- Deletes a tenant's rows.
DELETE FROM ontology_entity_types WHERE tenant_id = :tenant_id;

-- name: delete_ontology_versions!
-- Deletes a tenant's rows.
DELETE FROM ontology_versions WHERE tenant_id = :tenant_id;

-- name: delete_ontology_change_sets!
-- Deletes a tenant's rows.
DELETE FROM ontology_change_sets WHERE tenant_id = :tenant_id;

-- name: delete_profiles!
-- Deletes a tenant's rows.
DELETE FROM profiles WHERE tenant_id = :tenant_id;

-- name: delete_workspaces!
-- Deletes a tenant's rows.
DELETE FROM workspaces WHERE tenant_id = :tenant_id;

-- name: delete_agents!
-- Deletes a tenant's rows.
DELETE FROM agents WHERE tenant_id = :tenant_id;

-- name: delete_spaces!
-- Deletes a tenant's rows.
DELETE FROM spaces WHERE tenant_id = :tenant_id;

-- name: delete_compile_served!
-- Deletes a tenant's rows.
DELETE FROM compile_served WHERE tenant_id = :tenant_id;

-- name: delete_documents!
-- Deletes some of a tenant's rows, with their chunks.
DELETE FROM documents WHERE tenant_id = :tenant_id AND document_id = ANY(ARRAY(
    SELECT document_id FROM documents WHERE tenant_id = :tenant_id ORDER BY document_id LIMIT :limit::int));

-- name: delete_audit_entries!
-- Deletes some of a tenant's rows.
DELETE FROM audit_entries WHERE tenant_id = :tenant_id AND entry_id = ANY(ARRAY(
    SELECT entry_id FROM audit_entries WHERE tenant_id = :tenant_id ORDER BY entry_id LIMIT :limit::int));

-- name: delete_forgotten_refs!
-- Deletes some of a tenant's notes that are older than an instant.
DELETE FROM forgotten_refs WHERE tenant_id = :tenant_id AND ref_hash = ANY(ARRAY(
    SELECT ref_hash FROM forgotten_refs WHERE tenant_id = :tenant_id AND forgotten_at < :before::timestamptz
    ORDER BY ref_hash LIMIT :limit::int));

-- name: date_notes_of_tenant!
-- Dates the tenant's undated notes, of forgettings that ended before they could date them.
UPDATE forgotten_refs SET forgotten_at = :now, dated_by = NULL
WHERE tenant_id = :tenant_id AND forgotten_at >= '9999-12-01 00:00:00+00';
