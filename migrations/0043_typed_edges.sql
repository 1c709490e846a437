-- Typed edges: a link with a type stands beside the untyped one, true from `valid_from` until just before `valid_until`. What an
-- edge says is what the newest statement among its evidence says.
ALTER TABLE wiki_page_links
    ADD COLUMN edge_type text NOT NULL DEFAULT '' CHECK (edge_type ~ '^([a-z][a-z0-9_]{0,63})?$'),
    ADD COLUMN properties jsonb NOT NULL DEFAULT '{}',
    ADD COLUMN valid_from timestamptz,
    ADD COLUMN valid_until timestamptz,
    ADD CHECK (edge_type <> '' OR (valid_from IS NULL AND valid_until IS NULL)),
    ADD CHECK (valid_until > valid_from),
    ADD UNIQUE NULLS NOT DISTINCT (tenant_id, from_page_id, to_page_id, kind, edge_type, valid_from);
ALTER TABLE wiki_page_links DROP CONSTRAINT wiki_page_links_tenant_id_from_page_id_to_page_id_kind_key;
CREATE INDEX wiki_page_links_by_type ON wiki_page_links (tenant_id, owner_id, edge_type, from_page_id, to_page_id) WHERE edge_type <> '';

ALTER TABLE wiki_link_evidence
    ADD COLUMN said_at timestamptz,
    ADD COLUMN valid_until timestamptz,
    ADD COLUMN properties jsonb NOT NULL DEFAULT '{}';
