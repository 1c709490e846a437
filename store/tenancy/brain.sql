-- name: read_settings^
-- The tenant's settings of its Brain.
SELECT is_shown, rules_version FROM brain_settings WHERE tenant_id = :tenant_id;

-- name: raise_version<!
-- Raises the version of the tenant's rules, and creates its settings with the first.
INSERT INTO brain_settings AS s (tenant_id, is_shown, rules_version) VALUES (:tenant_id, true, 1)
ON CONFLICT (tenant_id) DO UPDATE SET rules_version = s.rules_version + 1 RETURNING rules_version;

-- name: set_shown!
-- Shows the Brain in turns, or leaves it out.
INSERT INTO brain_settings (tenant_id, is_shown, rules_version) VALUES (:tenant_id, :is_shown, 0)
ON CONFLICT (tenant_id) DO UPDATE SET is_shown = excluded.is_shown;

-- name: insert_rule!
-- Writes a proposed rule.
INSERT INTO brain_rules (tenant_id, rule_id, name, tags, memory_types, metadata, least_authority, trust_tier, reason, state,
    proposed_by, proposed_at, approved_by, withdrawn_by, knowledge_base, document_path)
VALUES (:tenant_id, :rule_id, :name, :tags::text[], :memory_types::text[], :metadata, :least_authority, :trust_tier, :reason,
    'proposed', :proposed_by, :now, '', '', :knowledge_base, :document_path);

-- name: lock_rule^
-- A rule, locked until the transaction ends.
SELECT rule_id, name, tags, memory_types, metadata, least_authority, trust_tier, reason, state, proposed_by, proposed_at,
    approved_by, approved_at, withdrawn_by, withdrawn_at, knowledge_base, document_path
FROM brain_rules WHERE tenant_id = :tenant_id AND rule_id = :rule_id FOR UPDATE;

-- name: approve_rule!
-- Approves a rule.
UPDATE brain_rules SET state = 'approved', approved_by = :by, approved_at = :now WHERE tenant_id = :tenant_id AND rule_id = :rule_id;

-- name: withdraw_rule!
-- Withdraws a rule.
UPDATE brain_rules SET state = 'withdrawn', withdrawn_by = :by, withdrawn_at = :now
WHERE tenant_id = :tenant_id AND rule_id = :rule_id;

-- name: list_rules
-- The tenant's rules, oldest first.
SELECT rule_id, name, tags, memory_types, metadata, least_authority, trust_tier, reason, state, proposed_by, proposed_at,
    approved_by, approved_at, withdrawn_by, withdrawn_at, knowledge_base, document_path
FROM brain_rules WHERE tenant_id = :tenant_id ORDER BY proposed_at, rule_id;

-- name: count_rules$
-- How many rules of the tenant are not withdrawn.
SELECT count(*) FROM brain_rules WHERE tenant_id = :tenant_id AND state <> 'withdrawn';

-- name: read_cursor^
-- The feed number up to which an owner's memories were compared, and the version of the rules, locked until the transaction ends.
INSERT INTO brain_cursors AS c (tenant_id, owner_id, rules_version, change_seq) VALUES (:tenant_id, :owner_id, 0, 0)
ON CONFLICT (tenant_id, owner_id) DO UPDATE SET change_seq = c.change_seq RETURNING rules_version, change_seq;

-- name: move_cursor!
-- Records the feed number up to which an owner's memories were compared.
UPDATE brain_cursors SET rules_version = :rules_version, change_seq = :change_seq
WHERE tenant_id = :tenant_id AND owner_id = :owner_id;

-- name: changed_memories
-- Memories after a feed number, whatever their status, in feed order.
SELECT memory_id, change_seq FROM memories
WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND change_seq > :change_seq::bigint ORDER BY change_seq LIMIT :limit;

-- name: lock_copies_of
-- The copies of some of an owner's memories, in any state, locked until the transaction ends.
SELECT copy_id, origin_owner_id, origin_memory_id, fingerprint, rule_id, trust_tier, state, held_by, reason, changed_by, changed_at,
    document_id
FROM brain_copies
WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND origin_owner_id = :origin_owner_id
    AND origin_memory_id = ANY(:memory_ids::text[])
