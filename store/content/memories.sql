-- name: roles_of_turns
-- The roles of the owner's turns with the given ids.
SELECT turn_id::text AS turn_id, role FROM turns
WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND turn_id = ANY(:turn_ids::uuid[]);

-- name: merge_memories
-- The new and changed ones of some memories, given as columns, in their order: the values to write, named as the columns of
-- `write_memories`; and of a known one, whether its text or validity changed or its trust fell, and whether a field changed that a
-- summary takes over. A missing value is no change; a known memory keeps its status, and its authority never rises.
WITH given AS (
    SELECT r.place, r.memory_id, r.document_id, r.metadata, r.occurred_at, r.text_hash, r.memory_type, r.status, r.confidence,
        r.authority, r.domains, r.episodes, r.events, r.valid_from, r.stated_until, r.valid_precision,
        ARRAY(SELECT jsonb_array_elements_text(r.turns)) AS turn_ids
    FROM unnest(:memory_ids::text[], :document_ids::text[], :metadata::jsonb[], :turns::jsonb[], :occurred_at::timestamptz[],
        :text_hashes::bytea[], :memory_types::text[], :statuses::text[], :confidences::float8[], :authorities::text[],
        :domains::jsonb[], :episodes::jsonb[], :events::jsonb[], :valid_from::timestamptz[], :stated_until::timestamptz[],
        :valid_precisions::text[])
        WITH ORDINALITY AS r (memory_id, document_id, metadata, turns, occurred_at, text_hash, memory_type, status, confidence,
        authority, domains, episodes, events, valid_from, stated_until, valid_precision, place)
), merged AS (
    SELECT given.place, given.memory_id, given.document_id, given.metadata, given.text_hash, given.turn_ids,
        known.memory_id IS NULL AS is_new,
        coalesce(given.occurred_at, known.occurred_at, :now::timestamptz) AS happened_at,
        coalesce(given.memory_type, known.memory_type, 'fact') AS memory_type,
        coalesce(known.status, given.status, 'accepted') AS status,
        CASE WHEN known.source_events_json <> '[]' THEN least(given.confidence, known.confidence)
            ELSE coalesce(given.confidence, known.confidence, 1) END AS confidence,
        CASE WHEN known.memory_id IS NULL THEN coalesce(given.authority, 'Agent')
            WHEN given.authority IS NULL AND known.text_hash = given.text_hash THEN known.authority
            WHEN trust_rank(coalesce(given.authority, 'Agent')) < trust_rank(known.authority) THEN coalesce(given.authority, 'Agent')
            ELSE known.authority END AS authority,
        coalesce(given.domains, known.domains_json, '[]') AS domains_json,
        coalesce(given.episodes, known.source_episodes_json, '[]') AS source_episodes_json,
        coalesce(given.events, known.source_events_json, '[]') AS source_events_json,
        coalesce(given.valid_from, known.valid_from) AS valid_from, coalesce(given.stated_until, known.stated_until) AS stated_until,
        coalesce(given.valid_precision, known.valid_precision, 'instant') AS valid_precision,
        known.valid_from AS known_from, known.stated_until AS known_until, known.valid_precision AS known_precision,
        known.text_hash AS known_hash, known.metadata AS known_metadata, known.document_id AS known_document_id,
        known.turn_ids AS known_turn_ids, known.occurred_at AS known_at, known.memory_type AS known_type,
        known.confidence AS known_confidence, known.authority AS known_authority, known.domains_json AS known_domains,
        known.source_episodes_json AS known_episodes, known.source_events_json AS known_events
    FROM given LEFT JOIN LATERAL (
        SELECT * FROM memories m
        WHERE m.tenant_id = :tenant_id AND m.owner_id = :owner_id AND m.memory_id = given.memory_id LIMIT 1) known ON true
), changed AS (
    SELECT * FROM merged
    WHERE is_new OR (known_hash, known_metadata, known_document_id, known_turn_ids, known_at, known_type, known_confidence,
        known_authority, known_domains, known_episodes, known_events, known_from, known_until, known_precision)
        IS DISTINCT FROM (text_hash, metadata, document_id, turn_ids, happened_at, memory_type, confidence, authority, domains_json,
        source_episodes_json, source_events_json, valid_from, stated_until, valid_precision)
)
SELECT place, is_new, happened_at AS occurred_at, memory_type AS memory_types, status AS statuses, confidence AS confidences,
    authority AS authorities, domains_json AS domains, source_episodes_json AS episodes, source_events_json AS events, valid_from,
    stated_until, valid_precision AS valid_precisions,
    NOT is_new AND (known_hash, known_at, known_from, known_authority)
        IS DISTINCT FROM (text_hash, happened_at, valid_from, authority) AS is_retold,
    NOT is_new AND (known_hash, known_at, known_confidence, known_authority, known_domains, known_episodes, known_events,
        known_turn_ids, known_metadata->>'origin') IS DISTINCT FROM (text_hash, happened_at, confidence, authority, domains_json,
        source_episodes_json, source_events_json, turn_ids, metadata->>'origin') AS is_edited
