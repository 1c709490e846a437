-- name: places_without_marks
-- A place of each kind that has texts without marks.
SELECT kind, tenant_id, owner_id, ref FROM places_without_marks();

-- name: turns_without_marks
-- Some of a thread's turns without marks, locked until the transaction ends; turns locked by others are left out.
SELECT position AS item, left(text, 2000) AS text FROM turns
WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND thread_id = :ref AND marks IS NULL LIMIT :limit FOR UPDATE SKIP LOCKED;

-- name: memories_without_marks
-- The same for an owner's memories.
SELECT memory_id AS item, left(text, 2000) AS text FROM memories
WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND marks IS NULL LIMIT :limit FOR UPDATE SKIP LOCKED;

-- name: chunks_without_marks
-- The same for a base's chunks.
SELECT chunk_id AS item, left(text, 2000) AS text FROM chunks
WHERE tenant_id = :tenant_id AND base_id = :base_id AND marks IS NULL LIMIT :limit FOR UPDATE SKIP LOCKED;

-- name: put_turn_marks!
-- Writes the marks of turns that the transaction has locked.
UPDATE turns t SET marks = r.marks FROM unnest(:items::int[], :marks::smallint[]) AS r (item, marks)
WHERE t.tenant_id = :tenant_id AND t.owner_id = :owner_id AND t.thread_id = :ref AND t.position = r.item;

-- name: put_memory_marks!
-- The same for memories.
UPDATE memories m SET marks = r.marks FROM unnest(:items::text[], :marks::smallint[]) AS r (item, marks)
WHERE m.tenant_id = :tenant_id AND m.owner_id = :owner_id AND m.memory_id = r.item;

-- name: put_chunk_marks!
-- The same for chunks.
UPDATE chunks c SET marks = r.marks FROM unnest(:items::uuid[], :marks::smallint[]) AS r (item, marks)
WHERE c.tenant_id = :tenant_id AND c.base_id = :base_id AND c.chunk_id = r.item;
