-- name: pages_by_ids
-- Pages by id, each with its parent's key.
SELECT p.page_id, p.type, p.slug, p.title, p.summary, p.status, p.hubness_score, p.tags, p.parent_page_id,
    u.type AS parent_type, u.slug AS parent_slug
FROM unnest(:page_ids::uuid[]) AS r (page_id)
CROSS JOIN LATERAL (
    SELECT * FROM wiki_pages WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND page_id = r.page_id LIMIT 1) p
LEFT JOIN LATERAL (
    SELECT type, slug FROM wiki_pages WHERE tenant_id = :tenant_id AND page_id = p.parent_page_id LIMIT 1) u ON true
ORDER BY p.type, p.slug;

-- name: sections_of
-- The sections of pages, in order.
SELECT page_id, section_id, section_slug, heading, body_md, position, aggregation FROM wiki_page_sections
WHERE tenant_id = :tenant_id AND page_id = ANY(:page_ids::uuid[]) ORDER BY page_id, position, section_slug;

-- name: aliases_of
-- The names of pages.
SELECT page_id, alias, display, source FROM wiki_page_aliases
WHERE tenant_id = :tenant_id AND page_id = ANY(:page_ids::uuid[]) ORDER BY page_id, alias;

-- name: sources_of
-- The sources of pages.
SELECT page_id, subject, subject_ref, source_ref, text_hash FROM wiki_section_sources
WHERE tenant_id = :tenant_id AND page_id = ANY(:page_ids::uuid[]) AND source_kind = 'memory'
ORDER BY page_id, subject, subject_ref, source_ref;

-- name: children_of
-- The children under pages' sections.
SELECT c.parent_page_id, c.section_id, c.child_page_id, p.type, p.slug
FROM (SELECT parent_page_id, section_id, child_page_id FROM wiki_section_children
    WHERE tenant_id = :tenant_id AND parent_page_id = ANY(:page_ids::uuid[])) c
CROSS JOIN LATERAL (
    SELECT type, slug FROM wiki_pages WHERE tenant_id = :tenant_id AND page_id = c.child_page_id LIMIT 1) p
ORDER BY c.parent_page_id, p.type, p.slug;

-- name: all_page_ids
-- The ids of every page of a scope.
SELECT page_id FROM wiki_pages WHERE tenant_id = :tenant_id AND owner_id = :owner_id ORDER BY type, slug;

-- name: identities
-- Pages by type and slug.
SELECT p.page_id, p.type, p.slug, p.title, p.status FROM unnest(:types::text[], :slugs::text[]) AS r (type, slug)
CROSS JOIN LATERAL (
    SELECT page_id, type, slug, title, status FROM wiki_pages
    WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND type = r.type AND slug = r.slug LIMIT 1) p;

-- name: names_of
-- The titles and all names of pages by type and slug.
SELECT p.type, p.slug, p.title, ARRAY(SELECT a.display FROM wiki_page_aliases a
    WHERE a.tenant_id = :tenant_id AND a.page_id = p.page_id ORDER BY a.alias) AS displays
FROM unnest(:types::text[], :slugs::text[]) AS r (type, slug) CROSS JOIN LATERAL (
    SELECT page_id, type, slug, title FROM wiki_pages
    WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND type = r.type AND slug = r.slug LIMIT 1) p;

-- name: identities_of
-- Pages by id.
SELECT p.page_id, p.type, p.slug, p.title, p.status FROM unnest(:page_ids::uuid[]) AS r (page_id)
CROSS JOIN LATERAL (
    SELECT page_id, type, slug, title, status FROM wiki_pages
    WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND page_id = r.page_id LIMIT 1) p;

-- name: pages_by_alias
-- The folded names, one per line, that are names of active pages, with these pages.
WITH wanted AS MATERIALIZED (SELECT unnest(string_to_array(:aliases::text, chr(10))) AS alias)
SELECT a.alias, p.page_id, p.type, p.slug, p.title, p.status
FROM (SELECT alias, page_id FROM wiki_page_aliases
    WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND alias IN (SELECT alias FROM wanted)) a
CROSS JOIN LATERAL (
    SELECT page_id, type, slug, title, status FROM wiki_pages
    WHERE tenant_id = :tenant_id AND page_id = a.page_id AND status = 'active' LIMIT 1) p
ORDER BY a.alias, p.page_id;

