-- Threads and their turns: the canonical record of what was said.
CREATE TABLE threads (
    tenant_id uuid NOT NULL REFERENCES tenants,
    owner_id uuid NOT NULL,
    thread_id text NOT NULL,
    title text NOT NULL,
    turn_count integer NOT NULL,
    token_count bigint NOT NULL,
    fence_key_id text NOT NULL,
    last_turn_at timestamptz NOT NULL,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, owner_id, thread_id)
);
CREATE INDEX threads_by_time ON threads (tenant_id, owner_id, last_turn_at DESC, thread_id DESC);

-- tokens_through is the running sum of the thread's message tokens (o200k_base) up to and with this turn, so that a window of
-- n tokens is a range of an index and costs what the window holds, not what the thread holds.
CREATE TABLE turns (
    tenant_id uuid NOT NULL,
    owner_id uuid NOT NULL,
    thread_id text NOT NULL,
    position integer NOT NULL,
    turn_id uuid NOT NULL,
    client_turn_id text NOT NULL,
    role text NOT NULL CHECK (role IN ('user', 'assistant', 'tool', 'system')),
    speaker text NOT NULL,
    text text NOT NULL,
    parts jsonb NOT NULL,
    said_at timestamptz NOT NULL,
    o200k_tokens integer NOT NULL,
    cl100k_tokens integer NOT NULL,
    tokens_through bigint NOT NULL,
    signature bytea NOT NULL,
    word_count integer NOT NULL,
    search_tsv tsvector NOT NULL,
    PRIMARY KEY (tenant_id, owner_id, thread_id, position),
    UNIQUE (tenant_id, owner_id, thread_id, client_turn_id),
    UNIQUE (tenant_id, turn_id),
    FOREIGN KEY (tenant_id, owner_id, thread_id) REFERENCES threads ON DELETE CASCADE
);
CREATE INDEX turns_by_tokens ON turns (tenant_id, owner_id, thread_id, tokens_through);
CREATE INDEX turns_search ON turns USING gin (tenant_id, owner_id, thread_id, search_tsv) WITH (fastupdate = off);

-- The rolling summary of a thread's older turns; the turn only reads it.
CREATE TABLE thread_summaries (
    tenant_id uuid NOT NULL,
    owner_id uuid NOT NULL,
    thread_id text NOT NULL,
    through_position integer NOT NULL,
    text text NOT NULL,
    turn_ids text[] NOT NULL,
    updated_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, owner_id, thread_id),
    FOREIGN KEY (tenant_id, owner_id, thread_id) REFERENCES threads ON DELETE CASCADE
);

ALTER TABLE threads ENABLE ROW LEVEL SECURITY;
ALTER TABLE turns ENABLE ROW LEVEL SECURITY;
ALTER TABLE thread_summaries ENABLE ROW LEVEL SECURITY;
CREATE POLICY owner ON threads USING (tenant_id = app_tenant() AND owner_id = app_owner());
CREATE POLICY owner ON turns USING (tenant_id = app_tenant() AND owner_id = app_owner());
CREATE POLICY owner ON thread_summaries USING (tenant_id = app_tenant() AND owner_id = app_owner());
GRANT SELECT, INSERT, UPDATE, DELETE ON threads, turns, thread_summaries TO sidecar_app, sidecar_worker;
GRANT SELECT ON turns TO sidecar_search;