FROM changed ORDER BY place;

-- name: write_memories!
-- Writes new and changed memories, given as columns, with the feed's next numbers in the given order.
INSERT INTO memories (tenant_id, owner_id, memory_id, change_seq, document_id, text, metadata, turn_ids, occurred_at, created_at,
    updated_at, text_hash, signature, word_count, search_tsv, memory_type, status, confidence, authority, domains_json,
    source_episodes_json, source_events_json, valid_from, stated_until, valid_precision, valid_until, until_precision, marks)
SELECT :tenant_id, :owner_id, r.memory_id, :change_seq::bigint + r.step, r.document_id, r.text, r.metadata,
    ARRAY(SELECT jsonb_array_elements_text(r.turns)), r.occurred_at, :now, :now, r.text_hash, r.signature, r.word_count,
    search_vector(r.words), r.memory_type, r.status, r.confidence, r.authority, r.domains, r.episodes, r.events, r.valid_from,
    r.stated_until, r.valid_precision, r.stated_until, CASE WHEN r.stated_until IS NULL THEN 'instant' ELSE r.valid_precision END,
    r.marks
FROM unnest(:memory_ids::text[], :document_ids::text[], :texts::text[], :metadata::jsonb[], :turns::jsonb[],
    :occurred_at::timestamptz[], :text_hashes::bytea[], :signatures::bytea[], :word_counts::int[], :words::text[],
    :memory_types::text[], :statuses::text[], :confidences::float8[], :authorities::text[], :domains::jsonb[],
    :episodes::jsonb[], :events::jsonb[], :valid_from::timestamptz[], :stated_until::timestamptz[], :valid_precisions::text[],
    :marks::smallint[])
    WITH ORDINALITY AS r (memory_id, document_id, text, metadata, turns, occurred_at, text_hash, signature, word_count, words,
    memory_type, status, confidence, authority, domains, episodes, events, valid_from, stated_until, valid_precision, marks, step)
ON CONFLICT (tenant_id, owner_id, memory_id) DO UPDATE SET change_seq = excluded.change_seq,
    document_id = excluded.document_id, text = excluded.text, metadata = excluded.metadata, turn_ids = excluded.turn_ids,
    occurred_at = excluded.occurred_at, updated_at = excluded.updated_at, text_hash = excluded.text_hash,
    signature = excluded.signature, word_count = excluded.word_count, search_tsv = excluded.search_tsv,
    memory_type = excluded.memory_type, confidence = excluded.confidence, authority = excluded.authority,
    domains_json = excluded.domains_json, source_episodes_json = excluded.source_episodes_json,
    source_events_json = excluded.source_events_json, valid_from = excluded.valid_from,
    stated_until = excluded.stated_until, valid_precision = excluded.valid_precision, marks = excluded.marks;

-- name: pin_memories!
-- Pins memories; a memory that is already pinned keeps its place.
UPDATE memories SET pinned_at = :now
WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND memory_id = ANY(:memory_ids::text[]) AND pinned_at IS NULL;

-- name: unpin_memories!
-- Unpins memories.
UPDATE memories SET pinned_at = NULL
WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND memory_id = ANY(:memory_ids::text[]) AND pinned_at IS NOT NULL;

