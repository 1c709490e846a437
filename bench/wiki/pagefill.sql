-- name: make_drafts#
-- A table for the pages that every owner gets.
CREATE TEMPORARY TABLE drafts (place integer, title text, words text, numbers text, tsv tsvector, vector halfvec);

-- name: derive_drafts!
-- Makes each draft's search vector and its vector once.
UPDATE drafts SET tsv = search_vector(words), vector = numbers::halfvec;

-- name: pages_of_owner!
-- Gives one owner a page for each draft.
INSERT INTO wiki_pages (tenant_id, owner_id, page_id, type, slug, title, summary, status, hubness_score, tags, last_compiled_at,
    created_at, updated_at, signature, word_count, search_tsv)
SELECT :tenant_id, :owner_id, gen_random_uuid(), 'topic', 'page-' || place, title, words, 'active', 0, '{}', :now, :now, :now,
    :signature, 30, tsv
FROM drafts;

-- name: sections_of_owner!
-- Gives each of an owner's pages one section.
INSERT INTO wiki_page_sections (tenant_id, owner_id, page_id, section_id, section_slug, heading, body_md, position, signature,
    word_count, search_tsv)
SELECT tenant_id, owner_id, page_id, gen_random_uuid(), 'overview', 'Overview', summary, 1, signature, 30, search_tsv
FROM wiki_pages WHERE tenant_id = :tenant_id AND owner_id = :owner_id;

-- name: page_vectors_of_owner!
-- Gives each of an owner's pages its draft's vector.
INSERT INTO page_vectors (tenant_id, owner_id, embedder_no, page_id, vector, text_hash)
SELECT p.tenant_id, p.owner_id, :embedder_no, p.page_id, d.vector, ''::bytea
FROM wiki_pages p JOIN drafts d ON p.slug = 'page-' || d.place
WHERE p.tenant_id = :tenant_id AND p.owner_id = :owner_id;

-- name: section_vectors_of_owner!
-- Gives each of an owner's sections the vector of its page.
INSERT INTO section_vectors (tenant_id, owner_id, embedder_no, section_id, vector, text_hash)
SELECT s.tenant_id, s.owner_id, :embedder_no, s.section_id, d.vector, ''::bytea
FROM wiki_pages p JOIN drafts d ON p.slug = 'page-' || d.place
JOIN wiki_page_sections s ON s.tenant_id = p.tenant_id AND s.page_id = p.page_id
WHERE p.tenant_id = :tenant_id AND p.owner_id = :owner_id;
