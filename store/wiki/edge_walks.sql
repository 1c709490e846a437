-- name: walk_from_names
-- The paths over typed edges from the pages with some names, those with the greatest share of requested edges first. Names are
-- given with their first and last word in the text; a name inside a longer name of a page is ignored. An edge is followed, in either
-- direction, if it was valid at some moment of a period; of the paths of one length to a page, the one with most requested edges.
WITH RECURSIVE named AS MATERIALIZED (
    SELECT r.first_word, r.last_word, a.page_id
    FROM unnest(:names::text[], :first_words::int[], :last_words::int[]) AS r (name, first_word, last_word) CROSS JOIN LATERAL (
        SELECT page_id FROM wiki_page_aliases
        WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND alias = r.name LIMIT :each_name) a
), starts AS MATERIALIZED (
    SELECT n.page_id, n.first_word, n.last_word FROM named n
    WHERE NOT EXISTS (SELECT 1 FROM named m WHERE m.first_word <= n.first_word AND m.last_word >= n.last_word
        AND m.last_word - m.first_word > n.last_word - n.first_word)
    ORDER BY n.first_word, n.page_id LIMIT :most_starts
), walked AS (
    SELECT s.page_id, s.first_word, s.last_word, 0 AS asked_count, ARRAY[s.page_id] AS page_ids, '{}'::uuid[] AS link_ids,
        '{}'::text[] AS types, '{}'::boolean[] AS inward
    FROM starts s
    UNION ALL
    SELECT b.other_id, b.first_word, b.last_word, b.asked_count, b.page_ids || b.other_id, b.link_ids || b.link_id,
        b.types || b.edge_type, b.inward || b.is_inward
    FROM (
        SELECT t.* FROM (
            SELECT DISTINCT ON (e.other_id) e.other_id, w.first_word, w.last_word, w.asked_count + e.is_asked::int AS asked_count,
                w.page_ids, w.link_ids, w.types, w.inward, e.link_id, e.edge_type, e.is_inward
            FROM walked w CROSS JOIN LATERAL (
                SELECT l.link_id, l.edge_type, l.other_id, l.is_inward,
                    l.edge_type = ANY(:asked_types::text[]) OR string_to_array(l.edge_type, '_') && :words::text[] AS is_asked
                FROM (
                    (SELECT link_id, edge_type, to_page_id AS other_id, false AS is_inward FROM wiki_page_links
                    WHERE tenant_id = :tenant_id AND from_page_id = w.page_id AND edge_type <> '' AND held_reason = ''
                        AND (valid_from IS NULL OR valid_from <= :until) AND (valid_until IS NULL OR valid_until > :since)
                    LIMIT :most_edges)
                    UNION ALL
                    (SELECT link_id, edge_type, from_page_id, true FROM wiki_page_links
                    WHERE tenant_id = :tenant_id AND to_page_id = w.page_id AND edge_type <> '' AND held_reason = ''
                        AND (valid_from IS NULL OR valid_from <= :until) AND (valid_until IS NULL OR valid_until > :since)
                    LIMIT :most_edges)) l
                WHERE l.other_id <> ALL(w.page_ids)
                ORDER BY is_asked DESC, l.link_id LIMIT :fan_out) e
            WHERE cardinality(w.link_ids) < :hops
            ORDER BY e.other_id, asked_count DESC, e.link_id) t
        ORDER BY t.asked_count DESC, t.other_id LIMIT :most_pages) b
)
SELECT w.first_word, w.last_word, w.page_ids, w.types, w.inward,
    ARRAY(SELECT p.title FROM unnest(w.page_ids) WITH ORDINALITY AS o (page_id, place) CROSS JOIN LATERAL (
        SELECT title FROM wiki_pages WHERE tenant_id = :tenant_id AND page_id = o.page_id AND status = 'active' LIMIT 1) p
        ORDER BY o.place) AS titles,
    ARRAY(SELECT (SELECT count(*) FROM wiki_link_evidence e WHERE e.tenant_id = :tenant_id AND e.link_id = o.link_id)::int
        FROM unnest(w.link_ids) WITH ORDINALITY AS o (link_id, place) ORDER BY o.place) AS evidence_counts
FROM walked w WHERE w.asked_count > 0
ORDER BY w.asked_count::float8 / cardinality(w.link_ids) DESC, w.asked_count DESC, w.page_id LIMIT :limit;