-- name: pages_by_likeness
-- Pages with names similar to the given ones.
SELECT name, alias, found_id, likeness FROM tenants AS t
CROSS JOIN similar_names(:tenant_id, :owner_id, :names::text[], :least::real, :each::int)
WHERE t.tenant_id = :tenant_id
ORDER BY name, likeness DESC, found_id;

-- name: pages_by_beginning
-- Active pages with a name that continues a given one after a space. Names are compared by bytes.
SELECT r.beginning, a.alias, p.page_id
FROM unnest(:beginnings::text[]) AS r (beginning)
CROSS JOIN LATERAL (
    SELECT alias, page_id FROM wiki_page_aliases
    WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND alias ~>=~ (r.beginning || ' ') AND alias ~<~ (r.beginning || '!')
    ORDER BY alias USING ~<~ LIMIT :each) a
CROSS JOIN LATERAL (
    SELECT page_id, type, slug FROM wiki_pages
    WHERE tenant_id = :tenant_id AND page_id = a.page_id AND status = 'active' LIMIT 1) p
ORDER BY r.beginning, a.alias, p.type, p.slug;

-- name: pages_about
-- The pages most relevant to texts, given as words.
SELECT text_no, found_id FROM tenants AS t CROSS JOIN pages_about(:tenant_id, :owner_id, :texts::int[], :words::text[], :each::int)
WHERE t.tenant_id = :tenant_id;

-- name: pages_near
-- The pages nearest to memories by vectors.
SELECT found_id FROM tenants AS t CROSS JOIN pages_near(:tenant_id, :owner_id, :memory_ids::text[], :least::real, :each::int)
WHERE t.tenant_id = :tenant_id;

-- name: top_hubs
-- The active pages with the highest hubness.
SELECT page_id FROM wiki_pages WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND status = 'active' AND hubness_score > 0
ORDER BY hubness_score DESC, type, slug LIMIT :limit;

-- name: changed_pages
-- The active pages changed after a revision, or by it and after a given page, the earliest change first.
SELECT page_id, changed_revision, type, slug FROM wiki_pages
WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND status = 'active' AND changed_revision >= :revision::bigint
    AND (changed_revision > :revision OR (type, slug) < (:type::text, :slug::text))
ORDER BY changed_revision, type DESC, slug DESC LIMIT :limit;

-- name: outlines_of
-- Pages without their texts, and whether one of their sections lists pages.
SELECT p.page_id, p.type, p.slug, p.title, p.summary, p.tags, EXISTS (
    SELECT 1 FROM wiki_page_sections s
    WHERE s.tenant_id = :tenant_id AND s.page_id = p.page_id AND s.aggregation IS NOT NULL) AS has_list
FROM unnest(:page_ids::uuid[]) AS r (page_id)
CROSS JOIN LATERAL (
    SELECT page_id, type, slug, title, summary, tags FROM wiki_pages
    WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND page_id = r.page_id LIMIT 1) p;

-- name: pages_citing
-- The pages that cite one of some memories.
SELECT DISTINCT page_id FROM wiki_section_sources
WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND source_kind = 'memory' AND source_ref = ANY(:memory_ids::text[]);

-- name: causes_of_refs
-- The causes of links that refer to some memories.
SELECT f.type AS from_type, f.slug AS from_slug, t.type AS to_type, t.slug AS to_slug, l.kind, e.origin, e.context, e.ref, l.edge_type, l.valid_from,
    e.valid_until, e.said_at, e.properties, e.is_sole
FROM wiki_link_evidence e
CROSS JOIN LATERAL (SELECT * FROM wiki_page_links WHERE tenant_id = :tenant_id AND link_id = e.link_id LIMIT 1) l
CROSS JOIN LATERAL (SELECT type, slug FROM wiki_pages WHERE tenant_id = :tenant_id AND page_id = l.from_page_id LIMIT 1) f
CROSS JOIN LATERAL (SELECT type, slug FROM wiki_pages WHERE tenant_id = :tenant_id AND page_id = l.to_page_id LIMIT 1) t
WHERE e.tenant_id = :tenant_id AND e.owner_id = :owner_id AND e.ref = ANY(:refs::text[])
ORDER BY 1, 2, 3, 4, 5, 6, 7, 8, 9, 10;

