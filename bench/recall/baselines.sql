-- name: rank_or
-- The turns that hold any word of a question, by Postgres's own rank: no statistics, any of the words.
SELECT t.position, ts_rank(t.search_tsv, q.query) AS score FROM turns t
CROSS JOIN (SELECT replace(plainto_tsquery('english', :text)::text, '&', '|')::tsquery AS query) q
WHERE t.tenant_id = :tenant_id AND t.owner_id = :owner_id AND t.thread_id = :thread_id AND t.search_tsv @@ q.query
ORDER BY 2 DESC, 1;

-- name: rank_and
-- The turns that hold every word of a question, by Postgres's own rank.
SELECT t.position, ts_rank(t.search_tsv, q.query) AS score FROM turns t
CROSS JOIN (SELECT plainto_tsquery('english', :text) AS query) q
WHERE t.tenant_id = :tenant_id AND t.owner_id = :owner_id AND t.thread_id = :thread_id AND t.search_tsv @@ q.query
ORDER BY 2 DESC, 1;

-- name: lexemes
-- The lexemes of every turn of a thread.
SELECT position, tsvector_to_array(to_tsvector('english', text)) AS lexemes FROM turns
WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND thread_id = :thread_id ORDER BY position;

-- name: question_lexemes$
-- The lexemes of a question.
SELECT tsvector_to_array(to_tsvector('english', :text));
