-- name: open_thread^
-- Creates or locks a thread until the transaction ends; returns how many turns and tokens it has.
INSERT INTO threads AS t (tenant_id, owner_id, thread_id, title, turn_count, token_count, fence_key_id, last_turn_at, created_at)
VALUES (:tenant_id, :owner_id, :thread_id, :title, 0, 0, :fence_key_id, :last_turn_at, :now)
ON CONFLICT (tenant_id, owner_id, thread_id) DO UPDATE SET title = CASE WHEN :title = '' THEN t.title ELSE :title END
RETURNING turn_count, token_count;

-- name: known_turns
-- The turns of a thread with one of these client turn ids.
SELECT client_turn_id, turn_id FROM turns
WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND thread_id = :thread_id AND client_turn_id = ANY(:client_turn_ids::text[]);

-- name: insert_turns!
-- Inserts turns, given as columns; the caller compares how many.
INSERT INTO turns (tenant_id, owner_id, thread_id, position, turn_id, client_turn_id, role, speaker, text, parts, said_at,
    o200k_tokens, cl100k_tokens, tokens_through, signature, word_count, search_tsv, is_imported, marks)
SELECT :tenant_id, :owner_id, :thread_id, r.position, r.turn_id, r.client_turn_id, r.role, r.speaker, r.text, r.parts, r.said_at,
    r.o200k_tokens, r.cl100k_tokens, r.tokens_through, r.signature, r.word_count, search_vector(r.words), r.is_imported,
    r.marks
FROM unnest(:positions::int[], :turn_ids::uuid[], :client_turn_ids::text[], :roles::text[], :speakers::text[], :texts::text[],
    :parts::jsonb[], :said_at::timestamptz[], :o200k_tokens::int[], :cl100k_tokens::int[], :tokens_through::bigint[],
    :signatures::bytea[], :word_counts::int[], :words::text[], :is_imported::bool[], :marks::smallint[])
    AS r (position, turn_id, client_turn_id, role, speaker, text, parts, said_at, o200k_tokens, cl100k_tokens, tokens_through,
    signature, word_count, words, is_imported, marks)
ON CONFLICT (tenant_id, owner_id, thread_id, position) DO NOTHING;

-- name: advance_thread!
-- Records that turns were appended.
UPDATE threads SET turn_count = turn_count + :turns, token_count = token_count + :tokens::bigint,
    last_turn_at = greatest(last_turn_at, :last_turn_at)
WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND thread_id = :thread_id;

-- name: history
-- The newest turns within a number of tokens and turns, but always the last user turn and every turn after it. The first one has no
-- tokens before it if all turns before it are left out.
WITH thread AS (
    SELECT token_count, turn_count FROM threads
    WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND thread_id = :thread_id
), last_user AS (
    -- The current message may be stored already: it opens no exchange.
    SELECT position FROM turns
    WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND thread_id = :thread_id AND role = 'user'
        AND client_turn_id <> :client_turn_id AND NOT (text = '' AND parts = '[]')
    ORDER BY position DESC LIMIT 1
), in_window AS (
    -- A turn that begins before the window is left out.
    SELECT position + (tokens_through - o200k_tokens < (SELECT token_count FROM thread) - :window_tokens::bigint)::int
        AS position
    FROM turns
    WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND thread_id = :thread_id
        AND tokens_through > (SELECT token_count FROM thread) - :window_tokens::bigint
    ORDER BY tokens_through LIMIT 1
), start AS (
    SELECT least(coalesce((SELECT position FROM last_user), 2147483647),
        greatest((SELECT position FROM in_window), (SELECT turn_count FROM thread) - :window_turns::int + 1)) AS position
), earlier AS (
    SELECT position FROM turns
    WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND thread_id = :thread_id AND position < (SELECT position FROM start)
        AND client_turn_id <> :client_turn_id AND NOT (text = '' AND parts = '[]')
    ORDER BY position DESC LIMIT 1
)
SELECT turn_id, client_turn_id, position, role, speaker, text, parts, said_at, o200k_tokens, cl100k_tokens, is_imported,
    CASE WHEN lag(position) OVER (ORDER BY position) IS NULL AND NOT EXISTS (SELECT FROM earlier) THEN 0
        ELSE tokens_through - o200k_tokens END AS tokens_before
FROM turns
WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND thread_id = :thread_id AND position >= (SELECT position FROM start)
    AND client_turn_id <> :client_turn_id AND NOT (text = '' AND parts = '[]')
ORDER BY position;

-- name: thread_summary^
-- The rolling summary of a thread's older turns.
SELECT through_position, text, turn_ids FROM thread_summaries
WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND thread_id = :thread_id;

