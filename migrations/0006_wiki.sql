-- The compiled wiki: pages made of sections, each section naming the memories it came from.
CREATE TABLE wiki_pages (
    tenant_id uuid NOT NULL REFERENCES tenants,
    owner_id uuid NOT NULL,
    page_id uuid NOT NULL,
    type text NOT NULL CHECK (type IN ('entity', 'topic', 'decision')),
    slug text NOT NULL,
    title text NOT NULL,
    summary text NOT NULL,
    status text NOT NULL CHECK (status IN ('active', 'archived')),
    parent_page_id uuid,
    hubness_score integer NOT NULL,
    tags text[] NOT NULL,
    last_compiled_at timestamptz NOT NULL,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    signature bytea NOT NULL,
    word_count integer NOT NULL,
    search_tsv tsvector NOT NULL,
    PRIMARY KEY (tenant_id, page_id),
    UNIQUE (tenant_id, owner_id, type, slug),
    FOREIGN KEY (tenant_id, parent_page_id) REFERENCES wiki_pages
);
CREATE INDEX wiki_pages_by_parent ON wiki_pages (tenant_id, parent_page_id);
CREATE INDEX wiki_pages_by_status ON wiki_pages (tenant_id, owner_id, status, type, slug);
CREATE INDEX wiki_pages_search ON wiki_pages USING gin (tenant_id, owner_id, search_tsv) WITH (fastupdate = off);
CREATE INDEX wiki_pages_title ON wiki_pages USING gin (tenant_id, owner_id, title gin_trgm_ops) WITH (fastupdate = off);

CREATE TABLE wiki_page_sections (
    tenant_id uuid NOT NULL,
    owner_id uuid NOT NULL,
    page_id uuid NOT NULL,
    section_id uuid NOT NULL,
    section_slug text NOT NULL,
    heading text NOT NULL,
    body_md text NOT NULL,
    position integer NOT NULL,
    last_source_at timestamptz,
    aggregation jsonb,
    signature bytea NOT NULL,
    word_count integer NOT NULL,
    search_tsv tsvector NOT NULL,
    PRIMARY KEY (tenant_id, section_id),
    UNIQUE (tenant_id, page_id, section_slug),
    FOREIGN KEY (tenant_id, page_id) REFERENCES wiki_pages ON DELETE CASCADE
);
CREATE INDEX wiki_page_sections_search ON wiki_page_sections USING gin (tenant_id, owner_id, search_tsv) WITH (fastupdate = off);

-- alias is the folded key; display is the name as it was written.
CREATE TABLE wiki_page_aliases (
    tenant_id uuid NOT NULL,
    owner_id uuid NOT NULL,
    page_id uuid NOT NULL,
    alias text NOT NULL,
    display text NOT NULL,
    source text NOT NULL CHECK (source IN ('compiler', 'manual', 'import')),
    created_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, page_id, alias),
    FOREIGN KEY (tenant_id, page_id) REFERENCES wiki_pages ON DELETE CASCADE
);
CREATE INDEX wiki_page_aliases_by_alias ON wiki_page_aliases (tenant_id, owner_id, alias);
CREATE INDEX wiki_page_aliases_trigrams ON wiki_page_aliases USING gin (tenant_id, owner_id, alias gin_trgm_ops) WITH (fastupdate = off);

CREATE TABLE wiki_page_links (
    tenant_id uuid NOT NULL,
    owner_id uuid NOT NULL,
    link_id uuid NOT NULL,
    from_page_id uuid NOT NULL,
    to_page_id uuid NOT NULL,
    kind text NOT NULL CHECK (kind IN ('reference', 'parent_of', 'child_of')),
    created_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, link_id),
    UNIQUE (tenant_id, from_page_id, to_page_id, kind),
    CHECK (from_page_id <> to_page_id),
    FOREIGN KEY (tenant_id, from_page_id) REFERENCES wiki_pages (tenant_id, page_id) ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, to_page_id) REFERENCES wiki_pages (tenant_id, page_id) ON DELETE CASCADE
);
CREATE INDEX wiki_page_links_by_target ON wiki_page_links (tenant_id, to_page_id);
CREATE INDEX wiki_page_links_by_kind ON wiki_page_links (tenant_id, owner_id, kind);