-- name: causes_of_page
-- The causes of links from or to a page.
SELECT f.type AS from_type, f.slug AS from_slug, t.type AS to_type, t.slug AS to_slug, l.kind, e.origin, e.context, e.ref, l.edge_type, l.valid_from,
    e.valid_until, e.said_at, e.properties, e.is_sole
FROM wiki_page_links l
JOIN wiki_link_evidence e ON e.tenant_id = l.tenant_id AND e.link_id = l.link_id
CROSS JOIN LATERAL (SELECT type, slug FROM wiki_pages WHERE tenant_id = :tenant_id AND page_id = l.from_page_id LIMIT 1) f
CROSS JOIN LATERAL (SELECT type, slug FROM wiki_pages WHERE tenant_id = :tenant_id AND page_id = l.to_page_id LIMIT 1) t
WHERE l.tenant_id = :tenant_id AND l.owner_id = :owner_id AND (l.from_page_id = :page_id OR l.to_page_id = :page_id)
ORDER BY 1, 2, 3, 4, 5, 6, 7, 8, 9, 10;

-- name: inbound_references
-- How many pages link to each of some pages.
SELECT l.to_page_id, count(*) AS links FROM wiki_page_links l
WHERE l.tenant_id = :tenant_id AND l.owner_id = :owner_id AND l.to_page_id = ANY(:page_ids::uuid[]) AND l.kind = 'reference'
    AND l.edge_type = ''
GROUP BY l.to_page_id;

-- name: hierarchy
-- Every page that has a parent, and the parent.
SELECT c.type AS child_type, c.slug AS child_slug, p.type AS parent_type, p.slug AS parent_slug
FROM wiki_pages c JOIN wiki_pages p ON p.tenant_id = c.tenant_id AND p.page_id = c.parent_page_id
WHERE c.tenant_id = :tenant_id AND c.owner_id = :owner_id AND c.parent_page_id IS NOT NULL ORDER BY 1, 2;

-- name: rollup_parents
-- The pages with one of some pages as a child under a section.
SELECT DISTINCT c.parent_page_id FROM wiki_section_children c
WHERE c.tenant_id = :tenant_id AND c.owner_id = :owner_id AND c.child_page_id = ANY(:page_ids::uuid[]);

-- name: candidates_waiting
-- The active pages with a section that waits for promotion.
SELECT DISTINCT p.page_id, p.type, p.slug FROM wiki_page_sections s
JOIN wiki_pages p ON p.tenant_id = s.tenant_id AND p.page_id = s.page_id
WHERE s.tenant_id = :tenant_id AND s.owner_id = :owner_id AND p.status = 'active'
    AND s.aggregation ->> 'promotion_status' = 'candidate'
ORDER BY p.type, p.slug LIMIT :limit;

-- name: fed_entities
-- Citations of memories by sections of active entity pages. One look-up per source: a join would read the whole wiki.
SELECT DISTINCT w.source_ref, p.type, p.slug
FROM (SELECT DISTINCT source_ref, page_id FROM wiki_section_sources
    WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND source_kind = 'memory' AND subject = 'section'
        AND source_ref = ANY(:memory_ids::text[])) w
CROSS JOIN LATERAL (
    SELECT type, slug FROM wiki_pages
    WHERE tenant_id = :tenant_id AND page_id = w.page_id AND status = 'active' AND type = 'entity' LIMIT 1) p
ORDER BY w.source_ref, p.type, p.slug;

-- name: naming_pages
-- Active pages that cite memories in a section, or have a name from them. One look-up per source: a join would read the whole wiki.
SELECT DISTINCT w.source_ref, p.type, p.slug
FROM (SELECT DISTINCT source_ref, page_id FROM wiki_section_sources
    WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND source_kind = 'memory' AND subject IN ('section', 'alias')
        AND source_ref = ANY(:memory_ids::text[])) w
CROSS JOIN LATERAL (
    SELECT type, slug FROM wiki_pages
    WHERE tenant_id = :tenant_id AND page_id = w.page_id AND status = 'active' LIMIT 1) p
ORDER BY w.source_ref, p.type, p.slug;

-- name: open_mentions
-- Open mentions of folded names, given one per line, with their sightings, oldest first. The text hash is the ledger's.
WITH wanted AS MATERIALIZED (SELECT unnest(string_to_array(:keys::text, chr(10))) AS alias)
SELECT m.mention_id, m.alias, m.alias_normalized, m.suggested_type, s.memory_id, s.quote, s.seen_at, l.text_hash
FROM (SELECT mention_id, alias, alias_normalized, suggested_type FROM wiki_unresolved_mentions
    WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND status = 'open'
        AND alias_normalized IN (SELECT alias FROM wanted)) m
