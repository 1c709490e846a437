-- name: memories_of_document
-- The owner's memories of a document.
SELECT memory_id FROM memories WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND document_id = :document_id ORDER BY memory_id;

-- name: memories_from_turns
-- The owner's memories that were drawn from one of the turns, except summaries, which are remade from their other sources.
SELECT m.memory_id FROM memories m
WHERE m.tenant_id = :tenant_id AND m.owner_id = :owner_id AND m.turn_ids && :turn_ids::text[]
    AND NOT EXISTS (SELECT FROM memory_supersessions s WHERE s.tenant_id = :tenant_id AND s.owner_id = :owner_id
        AND s.memory_id = m.memory_id AND s.reason = 'compressed' AND s.undone_at IS NULL)
    AND NOT EXISTS (SELECT FROM episode_supersessions e WHERE e.tenant_id = :tenant_id AND e.owner_id = :owner_id
        AND e.memory_id = m.memory_id)
ORDER BY m.memory_id;

-- name: memories_between
-- The owner's memories of a period.
SELECT memory_id FROM memories
WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND occurred_at >= :since::timestamptz AND occurred_at < :until::timestamptz
ORDER BY memory_id;

-- name: turns_of_thread
-- A thread's turns.
SELECT turn_id FROM turns WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND thread_id = :thread_id ORDER BY position;

-- name: turns_there
-- Those of the given turns that the owner has, without forgotten ones.
SELECT turn_id FROM turns
WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND turn_id = ANY(:turn_ids::uuid[]) AND NOT (text = '' AND parts = '[]');

-- name: turns_between
-- The owner's turns of a period, without forgotten ones.
SELECT turn_id FROM turns
WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND said_at >= :since::timestamptz AND said_at < :until::timestamptz
    AND NOT (text = '' AND parts = '[]') ORDER BY turn_id;

-- name: receipts_of_thread
-- The receipts of a thread.
SELECT receipt_id FROM receipts WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND thread_id = :thread_id;

-- name: receipts_between
-- The owner's receipts of a period.
SELECT receipt_id FROM receipts
WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND created_at >= :since::timestamptz AND created_at < :until::timestamptz;

-- name: lowers_letters$
-- Whether the database's locale writes capitals small as Unicode does: the locale C knows only ASCII, and a Turkish one has two i.
SELECT lower(:capitals::text) = :small::text;

-- name: hits
-- The owner's rows that contain a word, in any case: memories, turns, titles of threads, receipts and pages, with the text around it:
-- of a memory or a turn its own text, or else its fields.
WITH told AS MATERIALIZED (
    SELECT text, encode(text_hash, CASE length(text_hash) WHEN 32 THEN 'hex' ELSE 'base64' END) AS name FROM receipt_texts
    WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND strpos(lower(text), lower(:word)) > 0
)
SELECT hit.kind, hit.id, substr(shown.text, greatest(1, strpos(lower(shown.text), lower(:word)) - 60), 160) AS excerpt FROM (
    SELECT 1 AS place, 'memory' AS kind, memory_id AS id, text AS said,
        concat_ws(' ', text, document_id, metadata::text, domains_json::text, memory_type, authority) AS text
    FROM memories WHERE tenant_id = :tenant_id AND owner_id = :owner_id
    UNION ALL SELECT 2, 'turn', turn_id::text, text, concat_ws(' ', speaker, text, parts::text)
    FROM turns WHERE tenant_id = :tenant_id AND owner_id = :owner_id
    UNION ALL SELECT 3, 'thread', thread_id, title, title FROM threads WHERE tenant_id = :tenant_id AND owner_id = :owner_id
    UNION ALL SELECT 4, 'receipt', r.receipt_id::text, NULL,
        concat_ws(' ', (SELECT string_agg(told.text, ' ') FROM told WHERE strpos(r.details, told.name) > 0), r.details)
    FROM (SELECT receipt_id, details::text AS details FROM receipts WHERE tenant_id = :tenant_id AND owner_id = :owner_id OFFSET 0) AS r
    UNION ALL SELECT 5, 'page', p.page_id::text, NULL, concat_ws(' ', p.title, p.summary, array_to_string(p.tags, ' '),
        (SELECT string_agg(a.display, ' ') FROM wiki_page_aliases AS a WHERE a.tenant_id = :tenant_id AND a.page_id = p.page_id),
        (SELECT string_agg(concat_ws(' ', s.heading, s.body_md), ' ') FROM wiki_page_sections AS s
            WHERE s.tenant_id = :tenant_id AND s.page_id = p.page_id))
    FROM wiki_pages AS p WHERE p.tenant_id = :tenant_id AND p.owner_id = :owner_id
) AS hit
CROSS JOIN LATERAL (SELECT CASE WHEN strpos(lower(hit.said), lower(:word)) > 0 THEN hit.said ELSE hit.text END AS text) AS shown
WHERE strpos(lower(hit.text), lower(:word)) > 0 ORDER BY hit.place, hit.id LIMIT :limit;

-- name: rows_holding
-- The tables in which rows of the owner contain a word, each with the number of these rows.
SELECT table_name, row_count FROM rows_holding(:tenant_id, :owner_id, :word);

-- name: owners_with_receipts
-- The tenant's owners that have receipts.
SELECT owner_id FROM tenants AS t CROSS JOIN owners_with_receipts(:tenant_id)
WHERE t.tenant_id = :tenant_id;
