-- name: make_drafts#
-- A table for the texts that every owner gets.
CREATE TEMPORARY TABLE drafts (place integer, text text, words text, numbers text, tsv tsvector, vector halfvec);

-- name: derive_drafts!
-- Makes each draft's search vector and its vector once.
UPDATE drafts SET tsv = search_vector(words), vector = numbers::halfvec;

-- name: assign!
-- Assigns every base to its own agent.
INSERT INTO knowledge_assignments (tenant_id, level, ref, base_id) VALUES (:tenant_id, 'agent', :agent_id, :base_id);

-- name: put_base!
-- Makes an owner's base, thread and feed.
WITH base AS (
    INSERT INTO knowledge_bases (tenant_id, base_id, name, description, created_at) VALUES (:tenant_id, :base_id, :name, '', :now)
), thread AS (
    INSERT INTO threads (tenant_id, owner_id, thread_id, title, turn_count, token_count, fence_key_id, last_turn_at, created_at)
    VALUES (:tenant_id, :owner_id, 'thread', '', :turns::int, 0, '', :now, :now)
)
INSERT INTO memory_feeds (tenant_id, owner_id, change_seq) VALUES (:tenant_id, :owner_id, :memories::bigint);

-- name: put_turns!
-- Gives an owner's thread its turns.
INSERT INTO turns (tenant_id, owner_id, thread_id, position, turn_id, client_turn_id, role, speaker, text, parts, said_at,
    o200k_tokens, cl100k_tokens, tokens_through, signature, word_count, search_tsv)
SELECT :tenant_id, :owner_id, 'thread', place + 1, gen_random_uuid(), 'turn-' || place, 'user', '', text, '[]', :now, 40, 40,
    40 * (place + 1), :signature, 25, tsv
FROM drafts WHERE place < :turns::int ORDER BY place;

-- name: put_turn_vectors!
-- Gives an owner's turns their vectors.
INSERT INTO turn_vectors (tenant_id, owner_id, embedder_no, position, vector, thread_id)
SELECT :tenant_id, :owner_id, :embedder_no, place + 1, vector, 'thread' FROM drafts WHERE place < :turns::int ORDER BY place;

-- name: put_memories!
-- Gives an owner memories.
INSERT INTO memories (tenant_id, owner_id, memory_id, change_seq, document_id, text, metadata, turn_ids, occurred_at, created_at,
    updated_at, text_hash, signature, word_count, search_tsv)
SELECT :tenant_id, :owner_id, 'memory-' || place, place + 1, '', text, '{}', '{}', :now, :now, :now, sha256(text::bytea), :signature,
    25, tsv
FROM drafts WHERE place < :memories::int ORDER BY place;

-- name: put_memory_vectors!
-- Gives an owner's memories their vectors.
INSERT INTO memory_vectors (tenant_id, owner_id, embedder_no, vector, memory_id, text_hash)
SELECT :tenant_id, :owner_id, :embedder_no, vector, 'memory-' || place, sha256(text::bytea)
FROM drafts WHERE place < :memories::int ORDER BY place;

-- name: put_documents!
-- Gives a base documents of forty chunks.
INSERT INTO documents (tenant_id, base_id, document_id, path, title, media_type, content_hash, chunk_count, updated_at)
SELECT :tenant_id, :base_id, md5(:name || 'document' || n)::uuid, n || '.md', 'Document ' || n, 'text/markdown', ''::bytea, 40, :now
FROM generate_series(0, (:chunks::int - 1) / 40) AS n;

-- name: put_chunks!
-- Gives a base its chunks.
INSERT INTO chunks (tenant_id, base_id, document_id, chunk_id, position, heading, page, text, signature, word_count, search_tsv)
SELECT :tenant_id, :base_id, md5(:name || 'document' || place / 40)::uuid, md5(:name || 'chunk' || place)::uuid, place % 40, '', NULL, text,
    :signature, 25, tsv
FROM drafts WHERE place < :chunks::int ORDER BY place;

-- name: put_chunk_vectors!
-- Gives a base's chunks their vectors.
INSERT INTO chunk_vectors (tenant_id, base_id, embedder_no, chunk_id, vector)
SELECT :tenant_id, :base_id, :embedder_no, md5(:name || 'chunk' || place)::uuid, vector
FROM drafts WHERE place < :chunks::int ORDER BY place;

-- name: put_pages!
-- Gives an owner pages.
INSERT INTO wiki_pages (tenant_id, owner_id, page_id, type, slug, title, summary, status, hubness_score, tags, last_compiled_at,
    created_at, updated_at, signature, word_count, search_tsv)
SELECT :tenant_id, :owner_id, md5(:name || 'page' || place)::uuid, 'topic', 'page-' || place, 'Page ' || place, text, 'active', 0,
    '{}', :now, :now, :now, :signature, 25, tsv
FROM drafts WHERE place < :pages::int ORDER BY place;

-- name: put_sections!
-- Gives each page a section.
INSERT INTO wiki_page_sections (tenant_id, owner_id, page_id, section_id, section_slug, heading, body_md, position, signature,
    word_count, search_tsv)
SELECT :tenant_id, :owner_id, md5(:name || 'page' || place)::uuid, md5(:name || 'section' || place)::uuid, 'overview', 'Overview',
    text, 1, :signature, 25, tsv
FROM drafts WHERE place < :pages::int ORDER BY place;

-- name: put_section_vectors!
-- Gives an owner's sections their vectors.
INSERT INTO section_vectors (tenant_id, owner_id, embedder_no, section_id, vector, text_hash)
SELECT :tenant_id, :owner_id, :embedder_no, md5(:name || 'section' || place)::uuid, vector, ''::bytea
FROM drafts WHERE place < :pages::int ORDER BY place;

-- name: put_page_vectors!
-- Gives an owner's pages vectors of their summaries.
INSERT INTO page_vectors (tenant_id, owner_id, embedder_no, page_id, vector, text_hash)
SELECT :tenant_id, :owner_id, :embedder_no, md5(:name || 'page' || place)::uuid, vector, ''::bytea
FROM drafts WHERE place < :pages::int ORDER BY place;