LEFT JOIN LATERAL (
    SELECT memory_id, quote, seen_at FROM wiki_mention_sightings
    WHERE tenant_id = :tenant_id AND mention_id = m.mention_id) s ON true
LEFT JOIN LATERAL (
    SELECT text_hash FROM memory_ledger
    WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND memory_id = s.memory_id LIMIT 1) l ON true
ORDER BY m.alias_normalized, s.seen_at, s.memory_id;

-- name: settled_sightings
-- The memories in which names that have a page now were seen before. The folded names are given one per line.
WITH wanted AS MATERIALIZED (SELECT unnest(string_to_array(:keys::text, chr(10))) AS alias)
SELECT m.alias_normalized, s.memory_id FROM wiki_unresolved_mentions m
JOIN wiki_mention_sightings s ON s.tenant_id = m.tenant_id AND s.mention_id = m.mention_id
WHERE m.tenant_id = :tenant_id AND m.owner_id = :owner_id AND m.status = 'promoted'
    AND m.alias_normalized IN (SELECT alias FROM wanted)
ORDER BY m.alias_normalized, s.memory_id;

-- name: keys_of_mentions
-- The folded names of open mentions.
SELECT alias_normalized FROM wiki_unresolved_mentions
WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND status = 'open' AND mention_id = ANY(:mention_ids::uuid[])
ORDER BY alias_normalized;

-- name: mentions_seen_in
-- The folded names of open mentions seen in some memories.
SELECT DISTINCT m.alias_normalized FROM wiki_mention_sightings s
JOIN wiki_unresolved_mentions m ON m.tenant_id = s.tenant_id AND m.mention_id = s.mention_id
WHERE s.tenant_id = :tenant_id AND s.owner_id = :owner_id AND s.memory_id = ANY(:memory_ids::text[]) AND m.status = 'open'
ORDER BY m.alias_normalized;

-- name: duplicate_titles$
-- How many titles are shared by several active pages of an owner.
SELECT count(*) FROM (
    SELECT 1 FROM wiki_pages WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND status = 'active'
    GROUP BY owner_id, title HAVING count(*) > 1) d;

-- name: count_active$
-- How many active pages a scope has.
SELECT count(*) FROM wiki_pages WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND status = 'active';

-- name: all_causes
-- Every cause of every link of a scope.
SELECT f.type AS from_type, f.slug AS from_slug, t.type AS to_type, t.slug AS to_slug, l.kind, e.origin, e.context, e.ref, l.edge_type, l.valid_from,
    e.valid_until, e.said_at, e.properties, e.is_sole
FROM wiki_link_evidence e
CROSS JOIN LATERAL (SELECT * FROM wiki_page_links WHERE tenant_id = :tenant_id AND link_id = e.link_id LIMIT 1) l
CROSS JOIN LATERAL (SELECT type, slug FROM wiki_pages WHERE tenant_id = :tenant_id AND page_id = l.from_page_id LIMIT 1) f
CROSS JOIN LATERAL (SELECT type, slug FROM wiki_pages WHERE tenant_id = :tenant_id AND page_id = l.to_page_id LIMIT 1) t
WHERE e.tenant_id = :tenant_id AND e.owner_id = :owner_id ORDER BY 1, 2, 3, 4, 5, 6, 7, 8, 9, 10;

-- name: all_mentions
-- Every held name of a scope with the key of its page.
SELECT m.alias, m.alias_normalized, m.suggested_type, m.status, p.type AS page_type, p.slug AS page_slug
FROM wiki_unresolved_mentions m LEFT JOIN wiki_pages p ON p.tenant_id = m.tenant_id AND p.page_id = m.promoted_page_id
WHERE m.tenant_id = :tenant_id AND m.owner_id = :owner_id ORDER BY m.alias_normalized, m.status;

-- name: open_keys
-- The folded names of open mentions.
SELECT alias_normalized FROM wiki_unresolved_mentions
WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND status = 'open' ORDER BY alias_normalized;

