-- name: make_drafts#
-- A table for the pages that every owner gets.
CREATE TEMPORARY TABLE drafts (place integer, title text, words text, vector tsvector);

-- name: vectorise_drafts!
-- Makes each draft's search vector once.
UPDATE drafts SET vector = search_vector(words);

-- name: pages_of_owner!
-- Gives one owner a page for each draft.
INSERT INTO wiki_pages (tenant_id, owner_id, page_id, type, slug, title, summary, status, hubness_score, tags, last_compiled_at,
    created_at, updated_at, signature, word_count, search_tsv)
SELECT :tenant_id, :owner_id, gen_random_uuid(), 'topic', 'page-' || place, title, words, 'active', 0, '{}', :now, :now, :now,
    :signature, 30, vector
FROM drafts;

-- name: sections_of_owner!
-- Gives each of an owner's pages one section.
INSERT INTO wiki_page_sections (tenant_id, owner_id, page_id, section_id, section_slug, heading, body_md, position, signature,
    word_count, search_tsv)
SELECT tenant_id, owner_id, page_id, gen_random_uuid(), 'overview', 'Overview', summary, 1, signature, 30, search_tsv
FROM wiki_pages WHERE tenant_id = :tenant_id AND owner_id = :owner_id;
