-- What operators stated of typed edges by hand, while the pages are deleted by a rebuild: put back once both pages are there again.
-- An edge names its pages by type and slug; what it needs to know of each stands once a page, also to forget it with the page's
-- memories. Without references to pages, which are gone.
CREATE TABLE wiki_kept_ends (
    tenant_id uuid NOT NULL REFERENCES tenants,
    owner_id uuid NOT NULL,
    page_type text NOT NULL CHECK (page_type IN ('entity', 'topic', 'decision')),
    page_slug text NOT NULL,
    title text NOT NULL,
    memory_ids text[] NOT NULL,
    PRIMARY KEY (tenant_id, owner_id, page_type, page_slug)
);
CREATE TABLE wiki_kept_edges (
    tenant_id uuid NOT NULL REFERENCES tenants,
    owner_id uuid NOT NULL,
    from_type text NOT NULL,
    from_slug text NOT NULL,
    to_type text NOT NULL,
    to_slug text NOT NULL,
    edge_type text NOT NULL CHECK (edge_type ~ '^[a-z][a-z0-9_]{0,63}$'),
    valid_from timestamptz,
    context text NOT NULL,
    valid_until timestamptz,
    said_at timestamptz,
    properties jsonb NOT NULL,
    is_sole boolean NOT NULL,
    UNIQUE NULLS NOT DISTINCT (tenant_id, owner_id, from_type, from_slug, to_type, to_slug, edge_type, valid_from),
    FOREIGN KEY (tenant_id, owner_id, from_type, from_slug) REFERENCES wiki_kept_ends ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, owner_id, to_type, to_slug) REFERENCES wiki_kept_ends ON DELETE CASCADE
);
CREATE INDEX wiki_kept_edges_by_target ON wiki_kept_edges (tenant_id, owner_id, to_type, to_slug);

ALTER TABLE wiki_kept_ends ENABLE ROW LEVEL SECURITY;
CREATE POLICY owner ON wiki_kept_ends USING (tenant_id = app_tenant() AND owner_id = app_owner());
ALTER TABLE wiki_kept_edges ENABLE ROW LEVEL SECURITY;
CREATE POLICY owner ON wiki_kept_edges USING (tenant_id = app_tenant() AND owner_id = app_owner());
GRANT SELECT, INSERT, UPDATE, DELETE ON wiki_kept_ends, wiki_kept_edges TO sidecar_app, sidecar_worker;