-- name: count_resting_on$
-- How many active pages cite some memories and no other.
SELECT count(*) FROM wiki_pages p WHERE p.tenant_id = :tenant_id AND p.owner_id = :owner_id AND p.status = 'active'
    AND EXISTS (SELECT 1 FROM wiki_section_sources w WHERE w.tenant_id = :tenant_id AND w.page_id = p.page_id
        AND w.source_ref = ANY(:memory_ids::text[]))
    AND NOT EXISTS (SELECT 1 FROM wiki_section_sources w WHERE w.tenant_id = :tenant_id AND w.page_id = p.page_id
        AND w.source_ref <> ALL(:memory_ids::text[]));

-- name: mentions_by_beginning
-- Open mentions whose name continues a given one after a space. Names are compared by bytes.
SELECT r.beginning, m.alias_normalized FROM unnest(:beginnings::text[]) AS r (beginning)
CROSS JOIN LATERAL (
    SELECT alias_normalized FROM wiki_unresolved_mentions
    WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND status = 'open'
        AND alias_normalized ~>=~ (r.beginning || ' ') AND alias_normalized ~<~ (r.beginning || '!')
    ORDER BY alias_normalized USING ~<~ LIMIT :each) m
ORDER BY r.beginning, m.alias_normalized;

-- name: names_containing
-- Names of pages and open mentions of which a word after the first is one of some words, given one per line; of names of more
-- than six words, the second to fifth and the last word count.
WITH wanted AS MATERIALIZED (SELECT unnest(string_to_array(:words::text, chr(10))) AS word),
borne AS (
    SELECT alias AS name FROM wiki_page_aliases WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND alias LIKE '% %'
    UNION ALL
    SELECT alias_normalized FROM wiki_unresolved_mentions
    WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND status = 'open' AND alias_normalized LIKE '% %')
SELECT DISTINCT name FROM borne
WHERE split_part(name, ' ', -1) IN (SELECT word FROM wanted)
    OR name LIKE '% % %' AND (split_part(name, ' ', 2) IN (SELECT word FROM wanted) OR split_part(name, ' ', 3) IN (SELECT word FROM wanted)
        OR split_part(name, ' ', 4) IN (SELECT word FROM wanted) OR split_part(name, ' ', 5) IN (SELECT word FROM wanted))
ORDER BY name LIMIT :limit;

