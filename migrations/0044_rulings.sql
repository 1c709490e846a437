-- An operator's acts on pages that every later compile keeps, a rebuild included: titles, names, merged pages, and sentences that a
-- page does not say. `ref` is the key of a name or sentence, `detail` a name's origin or a sentence's section. Without a reference to the
-- page: the ruling stays when a reset deletes it.
CREATE TABLE wiki_rulings (
    tenant_id uuid NOT NULL REFERENCES tenants,
    owner_id uuid NOT NULL,
    kind text NOT NULL CHECK (kind IN ('title', 'name', 'merged', 'sentence')),
    page_type text NOT NULL CHECK (page_type IN ('entity', 'topic', 'decision')),
    page_slug text NOT NULL,
    ref text NOT NULL,
    text text NOT NULL,
    detail text NOT NULL,
    into_type text NOT NULL,
    into_slug text NOT NULL,
    memory_ids text[] NOT NULL,
    ruled_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, owner_id, kind, page_type, page_slug, ref)
);

ALTER TABLE wiki_rulings ENABLE ROW LEVEL SECURITY;
CREATE POLICY owner ON wiki_rulings USING (tenant_id = app_tenant() AND owner_id = app_owner());
GRANT SELECT, INSERT, UPDATE, DELETE ON wiki_rulings TO sidecar_app, sidecar_worker;
