-- name: lock_ontology^
-- Locks a tenant's ontology against other writers until the transaction ends. Rows that reference the tenant can still be written.
SELECT tenant_id FROM tenants WHERE tenant_id = :tenant_id FOR NO KEY UPDATE;

-- name: newest_version$
-- The number of the version in force.
SELECT max(version) FROM ontology_versions WHERE tenant_id = :tenant_id;

-- name: insert_version!
-- Writes a version, without its terms.
INSERT INTO ontology_versions (tenant_id, version, change_set_id, restores, author, created_at)
VALUES (:tenant_id, :version, :change_set_id, :restores, :author, :now);

-- name: list_versions
-- A page of the versions below a number, newest first.
SELECT version, change_set_id, restores, author, created_at FROM ontology_versions
WHERE tenant_id = :tenant_id AND version < :before ORDER BY version DESC LIMIT :limit;

-- name: get_version^
-- One version, or no row.
SELECT version, change_set_id, restores, author, created_at FROM ontology_versions
WHERE tenant_id = :tenant_id AND version = :version;

-- name: terms_of_version^
-- A version with its terms, each kind as an array of JSON; the newest version if none is named.
SELECT v.version,
    (SELECT coalesce(jsonb_agg(to_jsonb(t) - 'tenant_id' - 'version'), '[]') FROM ontology_entity_types t
        WHERE t.tenant_id = :tenant_id AND t.version = v.version) AS entity_types,
    (SELECT coalesce(jsonb_agg(to_jsonb(t) - 'tenant_id' - 'version'), '[]') FROM ontology_relationship_types t
        WHERE t.tenant_id = :tenant_id AND t.version = v.version) AS relationship_types,
    (SELECT coalesce(jsonb_agg(to_jsonb(t) - 'tenant_id' - 'version'), '[]') FROM ontology_facet_templates t
        WHERE t.tenant_id = :tenant_id AND t.version = v.version) AS facet_templates,
    (SELECT coalesce(jsonb_agg(to_jsonb(t) - 'tenant_id' - 'version'), '[]') FROM ontology_external_mappings t
        WHERE t.tenant_id = :tenant_id AND t.version = v.version) AS mappings
FROM ontology_versions v WHERE v.tenant_id = :tenant_id AND (:version::int IS NULL OR v.version = :version)
ORDER BY v.version DESC LIMIT 1;

-- name: insert_entity_types*!
-- Writes a version's entity types.
INSERT INTO ontology_entity_types (tenant_id, version, slug, name, description, broad_type, aliases, lifecycle)
VALUES (:tenant_id, :version, :slug, :name, :description, :broad_type, :aliases, :lifecycle);

-- name: insert_relationship_types*!
-- Writes a version's relationship types.
INSERT INTO ontology_relationship_types (tenant_id, version, slug, name, inverse, source_types, target_types, cardinality, aliases,
    lifecycle)
VALUES (:tenant_id, :version, :slug, :name, :inverse, :source_types, :target_types, :cardinality, :aliases, :lifecycle);

-- name: insert_facet_templates*!
-- Writes a version's facet templates.
INSERT INTO ontology_facet_templates (tenant_id, version, entity_type, slug, heading, position, prompt, guidance, lifecycle)
VALUES (:tenant_id, :version, :entity_type, :slug, :heading, :position, :prompt, :guidance, :lifecycle);

-- name: insert_mappings*!
-- Writes a version's external mappings.
INSERT INTO ontology_external_mappings (tenant_id, version, subject_kind, subject, kind, vocabulary, uri, label)
VALUES (:tenant_id, :version, :subject_kind, :subject, :kind, :vocabulary, :uri, :label);

-- name: owners_with_wikis
-- The owners of a tenant that have a wiki, after one of them if it is named.
SELECT owner_id FROM tenants AS t CROSS JOIN owners_with_wikis(:tenant_id, :after, :limit)
WHERE t.tenant_id = :tenant_id;
