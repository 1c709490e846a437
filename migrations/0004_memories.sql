-- The built-in memory store and its change feed.
--
-- A write takes its owner's next change_seq by locking the feed's row, inside its own transaction: commit order is feed order, so
-- a reader that has seen n has seen everything up to n.
CREATE TABLE memory_feeds (
    tenant_id uuid NOT NULL REFERENCES tenants,
    owner_id uuid NOT NULL,
    change_seq bigint NOT NULL,
    PRIMARY KEY (tenant_id, owner_id)
);

CREATE TABLE memories (
    tenant_id uuid NOT NULL,
    owner_id uuid NOT NULL,
    memory_id text NOT NULL,
    change_seq bigint NOT NULL,
    document_id text NOT NULL,
    text text NOT NULL,
    metadata jsonb NOT NULL,
    turn_ids text[] NOT NULL,
    occurred_at timestamptz NOT NULL,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    text_hash bytea NOT NULL,
    signature bytea NOT NULL,
    word_count integer NOT NULL,
    search_tsv tsvector NOT NULL,
    PRIMARY KEY (tenant_id, owner_id, memory_id),
    UNIQUE (tenant_id, owner_id, change_seq),
    FOREIGN KEY (tenant_id, owner_id) REFERENCES memory_feeds
);
CREATE INDEX memories_by_time ON memories (tenant_id, owner_id, occurred_at DESC, memory_id);
CREATE INDEX memories_search ON memories USING gin (tenant_id, owner_id, search_tsv) WITH (fastupdate = off);

ALTER TABLE memory_feeds ENABLE ROW LEVEL SECURITY;
ALTER TABLE memories ENABLE ROW LEVEL SECURITY;
CREATE POLICY owner ON memory_feeds USING (tenant_id = app_tenant() AND owner_id = app_owner());
CREATE POLICY owner ON memories USING (tenant_id = app_tenant() AND owner_id = app_owner());
GRANT SELECT, INSERT, UPDATE, DELETE ON memory_feeds, memories TO sidecar_app, sidecar_worker;
GRANT SELECT ON memories TO sidecar_search;
