-- name: stored_bytes$
-- The size of an owner's turns and memories in bytes.
SELECT stored_bytes FROM owner_storage WHERE tenant_id = :tenant_id AND owner_id = :owner_id;

-- name: add_bytes$
-- Adds to the size of an owner's turns and memories, and returns the sum; the row is locked until the transaction ends.
INSERT INTO owner_storage AS s (tenant_id, owner_id, stored_bytes) VALUES (:tenant_id, :owner_id, greatest(0, :bytes::bigint))
ON CONFLICT (tenant_id, owner_id) DO UPDATE SET stored_bytes = greatest(0, s.stored_bytes + :bytes::bigint)
RETURNING stored_bytes;

-- name: bytes_of_memories$
-- The size of some memories in bytes.
SELECT coalesce(sum(octet_length(text) + octet_length(metadata::text)), 0)::bigint FROM memories
WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND memory_id = ANY(:memory_ids::text[]);

-- name: bytes_of_turns$
-- The size of some turns in bytes.
SELECT coalesce(sum(octet_length(text) + octet_length(parts::text)), 0)::bigint FROM turns
WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND turn_id = ANY(:turn_ids::uuid[]);

-- name: memory_count$
-- How many memories an owner has, counted up to a number.
SELECT count(*) FROM (
    SELECT FROM memories WHERE tenant_id = :tenant_id AND owner_id = :owner_id LIMIT :most::bigint) AS counted;
