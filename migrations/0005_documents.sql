-- Knowledge bases, whom they are assigned to, their documents and the chunks these were cut into.
CREATE TABLE knowledge_bases (
    tenant_id uuid NOT NULL REFERENCES tenants,
    base_id uuid NOT NULL,
    name text NOT NULL,
    description text NOT NULL,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, base_id),
    UNIQUE (tenant_id, name)
);

CREATE TABLE knowledge_assignments (
    tenant_id uuid NOT NULL,
    level text NOT NULL CHECK (level IN ('template', 'agent', 'space')),
    ref text NOT NULL,
    base_id uuid NOT NULL,
    PRIMARY KEY (tenant_id, level, ref, base_id),
    FOREIGN KEY (tenant_id, base_id) REFERENCES knowledge_bases ON DELETE CASCADE
);

CREATE TABLE documents (
    tenant_id uuid NOT NULL,
    base_id uuid NOT NULL,
    document_id uuid NOT NULL,
    path text NOT NULL,
    title text NOT NULL,
    media_type text NOT NULL,
    content_hash bytea NOT NULL,
    chunk_count integer NOT NULL,
    updated_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, document_id),
    UNIQUE (tenant_id, base_id, path),
    FOREIGN KEY (tenant_id, base_id) REFERENCES knowledge_bases ON DELETE CASCADE
);

CREATE TABLE chunks (
    tenant_id uuid NOT NULL,
    base_id uuid NOT NULL,
    document_id uuid NOT NULL,
    chunk_id uuid NOT NULL,
    position integer NOT NULL,
    heading text NOT NULL,
    page integer,
    text text NOT NULL,
    signature bytea NOT NULL,
    word_count integer NOT NULL,
    search_tsv tsvector NOT NULL,
    PRIMARY KEY (tenant_id, chunk_id),
    UNIQUE (tenant_id, document_id, position),
    FOREIGN KEY (tenant_id, document_id) REFERENCES documents ON DELETE CASCADE
);
CREATE INDEX chunks_search ON chunks USING gin (tenant_id, base_id, search_tsv) WITH (fastupdate = off);

ALTER TABLE knowledge_bases ENABLE ROW LEVEL SECURITY;
ALTER TABLE knowledge_assignments ENABLE ROW LEVEL SECURITY;
ALTER TABLE documents ENABLE ROW LEVEL SECURITY;
ALTER TABLE chunks ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON knowledge_bases USING (tenant_id = app_tenant());
CREATE POLICY tenant ON knowledge_assignments USING (tenant_id = app_tenant());
CREATE POLICY tenant ON documents USING (tenant_id = app_tenant());
CREATE POLICY tenant ON chunks USING (tenant_id = app_tenant());
GRANT SELECT, INSERT, UPDATE, DELETE ON knowledge_bases, knowledge_assignments, documents, chunks TO sidecar_app, sidecar_worker;
GRANT SELECT ON chunks TO sidecar_search;
