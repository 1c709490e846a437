-- name: open_feed<!
-- Creates or locks the owner's change feed until the transaction ends, and returns its last sequence number.
INSERT INTO memory_feeds AS f (tenant_id, owner_id, change_seq) VALUES (:tenant_id, :owner_id, 0)
ON CONFLICT (tenant_id, owner_id) DO UPDATE SET change_seq = f.change_seq RETURNING change_seq;

-- name: roles_of_turns
-- The roles of the owner's turns with the given ids.
SELECT turn_id::text AS turn_id, role FROM turns
WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND turn_id = ANY(:turn_ids::uuid[]);

-- name: write_memories^
-- Writes new and changed memories, with the feed's next numbers in the given order; returns the count of each.
WITH given AS (
    SELECT r.place, r.memory_id, r.document_id, r.text, r.metadata, r.occurred_at, r.text_hash, r.signature, r.word_count, r.words,
        ARRAY(SELECT jsonb_array_elements_text(r.turns)) AS turn_ids
    FROM unnest(:memory_ids::text[], :document_ids::text[], :texts::text[], :metadata::jsonb[], :turns::jsonb[],
        :occurred_at::timestamptz[], :text_hashes::bytea[], :signatures::bytea[], :word_counts::int[], :words::text[])
        WITH ORDINALITY AS r (memory_id, document_id, text, metadata, turns, occurred_at, text_hash, signature, word_count,
        words, place)
), changed AS (  -- an instant that was not given is no change
    SELECT given.*, known.memory_id IS NULL AS is_new, row_number() OVER (ORDER BY given.place) AS step,
        coalesce(given.occurred_at, known.occurred_at, :now::timestamptz) AS happened_at
    FROM given LEFT JOIN LATERAL (
        SELECT m.memory_id, m.text_hash, m.metadata, m.document_id, m.turn_ids, m.occurred_at FROM memories m
        WHERE m.tenant_id = :tenant_id AND m.owner_id = :owner_id AND m.memory_id = given.memory_id LIMIT 1) known ON true
    WHERE (known.text_hash, known.metadata, known.document_id, known.turn_ids, known.occurred_at) IS DISTINCT FROM
        (given.text_hash, given.metadata, given.document_id, given.turn_ids, coalesce(given.occurred_at, known.occurred_at))
        OR known.memory_id IS NULL
), written AS (
    INSERT INTO memories (tenant_id, owner_id, memory_id, change_seq, document_id, text, metadata, turn_ids, occurred_at,
        created_at, updated_at, text_hash, signature, word_count, search_tsv)
    SELECT :tenant_id, :owner_id, memory_id, :change_seq::bigint + step, document_id, text, metadata, turn_ids, happened_at,
        :now, :now, text_hash, signature, word_count, search_vector(words)
    FROM changed
    ON CONFLICT (tenant_id, owner_id, memory_id) DO UPDATE SET change_seq = excluded.change_seq,
        document_id = excluded.document_id, text = excluded.text, metadata = excluded.metadata, turn_ids = excluded.turn_ids,
        occurred_at = excluded.occurred_at, updated_at = excluded.updated_at, text_hash = excluded.text_hash,
        signature = excluded.signature, word_count = excluded.word_count, search_tsv = excluded.search_tsv
)
SELECT count(*) FILTER (WHERE is_new) AS created_count, count(*) FILTER (WHERE NOT is_new) AS updated_count FROM changed;

-- name: advance_feed!
-- Records that the feed's next numbers were taken.
UPDATE memory_feeds SET change_seq = change_seq + :count::bigint WHERE tenant_id = :tenant_id AND owner_id = :owner_id;

-- name: get_memory^
-- One memory, or no row.
SELECT memory_id, text, occurred_at, document_id, metadata, turn_ids, created_at, updated_at FROM memories
WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND memory_id = :memory_id;

-- name: list_memories
-- A page of an owner's memories, newest first, up to the one at which the texts exceed a number of bytes. The separate bound on
-- time lets the index scan start where the last page ended.
SELECT memory_id, text, occurred_at, document_id, metadata, turn_ids, created_at, updated_at
FROM (SELECT *, sum(octet_length(text)) OVER (ORDER BY occurred_at DESC, memory_id) - octet_length(text) AS bytes_before
    FROM memories
    WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND occurred_at <= :before::timestamptz
        AND (occurred_at < :before OR memory_id > :after_id)
    ORDER BY occurred_at DESC, memory_id LIMIT :limit) listed
WHERE bytes_before <= :most_bytes::bigint ORDER BY occurred_at DESC, memory_id;

-- name: delete_memory!
-- Deletes a memory.
DELETE FROM memories WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND memory_id = :memory_id;

-- name: recall_memories
-- An owner's memories that match a question, with match data.
SELECT f.matched, f.cosines, f.frequencies, f.total, m.memory_id, m.text, m.occurred_at, m.document_id, m.turn_ids, m.signature
FROM recall_memories(:tenant_id, :owner_id, :words::text[], :embedder_no::int, :vectors::text[], :limit::int, :weights::real[]) f
CROSS JOIN LATERAL (
    SELECT * FROM memories
    WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND memory_id = f.found_id LIMIT 1) m;
