-- name: hold_mentions!
-- Holds names that are neither held nor ignored; a name is held again if its page is deleted, archived, no longer has the name or
-- only lists pages.
INSERT INTO wiki_unresolved_mentions AS w (tenant_id, owner_id, mention_id, alias, alias_normalized, suggested_type, status, updated_at)
SELECT :tenant_id, :owner_id, r.mention_id, r.alias, r.key, r.suggested_type, 'open', :now
FROM unnest(:mention_ids::uuid[], :keys::text[], :aliases::text[], :types::text[]) AS r (mention_id, key, alias, suggested_type)
WHERE NOT EXISTS (SELECT 1 FROM wiki_unresolved_mentions m WHERE m.tenant_id = :tenant_id AND m.owner_id = :owner_id
    AND m.alias_normalized = r.key AND m.status = 'ignored')
AND NOT EXISTS (SELECT 1 FROM wiki_unresolved_mentions m
    JOIN wiki_pages p ON p.tenant_id = m.tenant_id AND p.page_id = m.promoted_page_id AND p.status = 'active'
    JOIN wiki_page_aliases a ON a.tenant_id = p.tenant_id AND a.page_id = p.page_id AND a.alias = m.alias_normalized
    WHERE m.tenant_id = :tenant_id AND m.mention_id = r.mention_id AND m.status = 'promoted'
        AND coalesce((SELECT bool_or(s.aggregation IS NULL) FROM wiki_page_sections s
            WHERE s.tenant_id = :tenant_id AND s.page_id = p.page_id), true))
ON CONFLICT (tenant_id, mention_id) DO UPDATE SET alias = excluded.alias, suggested_type = excluded.suggested_type, status = 'open',
    promoted_page_id = NULL, updated_at = excluded.updated_at
WHERE w.status = 'promoted';

-- name: write_sightings!
-- Writes sightings of held names.
INSERT INTO wiki_mention_sightings AS s (tenant_id, owner_id, mention_id, memory_id, quote, seen_at)
SELECT DISTINCT ON (m.mention_id, r.memory_id) :tenant_id::uuid, :owner_id::uuid, m.mention_id, r.memory_id, r.quote, r.seen_at
FROM unnest(:keys::text[], :memory_ids::text[], :quotes::text[], :seen_at::timestamptz[]) WITH ORDINALITY
    AS r (key, memory_id, quote, seen_at, place)
JOIN wiki_unresolved_mentions m ON m.tenant_id = :tenant_id AND m.owner_id = :owner_id AND m.alias_normalized = r.key
    AND m.status = 'open'
ORDER BY m.mention_id, r.memory_id, r.place DESC
ON CONFLICT (tenant_id, mention_id, memory_id) DO UPDATE SET quote = excluded.quote, seen_at = excluded.seen_at
WHERE (s.quote, s.seen_at) <> (excluded.quote, excluded.seen_at);

-- name: drop_sightings!
-- Deletes sightings.
DELETE FROM wiki_mention_sightings s
USING unnest(:keys::text[], :memory_ids::text[]) AS r (key, memory_id), wiki_unresolved_mentions m
WHERE m.tenant_id = :tenant_id AND m.owner_id = :owner_id AND m.alias_normalized = r.key AND s.tenant_id = m.tenant_id
    AND s.mention_id = m.mention_id AND s.memory_id = r.memory_id;

-- name: drop_unseen_mentions!
-- Deletes open mentions without sightings.
DELETE FROM wiki_unresolved_mentions m
WHERE m.tenant_id = :tenant_id AND m.owner_id = :owner_id AND m.status = 'open' AND NOT EXISTS (
    SELECT 1 FROM wiki_mention_sightings s WHERE s.tenant_id = :tenant_id AND s.mention_id = m.mention_id);

-- name: forget_settled!
-- Deletes settled rows of names that are about to be settled again.
DELETE FROM wiki_unresolved_mentions m
WHERE m.tenant_id = :tenant_id AND m.owner_id = :owner_id AND m.status = 'promoted' AND m.alias_normalized = ANY(:keys::text[])
    AND EXISTS (SELECT 1 FROM wiki_unresolved_mentions o WHERE o.tenant_id = :tenant_id AND o.owner_id = :owner_id
        AND o.alias_normalized = m.alias_normalized AND o.status = 'open');