-- name: recall_turns
-- The turns of a thread that match a question, with match data.
SELECT f.matched, f.cosines, f.frequencies, f.total, t.turn_id, t.client_turn_id, t.position, t.role, t.speaker, t.text, t.said_at,
    t.marks, t.signature
FROM recall_turns(:tenant_id, :owner_id, :thread_id, :words::text[], :embedder_no::int, :vectors::text[], :limit::int, :weights::real[]) f
CROSS JOIN LATERAL (
    SELECT * FROM turns
    WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND thread_id = :thread_id AND position = f.turn_position LIMIT 1) t;

-- name: turns_of_times
-- The newest turns of a thread that were said in given ranges of time, of its last 20,000: times have no index.
SELECT t.turn_id, t.client_turn_id, t.position, t.role, t.speaker, t.text, t.said_at, t.marks, t.signature
FROM turns t
WHERE t.tenant_id = :tenant_id AND t.owner_id = :owner_id AND t.thread_id = :thread_id AND t.text <> ''
    AND t.position > (SELECT turn_count - 20000 FROM threads
        WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND thread_id = :thread_id)
    AND EXISTS (SELECT FROM unnest(:starts::timestamptz[], :ends::timestamptz[]) AS r (starts, ends)
        WHERE t.said_at >= r.starts AND t.said_at < r.ends)
ORDER BY t.position DESC LIMIT :limit;

-- name: earlier_turns
-- The newest turns of a thread and its first one, oldest first, without the current message.
SELECT position, role, left(text, 2000) AS text FROM turns
WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND thread_id = :thread_id AND client_turn_id <> :client_turn_id
    AND text <> '' AND role IN ('user', 'assistant') AND (position = 1 OR position > (
        SELECT turn_count - :turns::int FROM threads
        WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND thread_id = :thread_id))
ORDER BY position;

-- name: vectors_of_turns
-- The vectors of some turns of a thread, those that one embedder made.
SELECT position, vector::real[] AS vector FROM turn_vectors
WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND thread_id = :thread_id AND position = ANY(:positions::int[])
    AND embedder_no = :embedder_no;

-- name: speakers
-- The speakers of the newest turns of a thread.
SELECT DISTINCT s.speaker FROM (
    SELECT speaker FROM turns WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND thread_id = :thread_id
    ORDER BY position DESC LIMIT 300) s
WHERE s.speaker <> '' ORDER BY s.speaker LIMIT 50;

-- name: list_threads
-- A page of an owner's threads, by newest turn, latest first.
SELECT thread_id, title, turn_count, last_turn_at FROM threads
WHERE tenant_id = :tenant_id AND owner_id = :owner_id
    AND (last_turn_at, thread_id) < (:before::timestamptz, :before_id::text)
ORDER BY last_turn_at DESC, thread_id DESC LIMIT :limit;

-- name: list_turns
-- A page of a thread's turns, oldest first, without forgotten ones.
SELECT turn_id, client_turn_id, position, role, speaker, text, parts, said_at, o200k_tokens, is_imported FROM turns
WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND thread_id = :thread_id AND position > :after
    AND NOT (text = '' AND parts = '[]')
ORDER BY position LIMIT :limit;

-- name: fence_key_of_thread$
-- The id of a thread's fence key.
SELECT fence_key_id FROM threads WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND thread_id = :thread_id;

-- name: empty_turns
-- Empties turns, and returns their threads with the first place that changed. Ids and places stay.
WITH emptied AS (
    UPDATE turns SET text = '', parts = '[]', speaker = '', signature = :signature, word_count = 0, search_tsv = '',
        marks = :marks
    WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND turn_id = ANY(:turn_ids::uuid[]) AND NOT (text = '' AND parts = '[]')
    RETURNING thread_id, position
)
SELECT thread_id, min(position) AS position FROM emptied GROUP BY thread_id ORDER BY thread_id;

-- name: drop_turn_vectors
-- Deletes the vectors of turns, where the database holds vectors.
SELECT drop_turn_vectors(:tenant_id, :owner_id, :turn_ids::uuid[]);

-- name: drop_summaries
-- Deletes the summaries that reach to one of the given places, and returns their threads.
DELETE FROM thread_summaries AS s USING unnest(:thread_ids::text[], :positions::int[]) AS r (thread_id, position)
WHERE s.tenant_id = :tenant_id AND s.owner_id = :owner_id AND s.thread_id = r.thread_id AND s.through_position >= r.position
RETURNING s.thread_id;

-- name: empty_titles!
-- Empties the titles of threads.
UPDATE threads SET title = '' WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND thread_id = ANY(:thread_ids::text[]) AND title <> '';

-- name: delete_thread!
-- Deletes a thread with its turns and its summary.
DELETE FROM threads WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND thread_id = :thread_id;
