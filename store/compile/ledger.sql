-- name: ledger_of
-- The rows of some memories.
SELECT memory_id, document_id, content_hash, text_hash, occurred_at, outcome, reason, hub_keys FROM memory_ledger
WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND memory_id = ANY(:memory_ids::text[]);

-- name: whole_ledger
-- Every row of a scope.
SELECT memory_id, document_id, content_hash, text_hash, occurred_at, outcome, reason, hub_keys FROM memory_ledger
WHERE tenant_id = :tenant_id AND owner_id = :owner_id ORDER BY memory_id;

-- name: write_ledger!
-- Writes rows, replacing existing ones.
INSERT INTO memory_ledger AS l (tenant_id, owner_id, memory_id, document_id, content_hash, text_hash, occurred_at, outcome, reason,
    hub_keys, updated_at)
SELECT :tenant_id, :owner_id, r.memory_id, r.document_id, r.content_hash, r.text_hash, r.occurred_at, r.outcome, r.reason,
    string_to_array(r.hub_keys, ','), :now
FROM unnest(:memory_ids::text[], :document_ids::text[], :content_hashes::bytea[], :text_hashes::bytea[],
    :occurred_at::timestamptz[], :outcomes::text[], :reasons::text[], :hub_keys::text[])
    AS r (memory_id, document_id, content_hash, text_hash, occurred_at, outcome, reason, hub_keys)
ON CONFLICT (tenant_id, owner_id, memory_id) DO UPDATE SET document_id = excluded.document_id,
    content_hash = excluded.content_hash, text_hash = excluded.text_hash, occurred_at = excluded.occurred_at,
    outcome = excluded.outcome, reason = excluded.reason, hub_keys = excluded.hub_keys, updated_at = excluded.updated_at;

-- name: mark_gone!
-- Marks memories as forgotten, with a new row for those without one.
INSERT INTO memory_ledger AS l (tenant_id, owner_id, memory_id, document_id, content_hash, text_hash, occurred_at, outcome, reason,
    updated_at)
SELECT :tenant_id, :owner_id, r.memory_id, '', '', '', :now::timestamptz, 'gone', '', :now::timestamptz
FROM unnest(:memory_ids::text[]) AS r (memory_id)
ON CONFLICT (tenant_id, owner_id, memory_id) DO UPDATE SET outcome = 'gone', reason = '', content_hash = '', hub_keys = '{}',
    updated_at = excluded.updated_at;

-- name: gone_memories
-- Forgotten memories whose pages still have to be rebuilt.
SELECT memory_id FROM memory_ledger
WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND outcome = 'gone' ORDER BY memory_id LIMIT :limit;

-- name: queue_reread!
-- Queues memories that have a row to be read again.
UPDATE memory_ledger SET outcome = 'owed', reason = '', content_hash = '', updated_at = :now
WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND memory_id = ANY(:memory_ids::text[]) AND outcome <> 'gone';

-- name: reread_quarantined!
-- Queues memories quarantined for one of the reasons to be read again.
UPDATE memory_ledger SET outcome = 'owed', reason = '', content_hash = '', updated_at = :now
WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND outcome = 'quarantined' AND reason = ANY(:reasons::text[]);

-- name: reread_queue
-- Memories queued to be read again, oldest first.
SELECT memory_id FROM memory_ledger
WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND outcome = 'owed' ORDER BY occurred_at, memory_id LIMIT :limit;

-- name: write_off!
-- Removes memories from the reread queue.
UPDATE memory_ledger SET outcome = 'applied', updated_at = :now
WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND memory_id = ANY(:memory_ids::text[]) AND outcome = 'owed';

-- name: unlinked
-- Memories that an entity page cites without leading to a topic that they name as their hub: to one of those that have the name. A
-- topic's keys are hashes of its names. Each step starts from the one before, by an index.
WITH topics AS MATERIALIZED (
    SELECT left(encode(sha256(convert_to(a.alias, 'UTF8')), 'hex'), 16) AS key, array_agg(t.page_id) AS page_ids
    FROM wiki_pages t JOIN wiki_page_aliases a ON a.tenant_id = t.tenant_id AND a.page_id = t.page_id
    WHERE t.tenant_id = :tenant_id AND t.owner_id = :owner_id AND t.type = 'topic' AND t.status = 'active' GROUP BY a.alias
), named AS MATERIALIZED (
    SELECT memory_id, unnest(hub_keys) AS key FROM memory_ledger
    WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND hub_keys <> '{}' AND hub_keys && ARRAY(SELECT key FROM topics)
)
SELECT DISTINCT n.memory_id FROM named n JOIN topics t ON t.key = n.key
CROSS JOIN LATERAL (
    SELECT p.page_id FROM wiki_section_sources s JOIN wiki_pages p ON p.tenant_id = s.tenant_id AND p.page_id = s.page_id
    WHERE s.tenant_id = :tenant_id AND s.owner_id = :owner_id AND s.source_kind = 'memory' AND s.source_ref = n.memory_id
        AND s.subject = 'section' AND p.type = 'entity' AND p.status = 'active' OFFSET 0) c
