-- name: make_drafts#
-- A table for the texts that all owners' turns and memories are drawn from.
CREATE TEMPORARY TABLE drafts (place integer PRIMARY KEY, text text, words text, signature bytea, tsv tsvector);

-- name: derive_drafts!
-- Makes each draft's search vector once.
UPDATE drafts SET tsv = search_vector(words);

-- name: look_at_drafts#
-- Tells the planner of them.
ANALYZE drafts;

-- name: put_tenants!
-- Makes tenants, numbered from one on.
INSERT INTO tenants (tenant_id, created_at)
SELECT md5('tenant' || n)::uuid, :now FROM generate_series(:first::int, :last::int) AS n;

-- name: put_threads!
-- Makes a thread for each owner of the tenants.
INSERT INTO threads (tenant_id, owner_id, thread_id, title, turn_count, token_count, fence_key_id, last_turn_at, created_at)
SELECT md5('tenant' || n)::uuid, md5(n || 'owner' || o)::uuid, 'thread', '', 5, 200, :fence_key_id, :now, :now
FROM generate_series(:first::int, :last::int) AS n, generate_series(1, :owners::int) AS o;

-- name: put_feeds!
-- Makes the feed of memories for each owner of the tenants.
INSERT INTO memory_feeds (tenant_id, owner_id, change_seq)
SELECT md5('tenant' || n)::uuid, md5(n || 'owner' || o)::uuid, 5
FROM generate_series(:first::int, :last::int) AS n, generate_series(1, :owners::int) AS o;

-- name: put_turns!
-- Gives each owner five turns.
INSERT INTO turns (tenant_id, owner_id, thread_id, position, turn_id, client_turn_id, role, speaker, text, parts, said_at,
    o200k_tokens, cl100k_tokens, tokens_through, signature, word_count, search_tsv)
SELECT md5('tenant' || n)::uuid, md5(n || 'owner' || o)::uuid, 'thread', p, gen_random_uuid(), 'turn-' || p,
    (ARRAY['assistant', 'user'])[1 + p % 2], '', d.text, '[]', :now, 40, 40, 40 * p, d.signature, 25, d.tsv
FROM generate_series(:first::int, :last::int) AS n, generate_series(1, :owners::int) AS o, generate_series(1, 5) AS p
JOIN drafts d ON true WHERE d.place = (n * 7919::bigint + o * 5 + p) % :drafts::int;

-- name: put_memories!
-- Gives each owner five memories.
INSERT INTO memories (tenant_id, owner_id, memory_id, change_seq, document_id, text, metadata, turn_ids, occurred_at, created_at,
    updated_at, text_hash, signature, word_count, search_tsv)
SELECT md5('tenant' || n)::uuid, md5(n || 'owner' || o)::uuid, 'memory-' || p, p, '', d.text, '{}', '{}', :now, :now, :now,
    sha256(d.text::bytea), d.signature, 25, d.tsv
FROM generate_series(:first::int, :last::int) AS n, generate_series(1, :owners::int) AS o, generate_series(1, 5) AS p
JOIN drafts d ON true WHERE d.place = (n * 6101::bigint + o * 5 + p) % :drafts::int;

-- name: sizes^
-- How many owners and texts there are, and the bytes of the database.
SELECT (SELECT count(*) FROM threads) AS owners, (SELECT count(*) FROM turns) + (SELECT count(*) FROM memories) AS texts,
    pg_database_size(current_database()) AS bytes;