-- Why a link is there. One link may have several causes; a link without any is removed with its last one.
CREATE TABLE wiki_link_evidence (
    tenant_id uuid NOT NULL,
    owner_id uuid NOT NULL,
    link_id uuid NOT NULL,
    origin text NOT NULL CHECK (origin IN ('planner', 'deterministic', 'co_mention', 'rollup', 'promotion', 'manual')),
    context text NOT NULL,
    ref text NOT NULL,
    PRIMARY KEY (tenant_id, link_id, origin, context, ref),
    FOREIGN KEY (tenant_id, link_id) REFERENCES wiki_page_links ON DELETE CASCADE
);

CREATE TABLE wiki_unresolved_mentions (
    tenant_id uuid NOT NULL REFERENCES tenants,
    owner_id uuid NOT NULL,
    mention_id uuid NOT NULL,
    alias text NOT NULL,
    alias_normalized text NOT NULL,
    suggested_type text CHECK (suggested_type IN ('entity', 'topic', 'decision')),
    status text NOT NULL CHECK (status IN ('open', 'promoted', 'ignored')),
    promoted_page_id uuid,
    updated_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, mention_id),
    UNIQUE (tenant_id, owner_id, alias_normalized, status),
    FOREIGN KEY (tenant_id, promoted_page_id) REFERENCES wiki_pages (tenant_id, page_id)
);

-- Each sighting of a mention; counts and quotes are derived from these rows.
CREATE TABLE wiki_mention_sightings (
    tenant_id uuid NOT NULL,
    owner_id uuid NOT NULL,
    mention_id uuid NOT NULL,
    memory_id text NOT NULL,
    quote text NOT NULL,
    seen_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, mention_id, memory_id),
    FOREIGN KEY (tenant_id, mention_id) REFERENCES wiki_unresolved_mentions ON DELETE CASCADE
);

-- Provenance. A row stands only where the planner cited that memory for that subject: a section, or a page's summary, alias or tag.
CREATE TABLE wiki_section_sources (
    tenant_id uuid NOT NULL,
    owner_id uuid NOT NULL,
    page_id uuid NOT NULL,
    subject text NOT NULL CHECK (subject IN ('section', 'summary', 'alias', 'tag')),
    subject_ref text NOT NULL,
    section_id uuid,
    source_kind text NOT NULL,
    source_ref text NOT NULL,
    text_hash bytea NOT NULL,
    first_seen_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, page_id, subject, subject_ref, source_kind, source_ref),
    CHECK ((subject = 'section') = (section_id IS NOT NULL)),
    FOREIGN KEY (tenant_id, page_id) REFERENCES wiki_pages ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, section_id) REFERENCES wiki_page_sections ON DELETE CASCADE
);
CREATE INDEX wiki_section_sources_by_ref ON wiki_section_sources (tenant_id, owner_id, source_kind, source_ref);
CREATE INDEX wiki_section_sources_by_section ON wiki_section_sources (tenant_id, section_id);

-- A child stands under one section of a parent.
CREATE TABLE wiki_section_children (
    tenant_id uuid NOT NULL,
    owner_id uuid NOT NULL,
    parent_page_id uuid NOT NULL,
    child_page_id uuid NOT NULL,
    section_id uuid NOT NULL,
    PRIMARY KEY (tenant_id, parent_page_id, child_page_id),
    FOREIGN KEY (tenant_id, parent_page_id) REFERENCES wiki_pages (tenant_id, page_id) ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, child_page_id) REFERENCES wiki_pages (tenant_id, page_id) ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, section_id) REFERENCES wiki_page_sections ON DELETE CASCADE
);

-- The scope's row: how far memories were read, who compiles now, and the wiki's revision.
CREATE TABLE wiki_compile_cursors (
    tenant_id uuid NOT NULL REFERENCES tenants,
    owner_id uuid NOT NULL,
    cursor text NOT NULL,
    lease_holder text NOT NULL,
    lease_until timestamptz,
    fence bigint NOT NULL,
    dirty_through bigint NOT NULL,
    wiki_revision bigint NOT NULL,
    updated_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, owner_id)
);