-- name: settle_mentions!
-- Settles held names.
UPDATE wiki_unresolved_mentions m SET status = 'promoted', promoted_page_id = r.page_id, updated_at = :now
FROM unnest(:keys::text[], :page_ids::uuid[]) AS r (key, page_id)
WHERE m.tenant_id = :tenant_id AND m.owner_id = :owner_id AND m.alias_normalized = r.key AND m.status = 'open';

-- name: ignore_mentions!
-- Marks held names as ignored.
UPDATE wiki_unresolved_mentions SET status = 'ignored', updated_at = :now
WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND alias_normalized = ANY(:keys::text[]) AND status = 'open';

-- name: list_mentions
-- Held names of a status, last seen or settled first; among the open ones, also the pages and typed edges that an ontology holds.
SELECT m.mention_id, m.alias, m.alias_normalized, m.suggested_type, m.status, m.promoted_page_id, m.updated_at,
    n.sightings, n.first_seen_at, n.last_seen_at, m.held_type, m.held_reason, m.page_id, m.target_id,
    p.type, p.slug, p.title, t.type AS target_type, t.slug AS target_slug, t.title AS target_title
FROM (
    (SELECT mention_id, alias, alias_normalized, suggested_type, status, promoted_page_id, updated_at, '' AS held_type,
        '' AS held_reason, NULL::uuid AS page_id, NULL::uuid AS target_id
    FROM wiki_unresolved_mentions
    WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND status = :status AND updated_at <= :before::timestamptz
        AND (updated_at < :before OR mention_id > :after_id)
    ORDER BY updated_at DESC, mention_id LIMIT :limit)
    UNION ALL
    (SELECT page_id, title, '', type, 'open', NULL, typed_at, held_type, held_reason, page_id, NULL FROM wiki_pages
    WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND held_reason <> '' AND status = 'active' AND :status = 'open'
        AND typed_at <= :before AND (typed_at < :before OR page_id > :after_id)
    ORDER BY typed_at DESC, page_id LIMIT :limit)
    UNION ALL
    (SELECT link_id, '', '', NULL, 'open', NULL, held_at, edge_type, held_reason, from_page_id, to_page_id FROM wiki_page_links
    WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND held_reason <> '' AND :status = 'open'
        AND held_at <= :before AND (held_at < :before OR link_id > :after_id)
    ORDER BY held_at DESC, link_id LIMIT :limit)
    ORDER BY updated_at DESC, mention_id LIMIT :limit) m
LEFT JOIN LATERAL (
    SELECT type, slug, title FROM wiki_pages WHERE tenant_id = :tenant_id AND page_id = m.page_id LIMIT 1) p ON true
LEFT JOIN LATERAL (
    SELECT type, slug, title FROM wiki_pages WHERE tenant_id = :tenant_id AND page_id = m.target_id LIMIT 1) t ON true
CROSS JOIN LATERAL (
    SELECT count(*) AS sightings, min(seen_at) AS first_seen_at, max(seen_at) AS last_seen_at FROM (
        SELECT seen_at FROM wiki_mention_sightings
        WHERE tenant_id = :tenant_id AND mention_id = m.mention_id AND m.held_reason = ''
        UNION ALL
        SELECT said_at FROM wiki_link_evidence
        WHERE tenant_id = :tenant_id AND link_id = m.mention_id AND m.target_id IS NOT NULL
        UNION ALL
        SELECT min(first_seen_at) FROM wiki_section_sources
        WHERE tenant_id = :tenant_id AND page_id = m.page_id AND m.target_id IS NULL GROUP BY source_ref) seen) n
ORDER BY m.updated_at DESC, m.mention_id;

-- name: newest_sightings
-- The five newest sightings of each of some held names.
SELECT q.mention_id, q.memory_id, q.quote, q.seen_at FROM unnest(:mention_ids::uuid[]) AS r (mention_id) CROSS JOIN LATERAL (
    SELECT mention_id, memory_id, quote, seen_at FROM wiki_mention_sightings
    WHERE tenant_id = :tenant_id AND mention_id = r.mention_id ORDER BY seen_at DESC, memory_id LIMIT 5) q
ORDER BY q.mention_id, q.seen_at DESC, q.memory_id;
