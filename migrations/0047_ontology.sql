-- A tenant's ontology. A version's rows are never changed: the newest version is in force, and a rollback writes an older version's
-- rows again under the next number. What is proposed stands in the items of an open change set only.
CREATE TABLE ontology_change_sets (
    tenant_id uuid NOT NULL REFERENCES tenants,
    change_set_id uuid NOT NULL,
    origin text NOT NULL CHECK (origin IN ('operator', 'scan', 'seed', 'import')),
    title text NOT NULL,
    status text NOT NULL CHECK (status IN ('open', 'approved', 'rejected')),
    revision integer NOT NULL CHECK (revision > 0),
    drafted_by text NOT NULL,
    drafted_at timestamptz NOT NULL,
    decided_by text NOT NULL,
    decided_at timestamptz,
    applied_version integer,
    PRIMARY KEY (tenant_id, change_set_id),
    CHECK ((status = 'open') = (decided_at IS NULL)),
    CHECK ((status = 'approved') = (applied_version IS NOT NULL))
);
CREATE INDEX ontology_change_sets_by_time ON ontology_change_sets (tenant_id, drafted_at DESC, change_set_id);
CREATE INDEX ontology_change_sets_by_status ON ontology_change_sets (tenant_id, status, drafted_at DESC, change_set_id);
CREATE UNIQUE INDEX ontology_change_sets_of_scan ON ontology_change_sets (tenant_id) WHERE status = 'open' AND origin = 'scan';

-- `restores` is the version whose content a rollback wrote again.
CREATE TABLE ontology_versions (
    tenant_id uuid NOT NULL REFERENCES tenants,
    version integer NOT NULL CHECK (version > 0),
    change_set_id uuid,
    restores integer CHECK (restores < version),
    author text NOT NULL,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, version),
    FOREIGN KEY (tenant_id, change_set_id) REFERENCES ontology_change_sets,
    FOREIGN KEY (tenant_id, restores) REFERENCES ontology_versions (tenant_id, version)
);

CREATE TABLE ontology_entity_types (
    tenant_id uuid NOT NULL,
    version integer NOT NULL,
    slug text NOT NULL CHECK (slug ~ '^[a-z][a-z0-9_]{0,63}$'),
    name text NOT NULL,
    description text NOT NULL,
    broad_type text NOT NULL,
    aliases text[] NOT NULL,
    lifecycle text NOT NULL CHECK (lifecycle IN ('approved', 'deprecated')),
    PRIMARY KEY (tenant_id, version, slug),
    FOREIGN KEY (tenant_id, version) REFERENCES ontology_versions
);

CREATE TABLE ontology_relationship_types (
    tenant_id uuid NOT NULL,
    version integer NOT NULL,
    slug text NOT NULL CHECK (slug ~ '^[a-z][a-z0-9_]{0,63}$'),
    name text NOT NULL,
    inverse text NOT NULL,
    source_types text[] NOT NULL,
    target_types text[] NOT NULL,
    cardinality text NOT NULL CHECK (cardinality IN ('many_to_many', 'many_to_one', 'one_to_many', 'one_to_one')),
    aliases text[] NOT NULL,
    lifecycle text NOT NULL CHECK (lifecycle IN ('approved', 'deprecated')),
    PRIMARY KEY (tenant_id, version, slug),
    FOREIGN KEY (tenant_id, version) REFERENCES ontology_versions
);

CREATE TABLE ontology_facet_templates (
    tenant_id uuid NOT NULL,
    version integer NOT NULL,
    entity_type text NOT NULL,
    slug text NOT NULL CHECK (slug ~ '^[a-z][a-z0-9_]{0,63}$'),
    heading text NOT NULL,
    position integer NOT NULL,
    prompt text NOT NULL,
    guidance text NOT NULL,
    lifecycle text NOT NULL CHECK (lifecycle IN ('approved', 'deprecated')),
    PRIMARY KEY (tenant_id, version, entity_type, slug),
    FOREIGN KEY (tenant_id, version, entity_type) REFERENCES ontology_entity_types (tenant_id, version, slug)
);

-- `subject` is a type's slug, or a template's entity type and slug with a slash between them.
CREATE TABLE ontology_external_mappings (
    tenant_id uuid NOT NULL,
    version integer NOT NULL,
    subject_kind text NOT NULL CHECK (subject_kind IN ('entity_type', 'relationship_type', 'facet_template')),
    subject text NOT NULL,
    kind text NOT NULL CHECK (kind IN ('exact', 'close', 'broad', 'narrow', 'related')),
    vocabulary text NOT NULL,
    uri text NOT NULL,
    label text NOT NULL,
    PRIMARY KEY (tenant_id, version, subject_kind, subject, uri),
    FOREIGN KEY (tenant_id, version) REFERENCES ontology_versions
);

