-- name: ensure_scope!
-- Creates a scope's row if missing. Its fence starts above any earlier row's: an owner may be forgotten and created again.
INSERT INTO wiki_compile_cursors (tenant_id, owner_id, cursor, lease_holder, fence, dirty_through, wiki_revision, updated_at)
VALUES (:tenant_id, :owner_id, '', '', (1000000 * extract(epoch FROM clock_timestamp()))::bigint, 0, 0, :now)
ON CONFLICT (tenant_id, owner_id) DO NOTHING;

-- name: lock_scope^
-- The row, locked until the transaction ends.
SELECT cursor, fence, lease_holder, lease_until, dirty_through, read_through, wiki_revision, aggregated_revision, batch_seq, crashes
FROM wiki_compile_cursors WHERE tenant_id = :tenant_id AND owner_id = :owner_id FOR UPDATE;

-- name: read_scope^
-- The row, without a lock.
SELECT cursor, fence, lease_holder, lease_until, dirty_through, read_through, wiki_revision, aggregated_revision, batch_seq, crashes
FROM wiki_compile_cursors WHERE tenant_id = :tenant_id AND owner_id = :owner_id;

-- name: scopes_of_tenant
-- The rows of a tenant's scopes, the farthest behind its memories first, each with the number of all.
SELECT owner_id, cursor, fence, lease_holder, lease_until, dirty_through, read_through, wiki_revision, aggregated_revision, batch_seq, crashes,
    owner_count
FROM tenants AS t CROSS JOIN compile_states(:tenant_id, :limit::int)
WHERE t.tenant_id = :tenant_id;

-- name: lock_held_scope^
-- The row, locked until the transaction ends, if the fence is still the holder's.
SELECT cursor, fence, lease_holder, lease_until, dirty_through, read_through, wiki_revision, aggregated_revision, batch_seq, crashes
FROM wiki_compile_cursors WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND fence = :fence AND lease_holder <> '' FOR UPDATE;

-- name: lock_free_scope$
-- Locks the row, unless another transaction has it locked or a lease is in force; returns its fence. A lease that ends later than one
-- taken now would, was taken before the clock was set back: fencing makes it safe to end it.
SELECT fence FROM wiki_compile_cursors
WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND (lease_until IS NULL OR lease_until <= :now OR lease_until > :longest)
FOR UPDATE SKIP LOCKED;

-- name: take_scope^
-- Raises the fence and sets the lease.
UPDATE wiki_compile_cursors SET fence = fence + 1, lease_holder = :holder, lease_until = :until, updated_at = :now
WHERE tenant_id = :tenant_id AND owner_id = :owner_id
RETURNING cursor, fence, lease_holder, lease_until, dirty_through, read_through, wiki_revision, aggregated_revision, batch_seq, crashes;

-- name: renew_lease!
-- Renews the lease of the holder of the fence.
UPDATE wiki_compile_cursors SET lease_until = :until
WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND fence = :fence AND lease_holder <> '';

-- name: release_scope!
-- Ends the lease of the holder of the fence.
UPDATE wiki_compile_cursors SET lease_holder = '', lease_until = NULL, crashes = 0, updated_at = :now
WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND fence = :fence AND lease_holder <> '';

-- name: open_apply^
-- Raises the revision if fence, cursor and revision are the expected ones. The stored count of pages stays: their writer recounts.
UPDATE wiki_compile_cursors SET wiki_revision = wiki_revision + 1, counted_revision = counted_revision + 1, updated_at = :now,
    crashes = CASE WHEN crashes >= 3 THEN 3 ELSE 0 END
WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND fence = :fence AND lease_holder <> '' AND cursor = :cursor
    AND wiki_revision = :revision
RETURNING cursor, fence, lease_holder, lease_until, dirty_through, read_through, wiki_revision, aggregated_revision, batch_seq, crashes;

-- name: reach^
-- Moves the cursor.
UPDATE wiki_compile_cursors SET cursor = :cursor, read_through = greatest(read_through, :read_through::bigint)
WHERE tenant_id = :tenant_id AND owner_id = :owner_id
RETURNING cursor, fence, lease_holder, lease_until, dirty_through, read_through, wiki_revision, aggregated_revision, batch_seq, crashes;

-- name: mark_aggregated^
-- Records that the wiki was aggregated at its present revision.
UPDATE wiki_compile_cursors SET aggregated_revision = wiki_revision WHERE tenant_id = :tenant_id AND owner_id = :owner_id
RETURNING cursor, fence, lease_holder, lease_until, dirty_through, read_through, wiki_revision, aggregated_revision, batch_seq, crashes;

-- name: bump_revision<!
-- Raises the wiki's revision and returns it. The stored count of pages stays: their writer has recounted.
UPDATE wiki_compile_cursors SET wiki_revision = wiki_revision + 1, counted_revision = counted_revision + 1, updated_at = :now
WHERE tenant_id = :tenant_id AND owner_id = :owner_id RETURNING wiki_revision;

-- name: next_batch_seq<!
-- Takes the next number of the scope's log.
UPDATE wiki_compile_cursors SET batch_seq = batch_seq + 1, updated_at = :now
WHERE tenant_id = :tenant_id AND owner_id = :owner_id RETURNING batch_seq;

-- name: count_crash!
-- Counts a worker that died.
UPDATE wiki_compile_cursors SET crashes = crashes + 1, updated_at = :now WHERE tenant_id = :tenant_id AND owner_id = :owner_id;

-- name: read_up_to!
-- Records the feed position up to which nothing to compile was found.
UPDATE wiki_compile_cursors SET read_through = greatest(read_through, :read_through::bigint), updated_at = :now
WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND fence = :fence;

-- name: mark_dirty!
-- Records that memories up to a feed position wait to be compiled; null means the end of the built-in feed.
INSERT INTO wiki_compile_cursors AS c (tenant_id, owner_id, cursor, lease_holder, fence, dirty_through, wiki_revision, updated_at)
SELECT :tenant_id, :owner_id, '', '', (1000000 * extract(epoch FROM clock_timestamp()))::bigint,
    coalesce(:through::bigint, max(f.change_seq), 0), 0, :now
FROM memory_feeds f
WHERE f.tenant_id = :tenant_id AND f.owner_id = :owner_id
ON CONFLICT (tenant_id, owner_id) DO UPDATE SET dirty_through = greatest(c.dirty_through, excluded.dirty_through),
    updated_at = excluded.updated_at;

-- name: is_unannounced$
-- Whether memories were written to the built-in feed for which no compile was ever requested.
SELECT f.change_seq > coalesce(c.dirty_through, 0) FROM memory_feeds f LEFT JOIN wiki_compile_cursors c
    ON c.tenant_id = f.tenant_id AND c.owner_id = f.owner_id
WHERE f.tenant_id = :tenant_id AND f.owner_id = :owner_id;

-- name: cover_requests!
-- Sets the position up to which memories of a timed feed wait; it goes back if the clock does.
UPDATE wiki_compile_cursors SET dirty_through = :through, updated_at = :now WHERE tenant_id = :tenant_id AND owner_id = :owner_id;

-- name: rewind_scope!
-- Sets the cursor to the beginning.
UPDATE wiki_compile_cursors SET cursor = '', read_through = 0, aggregated_revision = 0, crashes = 0, updated_at = :now
WHERE tenant_id = :tenant_id AND owner_id = :owner_id;