ORDER BY copy_id FOR UPDATE;

-- name: lock_copies
-- Copies by their ids, locked until the transaction ends.
SELECT copy_id, origin_owner_id, origin_memory_id, fingerprint, rule_id, trust_tier, state, held_by, reason, changed_by, changed_at,
    document_id
FROM brain_copies
WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND copy_id = ANY(:copy_ids::text[])
ORDER BY copy_id FOR UPDATE;

-- name: origins_of_owner
-- The memories of an owner with a copy in any state.
SELECT origin_memory_id FROM brain_copies
WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND origin_owner_id = :origin_owner_id ORDER BY 1 LIMIT :limit;

-- name: copies_of_rule
-- Copies that a rule released or that are held under it.
SELECT copy_id FROM brain_copies
WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND rule_id = :rule_id AND state <> 'withdrawn' ORDER BY 1 LIMIT :limit;

-- name: list_copies_in
-- Copies of a state in order of id, after a given one.
SELECT copy_id, origin_owner_id, origin_memory_id, fingerprint, rule_id, trust_tier, state, held_by, reason, changed_by, changed_at,
    document_id
FROM brain_copies
WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND state = :state AND copy_id > :after ORDER BY copy_id LIMIT :limit;

-- name: list_copies
-- Copies in order of id, after a given one.
SELECT copy_id, origin_owner_id, origin_memory_id, fingerprint, rule_id, trust_tier, state, held_by, reason, changed_by, changed_at,
    document_id
FROM brain_copies
WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND copy_id > :after ORDER BY copy_id LIMIT :limit;

-- name: count_copies
-- How many copies there are in each state.
SELECT state, count(*) AS copies FROM brain_copies WHERE tenant_id = :tenant_id AND owner_id = :owner_id GROUP BY state;

-- name: tiers_of
-- The trust tiers of released copies.
SELECT copy_id, trust_tier FROM brain_copies
WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND copy_id = ANY(:copy_ids::text[]) AND state = 'released';

-- name: put_copy!
-- Writes the copy of a memory, replacing an earlier one.
INSERT INTO brain_copies (tenant_id, owner_id, copy_id, origin_owner_id, origin_memory_id, fingerprint, rule_id, trust_tier, state,
    held_by, reason, changed_by, changed_at, document_id)
VALUES (:tenant_id, :owner_id, :copy_id, :origin_owner_id, :origin_memory_id, :fingerprint, :rule_id, :trust_tier, :state,
    :held_by, :reason, :changed_by, :changed_at, :document_id)
ON CONFLICT (tenant_id, owner_id, copy_id) DO UPDATE SET rule_id = excluded.rule_id, trust_tier = excluded.trust_tier,
    state = excluded.state, held_by = excluded.held_by, reason = excluded.reason, changed_by = excluded.changed_by,
    changed_at = excluded.changed_at, fingerprint = excluded.fingerprint;

-- name: delete_copies!
-- Deletes rows of copies.
DELETE FROM brain_copies WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND copy_id = ANY(:copy_ids::text[]);

-- name: owners_with_memories
-- The tenant's owners that have memories.
SELECT owner_id FROM tenants AS t CROSS JOIN owners_with_memories(:tenant_id)
WHERE t.tenant_id = :tenant_id;

-- name: share_settings^
-- The tenant's settings of its Brain; its rules do not change until the transaction ends.
SELECT is_shown, rules_version FROM brain_settings WHERE tenant_id = :tenant_id FOR SHARE;

-- name: peek_copies_of$
-- Whether there is a copy of some of an owner's memories.
SELECT EXISTS (SELECT FROM brain_copies
    WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND origin_owner_id = :origin_owner_id
        AND origin_memory_id = ANY(:memory_ids::text[]));

-- name: note_withdrawals!
-- Records references of withdrawn copies and deleted documents.
INSERT INTO brain_withdrawals (tenant_id, owner_id, ref_kind, ref, withdrawn_at)
SELECT :tenant_id, :owner_id, r.ref_kind, r.ref, :now FROM unnest(:kinds::text[], :refs::text[]) AS r (ref_kind, ref)
ON CONFLICT (tenant_id, owner_id, ref_kind, ref) DO UPDATE SET withdrawn_at = excluded.withdrawn_at;