-- `before` is the digest of what the item changes as it was when the item was drafted, empty for what did not exist. `edited` is an
-- operator's version of `proposed`, which no scan overwrites.
CREATE TABLE ontology_change_set_items (
    tenant_id uuid NOT NULL,
    change_set_id uuid NOT NULL,
    item_id uuid NOT NULL,
    position integer NOT NULL,
    subject_kind text NOT NULL CHECK (subject_kind IN ('entity_type', 'relationship_type', 'facet_template', 'external_mapping')),
    action text NOT NULL CHECK (action IN ('create', 'update', 'deprecate', 'remove')),
    proposed jsonb NOT NULL,
    edited jsonb,
    decision text NOT NULL CHECK (decision IN ('pending', 'accepted', 'rejected')),
    decided_by text NOT NULL,
    edited_by text NOT NULL,
    origin text NOT NULL CHECK (origin IN ('operator', 'scan', 'seed', 'import')),
    fingerprint text NOT NULL,
    before text NOT NULL,
    rationale text NOT NULL,
    confidence real NOT NULL CHECK (confidence BETWEEN 0 AND 1),
    frequency integer NOT NULL,
    PRIMARY KEY (tenant_id, item_id),
    UNIQUE (tenant_id, change_set_id, position),
    UNIQUE (tenant_id, change_set_id, fingerprint),
    FOREIGN KEY (tenant_id, change_set_id) REFERENCES ontology_change_sets ON DELETE CASCADE
);

-- The sentences of an owner's memories that an item rests on. They are the owner's, and go with the memory.
CREATE TABLE ontology_evidence_examples (
    tenant_id uuid NOT NULL,
    owner_id uuid NOT NULL,
    item_id uuid NOT NULL,
    position integer NOT NULL CHECK (position BETWEEN 1 AND 5),
    memory_id text NOT NULL,
    source_kind text NOT NULL CHECK (source_kind IN ('page', 'mention', 'edge', 'memory')),
    label text NOT NULL,
    quote text NOT NULL CHECK (length(quote) <= 280),
    observed_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, item_id, position),
    FOREIGN KEY (tenant_id, item_id) REFERENCES ontology_change_set_items ON DELETE CASCADE
);
CREATE INDEX ontology_evidence_examples_by_memory ON ontology_evidence_examples (tenant_id, owner_id, memory_id);

-- What was rejected, by hash: it is not proposed again.
CREATE TABLE ontology_rejections (
    tenant_id uuid NOT NULL REFERENCES tenants,
    fingerprint text NOT NULL,
    rejected_by text NOT NULL,
    rejected_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, fingerprint)
);

-- The work of bringing pages to a version, in parts: `continuation` is where the next part begins. A worker holds a job for a
-- while; the fence counts the claims and shuts out a worker that lost it.
CREATE TABLE ontology_reprocess_jobs (
    tenant_id uuid NOT NULL REFERENCES tenants,
    job_id uuid NOT NULL,
    dedupe_key text NOT NULL,
    change_set_id uuid,
    from_version integer NOT NULL,
    to_version integer NOT NULL,
    status text NOT NULL CHECK (status IN ('pending', 'running', 'succeeded', 'failed', 'cancelled')),
    attempt integer NOT NULL,
    lease_holder text NOT NULL,
    lease_until timestamptz,
    fence bigint NOT NULL,
    continuation jsonb NOT NULL,
    continuation_offset bigint NOT NULL,
    input jsonb NOT NULL,
    impact jsonb NOT NULL,
    metrics jsonb NOT NULL,
    error text NOT NULL,
    created_at timestamptz NOT NULL,
    not_before timestamptz NOT NULL,
    claimed_at timestamptz,
    finished_at timestamptz,
    PRIMARY KEY (tenant_id, job_id),
    UNIQUE (tenant_id, dedupe_key)
);
CREATE INDEX ontology_reprocess_jobs_by_time ON ontology_reprocess_jobs (tenant_id, created_at DESC, job_id);
CREATE INDEX ontology_reprocess_jobs_due ON ontology_reprocess_jobs (tenant_id, not_before, created_at, job_id)
    WHERE status IN ('pending', 'running');

