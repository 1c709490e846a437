-- Sessions of threads: an episode holds the turns between two pauses, or up to an instant at which a caller closed it, with a
-- summary in the turns' own words.
CREATE TABLE episodes (
    tenant_id uuid NOT NULL,
    owner_id uuid NOT NULL,
    episode_id text NOT NULL,
    thread_id text NOT NULL,
    text text NOT NULL,
    turn_ids text[] NOT NULL,
    authority text NOT NULL,
    started_at timestamptz NOT NULL,
    ended_at timestamptz NOT NULL,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, owner_id, episode_id),
    FOREIGN KEY (tenant_id, owner_id, thread_id) REFERENCES threads ON DELETE CASCADE
);
CREATE INDEX episodes_by_thread ON episodes (tenant_id, owner_id, thread_id, ended_at DESC, episode_id DESC);
CREATE INDEX episodes_by_time ON episodes (tenant_id, owner_id, ended_at DESC, episode_id DESC);

-- The instants at which a caller closed the episode of a thread.
CREATE TABLE episode_closings (
    tenant_id uuid NOT NULL,
    owner_id uuid NOT NULL,
    thread_id text NOT NULL,
    closed_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, owner_id, thread_id, closed_at),
    FOREIGN KEY (tenant_id, owner_id, thread_id) REFERENCES threads ON DELETE CASCADE
);

-- Which episodes a summary memory stands for. An edge goes with either end.
CREATE TABLE episode_supersessions (
    tenant_id uuid NOT NULL,
    owner_id uuid NOT NULL,
    memory_id text NOT NULL,
    episode_id text NOT NULL,
    created_at timestamptz NOT NULL,
    place integer NOT NULL,
    job_id uuid,
    PRIMARY KEY (tenant_id, owner_id, memory_id, episode_id),
    FOREIGN KEY (tenant_id, owner_id, memory_id) REFERENCES memories ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, owner_id, episode_id) REFERENCES episodes ON DELETE CASCADE
);
CREATE INDEX episode_supersessions_by_source ON episode_supersessions (tenant_id, owner_id, episode_id);

ALTER TABLE episodes ENABLE ROW LEVEL SECURITY;
ALTER TABLE episode_closings ENABLE ROW LEVEL SECURITY;
ALTER TABLE episode_supersessions ENABLE ROW LEVEL SECURITY;
CREATE POLICY owner ON episodes USING (tenant_id = app_tenant() AND owner_id = app_owner());
CREATE POLICY owner ON episode_closings USING (tenant_id = app_tenant() AND owner_id = app_owner());
CREATE POLICY owner ON episode_supersessions USING (tenant_id = app_tenant() AND owner_id = app_owner());
GRANT SELECT, INSERT, UPDATE, DELETE ON episodes, episode_closings, episode_supersessions TO sidecar_app, sidecar_worker;
