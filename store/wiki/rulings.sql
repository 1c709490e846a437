-- name: list_rulings
-- An owner's rulings.
SELECT kind, page_type, page_slug, ref, text, detail, into_type, into_slug, memory_ids, ruled_at FROM wiki_rulings
WHERE tenant_id = :tenant_id AND owner_id = :owner_id ORDER BY kind, page_type, page_slug, ref;

-- name: write_rulings!
-- Writes rulings, given as columns; an unchanged ruling is not written.
INSERT INTO wiki_rulings AS w (tenant_id, owner_id, kind, page_type, page_slug, ref, text, detail, into_type, into_slug,
    memory_ids, ruled_at)
SELECT :tenant_id, :owner_id, r.kind, r.page_type, r.page_slug, r.ref, r.text, r.detail, r.into_type, r.into_slug,
    ARRAY(SELECT jsonb_array_elements_text(r.memory_ids)), :now
FROM unnest(:kinds::text[], :page_types::text[], :page_slugs::text[], :refs::text[], :texts::text[], :details::text[],
    :into_types::text[], :into_slugs::text[], :memory_ids::jsonb[])
    AS r (kind, page_type, page_slug, ref, text, detail, into_type, into_slug, memory_ids)
ON CONFLICT (tenant_id, owner_id, kind, page_type, page_slug, ref) DO UPDATE SET text = excluded.text,
    detail = excluded.detail, into_type = excluded.into_type, into_slug = excluded.into_slug,
    memory_ids = excluded.memory_ids, ruled_at = excluded.ruled_at
WHERE (w.text, w.detail, w.into_type, w.into_slug, w.memory_ids)
    <> (excluded.text, excluded.detail, excluded.into_type, excluded.into_slug, excluded.memory_ids);

-- name: drop_rulings!
-- Deletes rulings.
DELETE FROM wiki_rulings w
USING unnest(:kinds::text[], :page_types::text[], :page_slugs::text[], :refs::text[]) AS r (kind, page_type, page_slug, ref)
WHERE w.tenant_id = :tenant_id AND w.owner_id = :owner_id AND w.kind = r.kind AND w.page_type = r.page_type
    AND w.page_slug = r.page_slug AND w.ref = r.ref;

-- name: drop_rulings_on_pages!
-- Deletes the rulings on some pages and those that lead to them.
DELETE FROM wiki_rulings w USING unnest(:types::text[], :slugs::text[]) AS r (type, slug)
WHERE w.tenant_id = :tenant_id AND w.owner_id = :owner_id
    AND ((w.page_type = r.type AND w.page_slug = r.slug) OR (w.into_type = r.type AND w.into_slug = r.slug));

-- name: release_memories!
-- Removes forgotten memories from the rulings that rest on them.
UPDATE wiki_rulings SET memory_ids = ARRAY(SELECT m FROM unnest(memory_ids) AS m WHERE m <> ALL(:memory_ids::text[]))
WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND memory_ids && :memory_ids::text[]
    AND NOT memory_ids <@ :memory_ids::text[];

-- name: drop_rulings_resting_on!
-- Deletes the rulings that rest on forgotten memories alone.
DELETE FROM wiki_rulings
WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND memory_ids <> '{}' AND memory_ids <@ :memory_ids::text[];

-- name: drop_sentences_of!
-- Deletes the rulings about sentences of some memories.
DELETE FROM wiki_rulings
WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND kind = 'sentence' AND memory_ids && :memory_ids::text[];

-- name: forget_sentences_on!
-- Empties the texts of reported sentences on some pages if no memory of the sentence is known; the sentences stay away.
UPDATE wiki_rulings w SET text = '' FROM wiki_pages p
WHERE w.tenant_id = :tenant_id AND w.owner_id = :owner_id AND w.kind = 'sentence' AND w.memory_ids = '{}' AND w.text <> ''
    AND p.tenant_id = :tenant_id AND p.owner_id = :owner_id AND p.page_id = ANY(:page_ids::uuid[])
    AND p.type = w.page_type AND p.slug = w.page_slug;
