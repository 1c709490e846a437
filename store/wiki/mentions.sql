-- name: hold_mentions!
-- Holds names that are neither held nor ignored.
INSERT INTO wiki_unresolved_mentions (tenant_id, owner_id, mention_id, alias, alias_normalized, suggested_type, status, updated_at)
SELECT :tenant_id, :owner_id, r.mention_id, r.alias, r.key, r.suggested_type, 'open', :now
FROM unnest(:mention_ids::uuid[], :keys::text[], :aliases::text[], :types::text[]) AS r (mention_id, key, alias, suggested_type)
WHERE NOT EXISTS (SELECT 1 FROM wiki_unresolved_mentions m WHERE m.tenant_id = :tenant_id AND m.owner_id = :owner_id
    AND m.alias_normalized = r.key AND m.status = 'ignored')
ON CONFLICT DO NOTHING;

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
