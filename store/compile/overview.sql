-- name: quarantined
-- Quarantined memories in order of id, each with the reason and the start of its text.
SELECT l.memory_id, l.reason, l.updated_at, l.occurred_at, left(m.text, :most_chars::int) AS text
FROM memory_ledger l LEFT JOIN LATERAL (
    SELECT text FROM memories
    WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND memory_id = l.memory_id LIMIT 1) m ON true
WHERE l.tenant_id = :tenant_id AND l.owner_id = :owner_id AND l.outcome = 'quarantined' AND l.memory_id > :after
ORDER BY l.memory_id LIMIT :limit;

-- name: quarantined_ids
-- The ids of the first quarantined memories; with a list, only of those in it.
SELECT memory_id FROM memory_ledger
WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND outcome = 'quarantined'
    AND (:memory_ids::text[] IS NULL OR memory_id = ANY(:memory_ids::text[]))
ORDER BY memory_id LIMIT :limit;

-- name: quarantine_reasons
-- How many memories are quarantined, by reason.
SELECT reason, count(*) AS memories FROM memory_ledger
WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND outcome = 'quarantined' GROUP BY reason ORDER BY 2 DESC, 1;

-- name: pages_by_day
-- For each day (UTC), how many of the now active pages were created, and how many got their first reference link.
WITH linked AS (
    SELECT e.page_id, min(e.created_at) AS at FROM (
        SELECT from_page_id AS page_id, created_at FROM wiki_page_links
        WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND kind = 'reference'
        UNION ALL
        SELECT to_page_id, created_at FROM wiki_page_links
        WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND kind = 'reference') e
    GROUP BY e.page_id
), pages AS (
    SELECT p.created_at, greatest(p.created_at, linked.at) AS linked_at FROM wiki_pages p LEFT JOIN linked USING (page_id)
    WHERE p.tenant_id = :tenant_id AND p.owner_id = :owner_id AND p.status = 'active'
)
SELECT day, sum(made)::bigint AS made, sum(linked)::bigint AS linked FROM (
    SELECT (created_at AT TIME ZONE 'UTC')::date AS day, 1 AS made, 0 AS linked FROM pages
    UNION ALL
    SELECT (linked_at AT TIME ZONE 'UTC')::date, 0, 1 FROM pages WHERE linked_at IS NOT NULL) d
GROUP BY day ORDER BY day;

-- name: links_by_day
-- How many links were created per day (UTC), without typed edges.
SELECT (created_at AT TIME ZONE 'UTC')::date AS day, count(*) AS made FROM wiki_page_links
WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND edge_type = '' GROUP BY 1 ORDER BY 1;

-- name: jobs_at
-- The job that ran at each instant; deleted jobs are not found.
SELECT r.at, j.job_id FROM unnest(:instants::timestamptz[]) AS r (at) CROSS JOIN LATERAL (
    SELECT n.job_id FROM (
        SELECT job_id, claimed_at, finished_at, created_at FROM wiki_compile_jobs
        WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND created_at <= r.at
        ORDER BY created_at DESC, job_id LIMIT 50) n
    WHERE n.claimed_at <= r.at AND coalesce(n.finished_at, 'infinity') >= r.at ORDER BY n.created_at DESC, n.job_id LIMIT 1) j;

-- name: instant_of_turn$
-- The time of the owner's nth newest turn; null if there are fewer.
SELECT created_at FROM turn_accounts WHERE tenant_id = :tenant_id AND owner_id = :owner_id
ORDER BY created_at DESC, receipt_id DESC OFFSET :nth::int LIMIT 1;

-- name: cited_since
-- How often pages began to cite a memory since an instant: for the pages with the most and those asked for, and in total.
WITH cited AS (
    SELECT page_id, count(*) AS citations FROM wiki_section_sources
    WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND first_seen_at >= :since GROUP BY page_id
)
SELECT page_id, citations, (SELECT coalesce(sum(citations), 0)::bigint FROM cited) AS whole,
    (SELECT count(*) FROM cited) AS pages FROM cited
WHERE page_id = ANY(:page_ids::uuid[]) OR page_id IN (SELECT page_id FROM cited ORDER BY citations DESC, page_id LIMIT :limit::int)
ORDER BY citations DESC, page_id;

-- name: place_of_turn^
-- A turn's thread and its position there.
SELECT thread_id, position FROM turns WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND turn_id = :turn_id;

-- name: chunk_around
-- A chunk of a document with its neighbours; only in the given bases, unless these are null.
SELECT c.position, c.heading, c.page, c.text, c.chunk_id, d.title, d.path, d.chunk_count FROM chunks o
JOIN chunks c ON c.tenant_id = o.tenant_id AND c.document_id = o.document_id
    AND c.position BETWEEN o.position - :around::int AND o.position + :around::int
JOIN documents d ON d.tenant_id = c.tenant_id AND d.document_id = c.document_id
WHERE o.tenant_id = :tenant_id AND o.chunk_id = :chunk_id AND (:among::uuid[] IS NULL OR o.base_id = ANY(:among::uuid[]))
ORDER BY c.position;

-- name: job_counts
-- Waiting, running and failed compile jobs over all tenants: how many, and when the oldest was queued.
SELECT status, job_count, oldest_at FROM compile_state();