CREATE TABLE wiki_compile_jobs (
    tenant_id uuid NOT NULL REFERENCES tenants,
    owner_id uuid NOT NULL,
    job_id uuid NOT NULL,
    dedupe_key text NOT NULL,
    status text NOT NULL CHECK (status IN ('pending', 'running', 'succeeded', 'failed', 'skipped', 'cancelled')),
    trigger text NOT NULL CHECK (trigger IN ('memory_retain', 'bootstrap_import', 'admin', 'lint', 'webhook')),
    attempt integer NOT NULL,
    input jsonb NOT NULL,
    metrics jsonb NOT NULL,
    error text NOT NULL,
    created_at timestamptz NOT NULL,
    not_before timestamptz NOT NULL,
    claimed_at timestamptz,
    finished_at timestamptz,
    PRIMARY KEY (tenant_id, job_id),
    UNIQUE (tenant_id, dedupe_key)
);
CREATE UNIQUE INDEX wiki_compile_jobs_running ON wiki_compile_jobs (tenant_id, owner_id) WHERE status = 'running';
CREATE INDEX wiki_compile_jobs_by_time ON wiki_compile_jobs (tenant_id, owner_id, created_at DESC, job_id);

ALTER TABLE wiki_pages ENABLE ROW LEVEL SECURITY;
ALTER TABLE wiki_page_sections ENABLE ROW LEVEL SECURITY;
ALTER TABLE wiki_page_aliases ENABLE ROW LEVEL SECURITY;
ALTER TABLE wiki_page_links ENABLE ROW LEVEL SECURITY;
ALTER TABLE wiki_link_evidence ENABLE ROW LEVEL SECURITY;
ALTER TABLE wiki_unresolved_mentions ENABLE ROW LEVEL SECURITY;
ALTER TABLE wiki_mention_sightings ENABLE ROW LEVEL SECURITY;
ALTER TABLE wiki_section_sources ENABLE ROW LEVEL SECURITY;
ALTER TABLE wiki_section_children ENABLE ROW LEVEL SECURITY;
ALTER TABLE wiki_compile_cursors ENABLE ROW LEVEL SECURITY;
ALTER TABLE wiki_compile_jobs ENABLE ROW LEVEL SECURITY;
CREATE POLICY owner ON wiki_pages USING (tenant_id = app_tenant() AND owner_id = app_owner());
CREATE POLICY owner ON wiki_page_sections USING (tenant_id = app_tenant() AND owner_id = app_owner());
CREATE POLICY owner ON wiki_page_aliases USING (tenant_id = app_tenant() AND owner_id = app_owner());
CREATE POLICY owner ON wiki_page_links USING (tenant_id = app_tenant() AND owner_id = app_owner());
CREATE POLICY owner ON wiki_link_evidence USING (tenant_id = app_tenant() AND owner_id = app_owner());
CREATE POLICY owner ON wiki_unresolved_mentions USING (tenant_id = app_tenant() AND owner_id = app_owner());
CREATE POLICY owner ON wiki_mention_sightings USING (tenant_id = app_tenant() AND owner_id = app_owner());
CREATE POLICY owner ON wiki_section_sources USING (tenant_id = app_tenant() AND owner_id = app_owner());
CREATE POLICY owner ON wiki_section_children USING (tenant_id = app_tenant() AND owner_id = app_owner());
CREATE POLICY owner ON wiki_compile_cursors USING (tenant_id = app_tenant() AND owner_id = app_owner());
CREATE POLICY owner ON wiki_compile_jobs USING (tenant_id = app_tenant() AND owner_id = app_owner());
GRANT SELECT, INSERT, UPDATE, DELETE ON wiki_pages, wiki_page_sections, wiki_page_aliases, wiki_page_links, wiki_link_evidence,
    wiki_unresolved_mentions, wiki_mention_sightings, wiki_section_sources, wiki_section_children, wiki_compile_cursors,
    wiki_compile_jobs TO sidecar_app, sidecar_worker;
GRANT SELECT ON wiki_pages, wiki_page_sections, wiki_page_aliases TO sidecar_search;