-- name: list_withdrawals
-- References of withdrawn copies and deleted documents that may still be in receipts.
SELECT ref_kind, ref FROM brain_withdrawals WHERE tenant_id = :tenant_id AND owner_id = :owner_id ORDER BY ref_kind, ref LIMIT :limit;

-- name: settle_withdrawals!
-- Deletes references that no receipt contains any more.
DELETE FROM brain_withdrawals w USING unnest(:kinds::text[], :refs::text[]) AS r (ref_kind, ref)
WHERE w.tenant_id = :tenant_id AND w.owner_id = :owner_id AND w.ref_kind = r.ref_kind AND w.ref = r.ref;

-- name: lock_held_by
-- The copies that some copies hold back, locked until the transaction ends.
SELECT copy_id, origin_owner_id, origin_memory_id, fingerprint, rule_id, trust_tier, state, held_by, reason, changed_by, changed_at,
    document_id
FROM brain_copies
WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND state = 'held' AND held_by = ANY(:copy_ids::text[])
ORDER BY copy_id FOR UPDATE;

-- name: read_copies
-- Copies by their ids.
SELECT copy_id, origin_owner_id, origin_memory_id, fingerprint, rule_id, trust_tier, state, held_by, reason, changed_by, changed_at,
    document_id
FROM brain_copies WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND copy_id = ANY(:copy_ids::text[]) ORDER BY copy_id;

-- name: next_document^
-- The next document of some knowledge bases, locked against changes until the transaction ends.
SELECT d.document_id, b.name AS knowledge_base, d.path, d.title, d.updated_at
FROM knowledge_bases b JOIN documents d ON d.tenant_id = b.tenant_id AND d.base_id = b.base_id
WHERE b.tenant_id = :tenant_id AND b.name = ANY(:bases::text[]) AND (b.name, d.path) > (:base, :path)
ORDER BY b.name, d.path LIMIT 1 FOR SHARE OF d;

-- name: documents_by_ids
-- Documents by their ids.
SELECT d.document_id, b.name AS knowledge_base, d.path, d.title, d.updated_at
FROM documents d JOIN knowledge_bases b ON b.tenant_id = d.tenant_id AND b.base_id = d.base_id
WHERE d.tenant_id = :tenant_id AND d.document_id = ANY(:document_ids::uuid[]);

-- name: lock_piece^
-- A piece of a document, locked against changes until the transaction ends.
SELECT d.document_id, b.name AS knowledge_base, d.path, d.title, d.updated_at, c.chunk_id, c.text
FROM chunks c JOIN documents d ON d.tenant_id = c.tenant_id AND d.document_id = c.document_id
JOIN knowledge_bases b ON b.tenant_id = d.tenant_id AND b.base_id = d.base_id
WHERE c.tenant_id = :tenant_id AND c.chunk_id = :chunk_id FOR SHARE OF d, c;

-- name: pieces_to_share
-- Pieces of a document without a copy, or with one that a rule made under another rule or tier.
SELECT c.chunk_id, c.text FROM chunks c
LEFT JOIN brain_copies o ON o.tenant_id = c.tenant_id AND o.owner_id = :owner_id AND o.origin_owner_id = :owner_id
    AND o.origin_memory_id = c.chunk_id::text
WHERE c.tenant_id = :tenant_id AND c.document_id = :document_id AND (o.copy_id IS NULL
    OR (o.state <> 'withdrawn' AND o.reason = '' AND (o.rule_id, o.trust_tier) <> (:rule_id::uuid, :trust_tier::int)))
ORDER BY c.position LIMIT :limit;

-- name: copies_without_piece
-- Copies of pieces that their document does not have (any more).
SELECT o.copy_id FROM brain_copies o
WHERE o.tenant_id = :tenant_id AND o.owner_id = :owner_id AND o.document_id = :document_id AND NOT EXISTS (
    SELECT FROM chunks c WHERE c.tenant_id = o.tenant_id AND c.chunk_id::text = o.origin_memory_id AND c.document_id = o.document_id)
ORDER BY o.copy_id;
