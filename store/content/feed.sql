-- name: memories_after
-- Accepted memories after a feed number, in feed order, except those in an accepted summary, each with the feed's last number;
-- if there are none, one row with that number.
SELECT f.change_seq AS through, m.memory_id, m.change_seq, m.text,
    memory_hash(m.text_hash, m.valid_from, m.valid_until, m.valid_precision, m.until_precision) AS text_hash, m.occurred_at,
    m.document_id, m.metadata, m.valid_from, m.valid_until, m.valid_precision, m.until_precision
FROM memory_feeds f LEFT JOIN LATERAL (
    SELECT * FROM memories
    WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND change_seq > :change_seq::bigint AND status = 'accepted'
        AND NOT is_compressed
    ORDER BY change_seq LIMIT :limit) m ON true
WHERE f.tenant_id = :tenant_id AND f.owner_id = :owner_id ORDER BY m.change_seq;

-- name: memories_by_ids
-- Accepted memories by id, except those in an accepted summary.
SELECT memory_id, change_seq, text,
    memory_hash(text_hash, valid_from, valid_until, valid_precision, until_precision) AS text_hash, occurred_at, document_id,
    metadata, valid_from, valid_until, valid_precision, until_precision
FROM memories
WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND memory_id = ANY(:memory_ids::text[]) AND status = 'accepted'
    AND NOT is_compressed
ORDER BY memory_id;

-- name: memories_by_ids_known_at
-- The same, each with the end of validity that was known at an instant of its own.
SELECT m.memory_id, m.change_seq, m.text,
    memory_hash(m.text_hash, m.valid_from, k.valid_until, m.valid_precision, k.until_precision) AS text_hash, m.occurred_at,
    m.document_id, m.metadata, m.valid_from, k.valid_until, m.valid_precision, k.until_precision
FROM unnest(:memory_ids::text[], :instants::timestamptz[]) AS g (memory_id, instant)
CROSS JOIN LATERAL (
    SELECT * FROM memories
    WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND memory_id = g.memory_id AND status = 'accepted'
        AND NOT is_compressed LIMIT 1) m
CROSS JOIN LATERAL memory_standing(:tenant_id, :owner_id, m.memory_id, g.instant) k
ORDER BY m.memory_id;

-- name: list_memory_hashes
-- Every accepted memory of an owner, without its text, except those in an accepted summary.
SELECT memory_id, document_id,
    memory_hash(text_hash, valid_from, valid_until, valid_precision, until_precision) AS text_hash
FROM memories
WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND status = 'accepted' AND NOT is_compressed ORDER BY memory_id;

-- name: take_feed_number<!
-- Takes the feed's next number.
INSERT INTO memory_feeds AS f (tenant_id, owner_id, change_seq) VALUES (:tenant_id, :owner_id, 1)
ON CONFLICT (tenant_id, owner_id) DO UPDATE SET change_seq = f.change_seq + 1 RETURNING change_seq;

-- name: open_feed<!
-- Creates or locks the owner's change feed until the transaction ends, and returns its last sequence number.
INSERT INTO memory_feeds AS f (tenant_id, owner_id, change_seq) VALUES (:tenant_id, :owner_id, 0)
ON CONFLICT (tenant_id, owner_id) DO UPDATE SET change_seq = f.change_seq RETURNING change_seq;

-- name: lock_feed$
-- Locks the owner's change feed, if there is one, until the transaction ends.
SELECT change_seq FROM memory_feeds WHERE tenant_id = :tenant_id AND owner_id = :owner_id FOR UPDATE;

-- name: advance_feed!
-- Records that the feed's next numbers were taken.
UPDATE memory_feeds SET change_seq = change_seq + :count::bigint WHERE tenant_id = :tenant_id AND owner_id = :owner_id;
