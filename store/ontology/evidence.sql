-- name: hold_quotes
-- Locks the owner's memories that quotes are from until the transaction ends, and returns the indexes of the quotes that their
-- memories contain.
SELECT r.place::int AS place FROM unnest(:memory_ids::text[], :quotes::text[]) WITH ORDINALITY AS r (memory_id, quote, place)
JOIN memories m ON m.tenant_id = :tenant_id AND m.owner_id = :owner_id AND m.memory_id = r.memory_id
WHERE strpos(m.text, r.quote) > 0 ORDER BY m.memory_id, r.place FOR SHARE OF m;

-- name: delete_evidence_of_items!
-- Deletes the owner's evidence of some items.
DELETE FROM ontology_evidence_examples
WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND item_id = ANY(:item_ids::uuid[]);

-- name: insert_evidence*!
-- Writes evidence.
INSERT INTO ontology_evidence_examples (tenant_id, owner_id, item_id, position, memory_id, source_kind, label, quote, observed_at)
VALUES (:tenant_id, :owner_id, :item_id, :position, :memory_id, :source_kind, :label, :quote, :observed_at);

-- name: owners_with_evidence
-- The owners whose memories some items rest on.
SELECT owner_id FROM tenants AS t CROSS JOIN owners_with_evidence(:tenant_id, :item_ids::uuid[])
WHERE t.tenant_id = :tenant_id;

-- name: items_without_evidence
-- The items without evidence among some items.
SELECT item_id FROM tenants AS t CROSS JOIN items_without_evidence(:tenant_id, :item_ids::uuid[])
WHERE t.tenant_id = :tenant_id;

-- name: list_evidence
-- The owner's evidence of some items that the memories still contain.
SELECT e.owner_id, e.item_id, e.position, e.memory_id, e.source_kind, e.label, e.quote, e.observed_at
FROM ontology_evidence_examples e JOIN memories m ON m.tenant_id = e.tenant_id AND m.owner_id = e.owner_id AND m.memory_id = e.memory_id
WHERE e.tenant_id = :tenant_id AND e.owner_id = :owner_id AND e.item_id = ANY(:item_ids::uuid[]) AND strpos(m.text, e.quote) > 0
ORDER BY e.item_id, e.position;

-- name: items_resting_on
-- The items that rest on the owner's memories, or on some of them.
SELECT DISTINCT item_id FROM ontology_evidence_examples
WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND (:memory_ids::text[] IS NULL OR memory_id = ANY(:memory_ids));

-- name: forget_evidence!
-- Deletes the owner's evidence from memories.
DELETE FROM ontology_evidence_examples
WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND memory_id = ANY(:memory_ids::text[]);

-- name: delete_unsaid_evidence
-- Deletes the owner's evidence from some memories that these no longer contain, and returns its items.
DELETE FROM ontology_evidence_examples e USING memories m
WHERE e.tenant_id = :tenant_id AND e.owner_id = :owner_id AND e.memory_id = ANY(:memory_ids::text[])
    AND m.tenant_id = e.tenant_id AND m.owner_id = e.owner_id AND m.memory_id = e.memory_id AND strpos(m.text, e.quote) = 0
RETURNING e.item_id;
