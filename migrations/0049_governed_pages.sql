-- What an ontology in force makes of pages. The columns of a plan stay as they are, so that taking a type back shows them again.
-- A page has an approved type, or the name of one that is held with its reason. A typed edge with a reason is held: it is read as
-- an untyped reference until an ontology lets it stand.
ALTER TABLE wiki_pages
    ADD COLUMN entity_type text NOT NULL DEFAULT '',
    ADD COLUMN held_type text NOT NULL DEFAULT '',
    ADD COLUMN held_reason text NOT NULL DEFAULT '' CHECK (held_reason IN ('', 'type_not_approved', 'type_deprecated', 'type_withdrawn')),
    ADD COLUMN typed_at timestamptz,
    ADD CHECK ((held_type <> '') = (held_reason <> '')),
    ADD CHECK (entity_type = '' OR held_type = '');
CREATE INDEX wiki_pages_by_entity_type ON wiki_pages (tenant_id, owner_id, entity_type, type, slug) WHERE entity_type <> '';
CREATE INDEX wiki_pages_held ON wiki_pages (tenant_id, owner_id, typed_at DESC, page_id) WHERE held_reason <> '';

-- Where a template places and heads a section; null and empty leave it as planned.
ALTER TABLE wiki_page_sections
    ADD COLUMN shown_position integer,
    ADD COLUMN shown_heading text NOT NULL DEFAULT '';

ALTER TABLE wiki_page_links
    ADD COLUMN held_reason text NOT NULL DEFAULT '' CHECK (held_reason IN ('', 'relationship_not_approved', 'relationship_deprecated',
        'source_type_not_allowed', 'target_type_not_allowed')),
    ADD COLUMN held_at timestamptz,
    ADD CHECK (held_reason = '' OR edge_type <> '');
CREATE INDEX wiki_page_links_held ON wiki_page_links (tenant_id, owner_id, held_at DESC, link_id) WHERE held_reason <> '';