-- name: pinned_memories
-- An owner's pinned memories, in the order in which they were pinned; rejected ones are left out.
SELECT memory_id, text, occurred_at, document_id, turn_ids, status, confidence, authority, false AS is_compressed, valid_from,
    valid_until, valid_precision, until_precision, false AS has_sources, marks, signature
FROM memories
WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND pinned_at IS NOT NULL AND status <> 'rejected'
ORDER BY pinned_at, memory_id LIMIT 300;

-- name: pinned_memories_known_at
-- The same, as they were known at an instant.
SELECT m.memory_id, m.text, m.occurred_at, m.document_id, m.turn_ids, k.status, m.confidence, m.authority, false AS is_compressed,
    m.valid_from, k.valid_until, m.valid_precision, k.until_precision, false AS has_sources, m.marks, m.signature
FROM memories m CROSS JOIN LATERAL memory_standing(:tenant_id, :owner_id, m.memory_id, :known_at::timestamptz) k
WHERE m.tenant_id = :tenant_id AND m.owner_id = :owner_id AND m.pinned_at <= :known_at::timestamptz AND k.status <> 'rejected'
ORDER BY m.pinned_at, m.memory_id LIMIT 300;

-- name: get_memory^
-- One memory, or no row.
SELECT memory_id, text, occurred_at, document_id, metadata, turn_ids, created_at, updated_at, memory_type, status, confidence,
    authority, domains_json, source_episodes_json, source_events_json, pinned_at IS NOT NULL AS is_pinned, valid_from, valid_until,
    valid_precision, until_precision, is_compressed
FROM memories WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND memory_id = :memory_id;

-- name: get_memories
-- Memories by id.
SELECT memory_id, text, occurred_at, document_id, metadata, turn_ids, created_at, updated_at, memory_type, status, confidence,
    authority, domains_json, source_episodes_json, source_events_json, pinned_at IS NOT NULL AS is_pinned, valid_from, valid_until,
    valid_precision, until_precision, is_compressed
FROM memories WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND memory_id = ANY(:memory_ids::text[])
ORDER BY memory_id;

-- name: list_memories
-- A page of an owner's memories, newest first, up to the one at which the texts exceed a number of bytes. The separate bound on
-- time lets the index scan start where the last page ended.
SELECT memory_id, text, occurred_at, document_id, metadata, turn_ids, created_at, updated_at, memory_type, status, confidence,
    authority, domains_json, source_episodes_json, source_events_json, pinned_at IS NOT NULL AS is_pinned, valid_from, valid_until,
    valid_precision, until_precision, is_compressed
FROM (SELECT *, sum(octet_length(text)) OVER (ORDER BY occurred_at DESC, memory_id) - octet_length(text) AS bytes_before
    FROM memories
    WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND occurred_at <= :before::timestamptz
        AND (occurred_at < :before OR memory_id > :after_id) AND (NOT :pinned_only::bool OR pinned_at IS NOT NULL)
        AND (:as_of::timestamptz IS NULL OR coalesce(valid_from <= :as_of::timestamptz, true)
            AND coalesce(valid_until > :as_of::timestamptz, true))
    ORDER BY occurred_at DESC, memory_id LIMIT :limit) listed
WHERE bytes_before <= :most_bytes::bigint ORDER BY occurred_at DESC, memory_id;

-- name: list_memories_known_at
-- The same, as they were known at an instant: without memories written later, and with the edges and the status of that time. Edges
-- are looked up in the index's own order, for a page.
SELECT memory_id, text, occurred_at, document_id, metadata, turn_ids, created_at, updated_at, memory_type, status, confidence,
    authority, domains_json, source_episodes_json, source_events_json, is_pinned, valid_from, valid_until, valid_precision,
    until_precision, is_compressed
