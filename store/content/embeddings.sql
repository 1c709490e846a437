-- name: mark_place!
-- Marks an owner's place as written to.
INSERT INTO places_to_embed AS p (tenant_id, owner_id, kind, ref, change_no, changed_at)
VALUES (:tenant_id, :owner_id, :kind, :ref, 1, :now)
ON CONFLICT (tenant_id, owner_id, kind, ref) DO UPDATE SET change_no = p.change_no + 1;

-- name: mark_base!
-- Marks a base as written to.
INSERT INTO bases_to_embed AS b (tenant_id, base_id, change_no, changed_at) VALUES (:tenant_id, :base_id, 1, :now)
ON CONFLICT (tenant_id, base_id) DO UPDATE SET change_no = b.change_no + 1;

-- name: unmark_place!
-- Removes the mark, unless the place was written to since it was read.
DELETE FROM places_to_embed
WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND kind = :kind AND ref = :ref AND change_no = :change_no;

-- name: unmark_base!
-- Removes the mark, unless the base was written to since it was read.
DELETE FROM bases_to_embed WHERE tenant_id = :tenant_id AND base_id = :base_id AND change_no = :change_no;

-- name: waiting_places
-- The marked places, the longest waiting first.
SELECT tenant_id, owner_id, kind, ref, change_no FROM waiting_to_be_embedded(:limit::int);

-- name: places_with_texts
-- A page of the places of a kind that have texts.
SELECT tenant_id, owner_id, ref FROM places_with_texts(:kind, :after_tenant::uuid, :after_owner::uuid, :after_ref, :limit::int);

-- name: pending_turns
-- Turns of a thread without a vector of this embedder.
SELECT t.position AS item, left(t.text, 8000) AS text FROM turns t
WHERE t.tenant_id = :tenant_id AND t.owner_id = :owner_id AND t.thread_id = :ref AND t.text <> '' AND NOT EXISTS (
    SELECT 1 FROM turn_vectors v
    WHERE v.tenant_id = :tenant_id AND v.owner_id = :owner_id AND v.thread_id = :ref AND v.position = t.position
        AND v.embedder_no = :embedder_no OFFSET 0)
ORDER BY t.position DESC LIMIT :limit;

-- name: pending_memories
-- Memories of an owner whose present text has no vector of this embedder.
SELECT m.memory_id AS item, left(m.text, 8000) AS text, m.text_hash FROM memories m
WHERE m.tenant_id = :tenant_id AND m.owner_id = :owner_id AND NOT EXISTS (
    SELECT 1 FROM memory_vectors v
    WHERE v.tenant_id = :tenant_id AND v.owner_id = :owner_id AND v.memory_id = m.memory_id
        AND v.embedder_no = :embedder_no AND v.text_hash = m.text_hash OFFSET 0)
ORDER BY m.change_seq DESC LIMIT :limit;

-- name: pending_chunks
-- Chunks of a base without a vector of this embedder.
SELECT c.chunk_id AS item, left(c.text, 8000) AS text FROM chunks c
WHERE c.tenant_id = :tenant_id AND c.document_id IN (
        SELECT d.document_id FROM documents d WHERE d.tenant_id = :tenant_id AND d.base_id = :base_id OFFSET 0)
    AND NOT EXISTS (
        SELECT 1 FROM chunk_vectors v
        WHERE v.tenant_id = :tenant_id AND v.chunk_id = c.chunk_id AND v.embedder_no = :embedder_no OFFSET 0)
LIMIT :limit;

-- name: pending_sections
-- Sections of an owner's pages whose present text has no vector of this embedder.
SELECT s.item, s.text, s.text_hash FROM (
    SELECT w.section_id AS item, left(w.heading || ': ' || w.body_md, 8000) AS text,
        sha256(convert_to(w.heading || ': ' || w.body_md, 'UTF8')) AS text_hash
    FROM wiki_pages p JOIN wiki_page_sections w USING (tenant_id, page_id)
    WHERE p.tenant_id = :tenant_id AND p.owner_id = :owner_id AND p.status = 'active') s
WHERE NOT EXISTS (
    SELECT 1 FROM section_vectors v
    WHERE v.tenant_id = :tenant_id AND v.section_id = s.item AND v.embedder_no = :embedder_no AND v.text_hash = s.text_hash OFFSET 0)
LIMIT :limit;