ALTER TABLE ontology_change_sets ENABLE ROW LEVEL SECURITY;
ALTER TABLE ontology_versions ENABLE ROW LEVEL SECURITY;
ALTER TABLE ontology_entity_types ENABLE ROW LEVEL SECURITY;
ALTER TABLE ontology_relationship_types ENABLE ROW LEVEL SECURITY;
ALTER TABLE ontology_facet_templates ENABLE ROW LEVEL SECURITY;
ALTER TABLE ontology_external_mappings ENABLE ROW LEVEL SECURITY;
ALTER TABLE ontology_change_set_items ENABLE ROW LEVEL SECURITY;
ALTER TABLE ontology_evidence_examples ENABLE ROW LEVEL SECURITY;
ALTER TABLE ontology_rejections ENABLE ROW LEVEL SECURITY;
ALTER TABLE ontology_reprocess_jobs ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON ontology_change_sets USING (tenant_id = app_tenant());
CREATE POLICY tenant ON ontology_versions USING (tenant_id = app_tenant());
CREATE POLICY tenant ON ontology_entity_types USING (tenant_id = app_tenant());
CREATE POLICY tenant ON ontology_relationship_types USING (tenant_id = app_tenant());
CREATE POLICY tenant ON ontology_facet_templates USING (tenant_id = app_tenant());
CREATE POLICY tenant ON ontology_external_mappings USING (tenant_id = app_tenant());
CREATE POLICY tenant ON ontology_change_set_items USING (tenant_id = app_tenant());
CREATE POLICY owner ON ontology_evidence_examples USING (tenant_id = app_tenant() AND owner_id = app_owner());
CREATE POLICY tenant ON ontology_rejections USING (tenant_id = app_tenant());
CREATE POLICY tenant ON ontology_reprocess_jobs USING (tenant_id = app_tenant());
GRANT SELECT, INSERT ON ontology_versions, ontology_entity_types, ontology_relationship_types, ontology_facet_templates,
    ontology_external_mappings TO sidecar_app, sidecar_worker;
GRANT SELECT, INSERT, UPDATE, DELETE ON ontology_change_sets, ontology_change_set_items, ontology_evidence_examples,
    ontology_rejections, ontology_reprocess_jobs TO sidecar_app, sidecar_worker;
GRANT SELECT ON ontology_evidence_examples TO sidecar_search;

-- The owners of a tenant that have a wiki, in order of their ids. Ids only.
CREATE FUNCTION owners_with_wikis(p_tenant uuid, p_after uuid, p_limit integer) RETURNS TABLE (owner_id uuid)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_temp
AS $$
BEGIN
    IF p_tenant IS DISTINCT FROM app_tenant() THEN RETURN; END IF;
    RETURN QUERY SELECT c.owner_id FROM wiki_compile_cursors c
        WHERE c.tenant_id = p_tenant AND (p_after IS NULL OR c.owner_id > p_after) ORDER BY 1 LIMIT p_limit;
END
$$;

-- Which owners' memories the items of a change set rest on. Ids only.
CREATE FUNCTION owners_with_evidence(p_tenant uuid, p_items uuid[]) RETURNS TABLE (owner_id uuid)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_temp
AS $$
BEGIN
    IF p_tenant IS DISTINCT FROM app_tenant() THEN RETURN; END IF;
    RETURN QUERY SELECT DISTINCT e.owner_id FROM ontology_evidence_examples e
        WHERE e.tenant_id = p_tenant AND e.item_id = ANY(p_items) ORDER BY 1;
END
$$;

-- Of the given items, those that rest on no memory any more. Ids only.
CREATE FUNCTION items_without_evidence(p_tenant uuid, p_items uuid[]) RETURNS TABLE (item_id uuid)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_temp
AS $$
BEGIN
    IF p_tenant IS DISTINCT FROM app_tenant() THEN RETURN; END IF;
    RETURN QUERY SELECT i.item_id FROM unnest(p_items) AS i (item_id)
        WHERE NOT EXISTS (SELECT 1 FROM ontology_evidence_examples e WHERE e.tenant_id = p_tenant AND e.item_id = i.item_id);
END
$$;

ALTER FUNCTION owners_with_wikis(uuid, uuid, integer) OWNER TO sidecar_search;
ALTER FUNCTION owners_with_evidence(uuid, uuid[]) OWNER TO sidecar_search;
ALTER FUNCTION items_without_evidence(uuid, uuid[]) OWNER TO sidecar_search;
REVOKE ALL ON FUNCTION owners_with_wikis(uuid, uuid, integer), owners_with_evidence(uuid, uuid[]),
    items_without_evidence(uuid, uuid[]) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION owners_with_wikis(uuid, uuid, integer), owners_with_evidence(uuid, uuid[]),
    items_without_evidence(uuid, uuid[]) TO sidecar_app, sidecar_worker;