-- name: pages_acted_on
-- The pages, among some, that an operator's act names.
WITH named AS MATERIALIZED (
    SELECT DISTINCT coalesce(p.page ->> 'type', p.page #>> '{key,type}') AS type, coalesce(p.page ->> 'slug', p.page #>> '{key,slug}') AS slug
    FROM compile_batches b, jsonb_path_query(b.items, '$[*].page') AS p (page)
    WHERE b.tenant_id = :tenant_id AND b.owner_id = :owner_id AND b.kind = 'operator' AND b.items IS NOT NULL)
SELECT type, slug FROM unnest(:types::text[], :slugs::text[]) AS r (type, slug) JOIN named USING (type, slug);

-- name: held_among
-- The names, among some folded ones given one per line, that are open mentions.
WITH wanted AS MATERIALIZED (SELECT unnest(string_to_array(:names::text, chr(10))) AS alias)
SELECT alias_normalized FROM wiki_unresolved_mentions
WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND status = 'open' AND alias_normalized IN (SELECT alias FROM wanted)
ORDER BY alias_normalized;

-- name: opened_by
-- The active pages whose summaries cite memories that some pages with a section of some kind cite, if there are enough.
WITH citations AS MATERIALIZED (
    SELECT DISTINCT w.page_id AS person_id, w.source_ref FROM wiki_section_sources w
    WHERE w.tenant_id = :tenant_id AND w.page_id = ANY(:page_ids::uuid[]) AND w.source_kind = 'memory' AND w.subject = 'section'
        AND EXISTS (SELECT 1 FROM wiki_page_sections s
            WHERE s.tenant_id = :tenant_id AND s.page_id = w.page_id AND s.section_slug = ANY(:traits::text[]))),
found AS (
    SELECT t.person_id, o.page_id AS found_id, t.source_ref FROM citations t
    CROSS JOIN LATERAL (
        SELECT page_id FROM wiki_section_sources
        WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND source_kind = 'memory' AND source_ref = t.source_ref
            AND subject = 'summary' OFFSET 0) o
    CROSS JOIN LATERAL (
        SELECT 1 FROM wiki_pages p WHERE p.tenant_id = :tenant_id AND p.page_id = o.page_id AND p.status = 'active' LIMIT 1) p
    WHERE o.page_id <> t.person_id)
SELECT person_id, found_id, source_ref FROM found
WHERE person_id IN (SELECT person_id FROM found GROUP BY person_id HAVING count(DISTINCT found_id) >= :least)
ORDER BY person_id, found_id, source_ref;

-- name: memories_of_tags
-- The memories that prove tags of some classes on some pages.
SELECT DISTINCT w.source_ref FROM wiki_section_sources w
WHERE w.tenant_id = :tenant_id AND w.owner_id = :owner_id AND w.page_id = ANY(:page_ids::uuid[]) AND w.source_kind = 'memory'
    AND w.subject = 'tag' AND EXISTS (SELECT 1 FROM unnest(:classes::text[]) AS r (class) WHERE starts_with(w.subject_ref, r.class))
ORDER BY w.source_ref;

-- name: tagged
-- The active pages with one of some tags, as (tag, type, slug).
SELECT t.tag, p.type, p.slug FROM wiki_pages p CROSS JOIN LATERAL unnest(p.tags) AS t (tag)
WHERE p.tenant_id = :tenant_id AND p.owner_id = :owner_id AND p.status = 'active' AND p.tags && :tags::text[]
    AND t.tag = ANY(:tags::text[])
ORDER BY t.tag, p.type, p.slug;

-- name: plain_tags
-- The tags of active pages that are of no class (`city:`).
SELECT DISTINCT t.tag FROM wiki_pages p CROSS JOIN LATERAL unnest(p.tags) AS t (tag)
WHERE p.tenant_id = :tenant_id AND p.owner_id = :owner_id AND p.status = 'active' AND strpos(t.tag, ':') = 0 ORDER BY t.tag;

-- name: summaries_with
-- The active entity pages whose summary has one of some words, or contains one of some texts, ignoring case and accents; both are
-- given one per line.
WITH wanted AS MATERIALIZED (SELECT unnest(string_to_array(lower(unaccent(:words::text)), chr(10))) AS word),
sought AS MATERIALIZED (SELECT unnest(string_to_array(lower(unaccent(:texts::text)), chr(10))) AS part)
SELECT p.type, p.slug, p.summary FROM wiki_pages p
CROSS JOIN LATERAL (SELECT lower(unaccent(p.summary)) AS folded) f
WHERE p.tenant_id = :tenant_id AND p.owner_id = :owner_id AND p.status = 'active' AND p.type = 'entity'
    AND ((SELECT bool_or(x.word IN (SELECT word FROM wanted)) FROM regexp_split_to_table(f.folded, '[^[:alnum:]]+') AS x (word))
        OR EXISTS (SELECT 1 FROM sought WHERE strpos(f.folded, sought.part) > 0))
ORDER BY p.type, p.slug;

-- name: names_with
-- The folded names of active entity pages that have one of some words, or contain one of some texts; both are given one per line.
WITH wanted AS MATERIALIZED (SELECT unnest(string_to_array(:words::text, chr(10))) AS word),
sought AS MATERIALIZED (SELECT unnest(string_to_array(:texts::text, chr(10))) AS part)
SELECT a.alias, p.type, p.slug FROM wiki_page_aliases a JOIN wiki_pages p ON p.tenant_id = a.tenant_id AND p.page_id = a.page_id
WHERE a.tenant_id = :tenant_id AND a.owner_id = :owner_id AND p.owner_id = :owner_id AND p.status = 'active' AND p.type = 'entity'
    AND ((SELECT bool_or(x.word IN (SELECT word FROM wanted)) FROM string_to_table(a.alias, ' ') AS x (word))
        OR EXISTS (SELECT 1 FROM sought WHERE strpos(a.alias, sought.part) > 0))
ORDER BY p.type, p.slug, a.alias;

-- name: linked_from
-- The active pages that some pages link to.
SELECT DISTINCT p.page_id FROM wiki_page_links l
JOIN wiki_pages p ON p.tenant_id = l.tenant_id AND p.page_id = l.to_page_id
WHERE l.tenant_id = :tenant_id AND l.owner_id = :owner_id AND l.from_page_id = ANY(:page_ids::uuid[]) AND p.status = 'active'
ORDER BY p.page_id;