-- name: pending_summaries
-- Summaries of an owner's pages whose present text has no vector of this embedder.
SELECT s.item, s.text, s.text_hash FROM (
    SELECT p.page_id AS item, left(p.title || ': ' || p.summary, 8000) AS text,
        sha256(convert_to(p.title || ': ' || p.summary, 'UTF8')) AS text_hash
    FROM wiki_pages p
    WHERE p.tenant_id = :tenant_id AND p.owner_id = :owner_id AND p.status = 'active' AND p.summary <> '') s
WHERE NOT EXISTS (
    SELECT 1 FROM page_vectors v
    WHERE v.tenant_id = :tenant_id AND v.page_id = s.item AND v.embedder_no = :embedder_no AND v.text_hash = s.text_hash OFFSET 0)
LIMIT :limit;

-- name: put_turn_vectors!
-- Writes vectors of turns that still exist, replacing earlier ones.
INSERT INTO turn_vectors (tenant_id, owner_id, embedder_no, position, vector, thread_id)
SELECT :tenant_id, :owner_id, :embedder_no, r.item, r.vector::halfvec, :ref
FROM unnest(:items::int[], :vectors::text[]) AS r (item, vector) CROSS JOIN LATERAL (
    SELECT 1 FROM turns t
    WHERE t.tenant_id = :tenant_id AND t.owner_id = :owner_id AND t.thread_id = :ref AND t.position = r.item AND t.text <> '' LIMIT 1) here
ON CONFLICT (tenant_id, owner_id, thread_id, position) DO UPDATE SET embedder_no = excluded.embedder_no, vector = excluded.vector;

-- name: put_memory_vectors!
-- Writes vectors of memories that still exist, replacing earlier ones.
INSERT INTO memory_vectors (tenant_id, owner_id, embedder_no, vector, memory_id, text_hash)
SELECT :tenant_id, :owner_id, :embedder_no, r.vector::halfvec, r.item, r.text_hash
FROM unnest(:items::text[], :vectors::text[], :text_hashes::bytea[]) AS r (item, vector, text_hash) CROSS JOIN LATERAL (
    SELECT 1 FROM memories m WHERE m.tenant_id = :tenant_id AND m.owner_id = :owner_id AND m.memory_id = r.item LIMIT 1) here
ON CONFLICT (tenant_id, owner_id, memory_id) DO UPDATE SET embedder_no = excluded.embedder_no, vector = excluded.vector,
    text_hash = excluded.text_hash;

-- name: put_chunk_vectors!
-- Writes vectors of chunks that still exist, replacing earlier ones.
INSERT INTO chunk_vectors (tenant_id, base_id, embedder_no, chunk_id, vector)
SELECT :tenant_id, :base_id, :embedder_no, r.item, r.vector::halfvec
FROM unnest(:items::uuid[], :vectors::text[]) AS r (item, vector) CROSS JOIN LATERAL (
    SELECT 1 FROM chunks c WHERE c.tenant_id = :tenant_id AND c.chunk_id = r.item LIMIT 1) here
ON CONFLICT (tenant_id, chunk_id) DO UPDATE SET embedder_no = excluded.embedder_no, vector = excluded.vector;

-- name: put_section_vectors!
-- Writes vectors of sections that still exist, replacing earlier ones.
INSERT INTO section_vectors (tenant_id, owner_id, embedder_no, section_id, vector, text_hash)
SELECT :tenant_id, :owner_id, :embedder_no, r.item, r.vector::halfvec, r.text_hash
FROM unnest(:items::uuid[], :vectors::text[], :text_hashes::bytea[]) AS r (item, vector, text_hash) CROSS JOIN LATERAL (
    SELECT 1 FROM wiki_page_sections s WHERE s.tenant_id = :tenant_id AND s.section_id = r.item LIMIT 1) here
ON CONFLICT (tenant_id, section_id) DO UPDATE SET embedder_no = excluded.embedder_no, vector = excluded.vector,
    text_hash = excluded.text_hash;

-- name: put_summary_vectors!
-- Writes vectors of page summaries that still exist, replacing earlier ones.
INSERT INTO page_vectors (tenant_id, owner_id, embedder_no, page_id, vector, text_hash)
SELECT :tenant_id, :owner_id, :embedder_no, r.item, r.vector::halfvec, r.text_hash
FROM unnest(:items::uuid[], :vectors::text[], :text_hashes::bytea[]) AS r (item, vector, text_hash) CROSS JOIN LATERAL (
    SELECT 1 FROM wiki_pages p WHERE p.tenant_id = :tenant_id AND p.page_id = r.item LIMIT 1) here
ON CONFLICT (tenant_id, page_id) DO UPDATE SET embedder_no = excluded.embedder_no, vector = excluded.vector,
    text_hash = excluded.text_hash;
