-- How far a memory is to be trusted, and which memories took the place of which. The names are those of the decay design: `claim` is
-- our `text`. A memory written before this is an accepted fact of an agent, and its content hash stays as it is.
ALTER TABLE memories
    ADD COLUMN memory_type text NOT NULL DEFAULT 'fact',
    ADD COLUMN status text NOT NULL DEFAULT 'accepted' CHECK (status IN ('candidate', 'accepted', 'rejected')),
    ADD COLUMN confidence double precision NOT NULL DEFAULT 1 CHECK (confidence BETWEEN 0 AND 1),
    ADD COLUMN authority text NOT NULL DEFAULT 'Agent',
    ADD COLUMN domains_json jsonb NOT NULL DEFAULT '[]',
    ADD COLUMN source_episodes_json jsonb NOT NULL DEFAULT '[]',
    ADD COLUMN source_events_json jsonb NOT NULL DEFAULT '[]';

-- The rank of an authority: 0 for the least trusted. Unknown ones rank lowest.
CREATE FUNCTION trust_rank(p_authority text) RETURNS integer LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$ SELECT coalesce(array_position(ARRAY['candidate', 'agent', 'user'], lower(p_authority)), 0) $$;

-- Each change of a memory's status: by which caller, by which rule. It goes with the memory.
CREATE TABLE memory_status_changes (
    tenant_id uuid NOT NULL,
    owner_id uuid NOT NULL,
    memory_id text NOT NULL,
    change_seq bigint NOT NULL,
    old_status text NOT NULL,
    new_status text NOT NULL,
    changed_by text NOT NULL,
    rule text NOT NULL,
    changed_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, owner_id, memory_id, change_seq),
    FOREIGN KEY (tenant_id, owner_id, memory_id) REFERENCES memories ON DELETE CASCADE
);

-- A newer memory and one whose place it took. An edge that was undone stays, with its instant; an edge goes with either memory.
-- `place` is the source's place in the order in which a summary was made.
CREATE TABLE memory_supersessions (
    tenant_id uuid NOT NULL,
    owner_id uuid NOT NULL,
    memory_id text NOT NULL,
    superseded_id text NOT NULL,
    created_at timestamptz NOT NULL,
    reason text NOT NULL CHECK (reason IN ('compressed', 'corrected', 'contradicted')),
    place integer NOT NULL,
    job_id uuid,
    evidence text NOT NULL,
    undone_at timestamptz,
    PRIMARY KEY (tenant_id, owner_id, memory_id, superseded_id, created_at),
    FOREIGN KEY (tenant_id, owner_id, memory_id) REFERENCES memories ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, owner_id, superseded_id) REFERENCES memories ON DELETE CASCADE
);
CREATE INDEX memory_supersessions_by_source ON memory_supersessions (tenant_id, owner_id, superseded_id);

ALTER TABLE memory_status_changes ENABLE ROW LEVEL SECURITY;
ALTER TABLE memory_supersessions ENABLE ROW LEVEL SECURITY;
CREATE POLICY owner ON memory_status_changes USING (tenant_id = app_tenant() AND owner_id = app_owner());
CREATE POLICY owner ON memory_supersessions USING (tenant_id = app_tenant() AND owner_id = app_owner());
GRANT SELECT, INSERT, UPDATE, DELETE ON memory_status_changes, memory_supersessions TO sidecar_app, sidecar_worker;