FROM (SELECT m.memory_id, m.text, m.occurred_at, m.document_id, m.metadata, m.turn_ids, m.created_at, m.updated_at, m.memory_type,
        k.status, m.confidence, m.authority, m.domains_json, m.source_episodes_json, m.source_events_json,
        m.pinned_at IS NOT NULL AS is_pinned, m.valid_from, k.valid_until, m.valid_precision, k.until_precision, k.is_compressed,
        sum(octet_length(m.text)) OVER (ORDER BY m.occurred_at DESC, m.memory_id) - octet_length(m.text) AS bytes_before
    FROM memories m CROSS JOIN LATERAL (
        SELECT * FROM memory_standing(:tenant_id, :owner_id, m.memory_id, :known_at::timestamptz) OFFSET 0) k
    WHERE m.tenant_id = :tenant_id AND m.owner_id = :owner_id AND m.occurred_at <= :before::timestamptz
        AND (m.occurred_at < :before OR m.memory_id > :after_id) AND (NOT :pinned_only::bool OR m.pinned_at IS NOT NULL)
        AND m.created_at <= :known_at::timestamptz AND (:as_of::timestamptz IS NULL
            OR coalesce(m.valid_from <= :as_of::timestamptz, true) AND coalesce(k.valid_until > :as_of::timestamptz, true))
    ORDER BY m.occurred_at DESC, m.memory_id LIMIT :limit) listed
WHERE bytes_before <= :most_bytes::bigint ORDER BY occurred_at DESC, memory_id;

-- name: lock_memories
-- Locks memories by id until the transaction ends, and returns them.
SELECT memory_id, text, occurred_at, document_id, metadata, turn_ids, created_at, updated_at, memory_type, status, confidence,
    authority, domains_json, source_episodes_json, source_events_json, pinned_at IS NOT NULL AS is_pinned, valid_from, valid_until,
    valid_precision, until_precision, is_compressed
FROM memories WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND memory_id = ANY(:memory_ids::text[])
ORDER BY memory_id FOR UPDATE;

-- name: delete_memories!
-- Deletes memories.
DELETE FROM memories WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND memory_id = ANY(:memory_ids::text[]);

-- name: recall_memories
-- An owner's memories that match a question, with match data; rejected ones are left out.
SELECT f.matched, f.cosines, f.frequencies, f.total, m.memory_id, m.text, m.occurred_at, m.document_id, m.turn_ids,
    m.status, m.confidence, m.authority, m.is_compressed, m.valid_from, m.valid_until, m.valid_precision, m.until_precision,
    m.source_events_json <> '[]' AS has_sources, m.marks, m.signature
FROM recall_memories(:tenant_id, :owner_id, :words::text[], :embedder_no::int, :vectors::text[], :limit::int, :weights::real[]) f
CROSS JOIN LATERAL (
    SELECT * FROM memories
    WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND memory_id = f.found_id AND status <> 'rejected' LIMIT 1) m;

-- name: memories_of_times
-- The newest memories of an owner in given ranges of time; rejected ones are left out.
SELECT m.memory_id, m.text, m.occurred_at, m.document_id, m.turn_ids, m.status, m.confidence, m.authority, m.is_compressed,
    m.valid_from, m.valid_until, m.valid_precision, m.until_precision, m.source_events_json <> '[]' AS has_sources, m.marks, m.signature
FROM unnest(:starts::timestamptz[], :ends::timestamptz[]) AS r (starts, ends) CROSS JOIN LATERAL (
    SELECT * FROM memories
    WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND occurred_at >= r.starts AND occurred_at < r.ends
        AND status <> 'rejected'
    ORDER BY occurred_at DESC, memory_id LIMIT :limit) m
ORDER BY m.occurred_at DESC, m.memory_id LIMIT :limit;

-- name: search_memories_known_at
-- The same, as they were known at an instant: without memories written later, and with the edges and the status of that time.
SELECT f.matched, f.cosines, f.frequencies, f.total, m.memory_id, m.text, m.occurred_at, m.document_id, m.turn_ids,
    k.status, m.confidence, m.authority, k.is_compressed, m.valid_from, k.valid_until, m.valid_precision, k.until_precision,
    m.source_events_json <> '[]' AS has_sources, m.marks, m.signature
FROM recall_memories(:tenant_id, :owner_id, :words::text[], :embedder_no::int, :vectors::text[], :limit::int, :weights::real[]) f
CROSS JOIN LATERAL (
    SELECT * FROM memories
    WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND memory_id = f.found_id
        AND created_at <= :known_at::timestamptz LIMIT 1) m
CROSS JOIN LATERAL memory_standing(:tenant_id, :owner_id, m.memory_id, :known_at::timestamptz) k
WHERE k.status <> 'rejected';
