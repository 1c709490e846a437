-- An edge may also be held because its type allows an end one edge only.
ALTER TABLE wiki_page_links DROP CONSTRAINT wiki_page_links_held_reason_check;
ALTER TABLE wiki_page_links ADD CONSTRAINT wiki_page_links_held_reason_check CHECK (held_reason IN ('', 'relationship_not_approved',
    'relationship_deprecated', 'source_type_not_allowed', 'target_type_not_allowed', 'over_cardinality'));

-- Every admin that edited an item or added it to another's change set; `edited_by` is the last of them.
ALTER TABLE ontology_change_set_items ADD COLUMN editors text[] NOT NULL DEFAULT '{}';
UPDATE ontology_change_set_items SET editors = ARRAY[edited_by] WHERE edited_by <> '';

-- Which fingerprints were rejected last: only so many are kept.
CREATE INDEX ontology_rejections_by_time ON ontology_rejections (tenant_id, rejected_at DESC, fingerprint);

-- Evidence from copies in a Brain, whose owners begin alike: they are copies of what is read already, and may be forgotten elsewhere.
DELETE FROM ontology_evidence_examples WHERE left(owner_id::text, 15) = '5b7a1c0e-d93f-8';
DELETE FROM ontology_change_set_items i USING ontology_change_sets s
WHERE s.tenant_id = i.tenant_id AND s.change_set_id = i.change_set_id AND s.status = 'open' AND i.origin = 'scan'
    AND i.edited IS NULL AND i.decision <> 'accepted' AND NOT EXISTS (
        SELECT FROM ontology_evidence_examples e WHERE e.tenant_id = i.tenant_id AND e.item_id = i.item_id);