WHERE (SELECT count(*) FROM wiki_link_evidence e JOIN wiki_page_links k ON k.tenant_id = e.tenant_id AND k.link_id = e.link_id
    WHERE e.tenant_id = :tenant_id AND e.owner_id = :owner_id AND e.ref = n.memory_id AND e.origin = 'deterministic'
        AND k.from_page_id = c.page_id AND k.to_page_id = ANY (t.page_ids)) = 0
ORDER BY n.memory_id LIMIT :limit;

-- name: leave_unlinked!
-- Forgets which hubs some memories name, until they are read again.
UPDATE memory_ledger SET hub_keys = '{}'
WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND memory_id = ANY(:memory_ids::text[]) AND hub_keys <> '{}';

-- name: drop_from_ledger!
-- Deletes the rows of some memories.
DELETE FROM memory_ledger WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND memory_id = ANY(:memory_ids::text[]);

-- name: reopen_ledger!
-- Makes every memory new to the compile. The content last read is kept: edits and forgotten memories are detected by it.
UPDATE memory_ledger SET content_hash = ''
WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND content_hash <> '';

-- name: clear_ledger!
-- Deletes every row of a scope.
DELETE FROM memory_ledger WHERE tenant_id = :tenant_id AND owner_id = :owner_id;

-- name: rename_in_ledger!
-- Replaces memory ids in the ledger.
UPDATE memory_ledger l SET memory_id = r.new_id
FROM unnest(:old_ids::text[], :new_ids::text[]) AS r (old_id, new_id)
WHERE l.tenant_id = :tenant_id AND l.owner_id = :owner_id AND l.memory_id = r.old_id;

-- name: rename_sources!
-- Replaces memory ids in source rows.
UPDATE wiki_section_sources s SET source_ref = r.new_id
FROM unnest(:old_ids::text[], :new_ids::text[]) AS r (old_id, new_id)
WHERE s.tenant_id = :tenant_id AND s.owner_id = :owner_id AND s.source_kind = 'memory' AND s.source_ref = r.old_id;

-- name: rename_sightings!
-- Replaces memory ids in sightings.
UPDATE wiki_mention_sightings s SET memory_id = r.new_id
FROM unnest(:old_ids::text[], :new_ids::text[]) AS r (old_id, new_id)
WHERE s.tenant_id = :tenant_id AND s.owner_id = :owner_id AND s.memory_id = r.old_id;

-- name: rename_evidence!
-- Replaces memory ids in the evidence of links.
UPDATE wiki_link_evidence e SET ref = r.new_id,
    context = CASE WHEN e.context = 'co_mention:' || r.old_id THEN 'co_mention:' || r.new_id ELSE e.context END
FROM unnest(:old_ids::text[], :new_ids::text[]) AS r (old_id, new_id)
WHERE e.tenant_id = :tenant_id AND e.owner_id = :owner_id AND e.ref = r.old_id;

-- name: rename_in_log!
-- Replaces the ids of the memories that batches read and saw.
UPDATE compile_batches b SET
    memory_ids = ARRAY(
        SELECT coalesce((SELECT r.new_id FROM unnest(:old_ids::text[], :new_ids::text[]) AS r (old_id, new_id) WHERE r.old_id = m.id), m.id)
        FROM unnest(b.memory_ids) WITH ORDINALITY AS m (id, place) ORDER BY m.place),
    verdicts = coalesce((
        SELECT jsonb_agg(CASE WHEN r.new_id IS NULL THEN v.verdict ELSE jsonb_set(v.verdict, '{0}', to_jsonb(r.new_id)) END ORDER BY v.place)
        FROM jsonb_array_elements(b.verdicts) WITH ORDINALITY AS v (verdict, place)
        LEFT JOIN unnest(:old_ids::text[], :new_ids::text[]) AS r (old_id, new_id) ON r.old_id = v.verdict ->> 0), '[]'),
    seen_memory_ids = ARRAY(
        SELECT coalesce((SELECT r.new_id FROM unnest(:old_ids::text[], :new_ids::text[]) AS r (old_id, new_id) WHERE r.old_id = seen), seen)
        FROM unnest(b.seen_memory_ids) AS seen)
WHERE b.tenant_id = :tenant_id AND b.owner_id = :owner_id
    AND (b.seen_memory_ids && :old_ids::text[] OR b.memory_ids && :old_ids::text[]);

-- name: rename_in_answers!
-- Replaces the ids of the memories that answers were shown.
UPDATE model_answer_memories a SET memory_id = r.new_id
FROM unnest(:old_ids::text[], :new_ids::text[]) AS r (old_id, new_id)
WHERE a.tenant_id = :tenant_id AND a.owner_id = :owner_id AND a.memory_id = r.old_id;
