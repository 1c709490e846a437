-- requires: vector >= 0.8
-- Vectors of stored texts. Without the extension these tables are missing, and recall goes by words alone.
--
-- A vector stands apart from its text, with the embedder that made it; vectors of two are never compared. A text has
-- one vector, and it goes with its text. text_hash, where a text can change, says which text it is of. Vectors are kept in their
-- rows (PLAIN), before what has no fixed place there: an exact scan of a scope reads pages, and no out-of-line values.
CREATE EXTENSION IF NOT EXISTS vector;

-- The models that vectors were made by; a number, since a scan compares it for every vector. Belongs to the installation.
CREATE TABLE embedders (
    embedder_no integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    model text NOT NULL,
    dimensions integer NOT NULL,
    UNIQUE (model, dimensions)
);
GRANT SELECT, INSERT ON embedders TO sidecar_app, sidecar_worker;

CREATE TABLE turn_vectors (
    tenant_id uuid NOT NULL,
    owner_id uuid NOT NULL,
    embedder_no integer NOT NULL,
    position integer NOT NULL,
    vector halfvec NOT NULL,
    thread_id text NOT NULL,
    PRIMARY KEY (tenant_id, owner_id, thread_id, position),
    FOREIGN KEY (tenant_id, owner_id, thread_id, position) REFERENCES turns ON DELETE CASCADE
);

CREATE TABLE memory_vectors (
    tenant_id uuid NOT NULL,
    owner_id uuid NOT NULL,
    embedder_no integer NOT NULL,
    vector halfvec NOT NULL,
    memory_id text NOT NULL,
    text_hash bytea NOT NULL,
    PRIMARY KEY (tenant_id, owner_id, memory_id),
    FOREIGN KEY (tenant_id, owner_id, memory_id) REFERENCES memories ON DELETE CASCADE
);

CREATE TABLE chunk_vectors (
    tenant_id uuid NOT NULL,
    base_id uuid NOT NULL,
    embedder_no integer NOT NULL,
    chunk_id uuid NOT NULL,
    vector halfvec NOT NULL,
    PRIMARY KEY (tenant_id, chunk_id),
    FOREIGN KEY (tenant_id, chunk_id) REFERENCES chunks ON DELETE CASCADE
);
CREATE INDEX chunk_vectors_by_base ON chunk_vectors (tenant_id, base_id);

CREATE TABLE section_vectors (
    tenant_id uuid NOT NULL,
    owner_id uuid NOT NULL,
    embedder_no integer NOT NULL,
    section_id uuid NOT NULL,
    vector halfvec NOT NULL,
    text_hash bytea NOT NULL,
    PRIMARY KEY (tenant_id, section_id),
    FOREIGN KEY (tenant_id, section_id) REFERENCES wiki_page_sections ON DELETE CASCADE
);
CREATE INDEX section_vectors_by_owner ON section_vectors (tenant_id, owner_id);

-- Of a page's summary.
CREATE TABLE page_vectors (
    tenant_id uuid NOT NULL,
    owner_id uuid NOT NULL,
    embedder_no integer NOT NULL,
    page_id uuid NOT NULL,
    vector halfvec NOT NULL,
    text_hash bytea NOT NULL,
    PRIMARY KEY (tenant_id, page_id),
    FOREIGN KEY (tenant_id, page_id) REFERENCES wiki_pages ON DELETE CASCADE
);
CREATE INDEX page_vectors_by_owner ON page_vectors (tenant_id, owner_id);

ALTER TABLE turn_vectors ALTER COLUMN vector SET STORAGE PLAIN;
ALTER TABLE memory_vectors ALTER COLUMN vector SET STORAGE PLAIN;
ALTER TABLE chunk_vectors ALTER COLUMN vector SET STORAGE PLAIN;
ALTER TABLE section_vectors ALTER COLUMN vector SET STORAGE PLAIN;
ALTER TABLE page_vectors ALTER COLUMN vector SET STORAGE PLAIN;

ALTER TABLE turn_vectors ENABLE ROW LEVEL SECURITY;
ALTER TABLE memory_vectors ENABLE ROW LEVEL SECURITY;
ALTER TABLE chunk_vectors ENABLE ROW LEVEL SECURITY;
ALTER TABLE section_vectors ENABLE ROW LEVEL SECURITY;
ALTER TABLE page_vectors ENABLE ROW LEVEL SECURITY;
CREATE POLICY owner ON turn_vectors USING (tenant_id = app_tenant() AND owner_id = app_owner());
CREATE POLICY owner ON memory_vectors USING (tenant_id = app_tenant() AND owner_id = app_owner());
CREATE POLICY tenant ON chunk_vectors USING (tenant_id = app_tenant());
CREATE POLICY owner ON section_vectors USING (tenant_id = app_tenant() AND owner_id = app_owner());
CREATE POLICY owner ON page_vectors USING (tenant_id = app_tenant() AND owner_id = app_owner());
GRANT SELECT, INSERT, UPDATE, DELETE ON turn_vectors, memory_vectors, chunk_vectors, section_vectors, page_vectors
    TO sidecar_app, sidecar_worker;
GRANT SELECT ON turn_vectors, memory_vectors, chunk_vectors, section_vectors, page_vectors TO sidecar_search;
