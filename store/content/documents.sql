-- name: put_base!
-- Creates a base, unless one of this name exists.
INSERT INTO knowledge_bases (tenant_id, base_id, name, description, created_at)
VALUES (:tenant_id, :base_id, :name, :description, :now)
ON CONFLICT DO NOTHING;

-- name: get_base^
-- The base of this name, or no row.
SELECT b.base_id, b.name, b.description, b.created_at,
    (SELECT count(*) FROM documents d WHERE d.tenant_id = :tenant_id AND d.base_id = b.base_id) AS document_count
FROM knowledge_bases b WHERE b.tenant_id = :tenant_id AND b.name = :name;

-- name: list_bases
-- A page of a tenant's bases, in order of name.
SELECT b.base_id, b.name, b.description, b.created_at,
    (SELECT count(*) FROM documents d WHERE d.tenant_id = :tenant_id AND d.base_id = b.base_id) AS document_count
FROM knowledge_bases b WHERE b.tenant_id = :tenant_id AND b.name > :after
ORDER BY b.name LIMIT :limit;

-- name: bases_among
-- A page of the given bases, in order of name; an agent reaches few enough to sort.
SELECT b.base_id, b.name, b.description, b.created_at,
    (SELECT count(*) FROM documents d WHERE d.tenant_id = :tenant_id AND d.base_id = b.base_id) AS document_count
FROM knowledge_bases b WHERE b.tenant_id = :tenant_id AND b.base_id = ANY(:among::uuid[]) AND b.name > :after
ORDER BY b.name LIMIT :limit;

-- name: bases_within
-- The bases assigned to an agent, its template, or a space it holds.
SELECT DISTINCT base_id FROM knowledge_assignments
WHERE tenant_id = :tenant_id AND (
    (level = 'agent' AND ref = :agent_id)
    OR (level = 'template' AND ref = coalesce(
        (SELECT template_id FROM agents WHERE tenant_id = :tenant_id AND agent_id = :agent_id), 'default'))
    OR (level = 'space' AND (:has_every_space::boolean OR ref = ANY(:spaces::text[]))));

-- name: assign_base!
-- Assigns a base to a template, agent or space.
INSERT INTO knowledge_assignments (tenant_id, level, ref, base_id) VALUES (:tenant_id, :level, :ref, :base_id)
ON CONFLICT (tenant_id, level, ref, base_id) DO NOTHING;

-- name: unassign_base!
-- Removes an assignment.
DELETE FROM knowledge_assignments
WHERE tenant_id = :tenant_id AND level = :level AND ref = :ref AND base_id = :base_id;

-- name: assigned_bases
-- The bases assigned to a turn's template, agent or space.
SELECT DISTINCT a.base_id
FROM (VALUES ('template', :template_id::text), ('agent', :agent_id::text), ('space', :space_id::text)) AS wanted (level, ref)
CROSS JOIN LATERAL (
    SELECT base_id FROM knowledge_assignments
    WHERE tenant_id = :tenant_id AND level = wanted.level AND ref = wanted.ref OFFSET 0) a
ORDER BY a.base_id;

-- name: insert_document^
-- Creates a document; no row if there is one at its path. It waits for a concurrent write of the document. Id and path are both
-- unique: a conflict with either must be no error, so none is named.
INSERT INTO documents (tenant_id, base_id, document_id, path, title, media_type, content_hash, chunk_count, updated_at)
VALUES (:tenant_id, :base_id, :document_id, :path, :title, :media_type, :content_hash, :chunk_count, :now)
ON CONFLICT DO NOTHING RETURNING document_id;

-- name: replace_document^
-- Replaces a document's content; no row if the content is the same.
UPDATE documents SET title = :title, media_type = :media_type, content_hash = :content_hash, chunk_count = :chunk_count,
    updated_at = :now
WHERE tenant_id = :tenant_id AND base_id = :base_id AND path = :path AND content_hash <> :content_hash
RETURNING document_id;

-- name: get_document^
-- The document at a path, or no row.
SELECT document_id, path, title, media_type, content_hash, chunk_count, updated_at FROM documents
WHERE tenant_id = :tenant_id AND base_id = :base_id AND path = :path;

-- name: list_documents
-- A page of a base's documents, in order of path.
SELECT document_id, path, title, media_type, content_hash, chunk_count, updated_at FROM documents
WHERE tenant_id = :tenant_id AND base_id = :base_id AND path > :after
ORDER BY path LIMIT :limit;

-- name: delete_document!
-- Deletes a document and, by cascade, its chunks.
DELETE FROM documents WHERE tenant_id = :tenant_id AND base_id = :base_id AND path = :path;

-- name: delete_chunks!
-- Deletes a document's chunks.
DELETE FROM chunks WHERE tenant_id = :tenant_id AND document_id = :document_id;

-- name: insert_chunks!
-- Inserts chunks of a document, given as columns; the caller compares how many.
INSERT INTO chunks (tenant_id, base_id, document_id, chunk_id, position, heading, page, text, signature, word_count, search_tsv,
    marks)
SELECT :tenant_id, :base_id, :document_id, r.chunk_id, r.position, r.heading, r.page, r.text, r.signature, r.word_count,
    search_vector(r.words), r.marks
FROM unnest(:chunk_ids::uuid[], :positions::int[], :headings::text[], :pages::int[], :texts::text[], :signatures::bytea[],
    :word_counts::int[], :words::text[], :marks::smallint[])
    AS r (chunk_id, position, heading, page, text, signature, word_count, words, marks)
ON CONFLICT (tenant_id, chunk_id) DO NOTHING;

-- name: recall_chunks
-- The chunks of some bases that match a question, with their documents and match data.
SELECT f.matched, f.cosines, f.frequencies, f.total, c.chunk_id, c.document_id, d.title, d.path, c.heading, c.page, c.position, c.text,
    c.marks, c.signature
FROM recall_chunks(:tenant_id, :base_ids::uuid[], :words::text[], :embedder_no::int, :vectors::text[], :limit::int, :weights::real[]) f
CROSS JOIN LATERAL (SELECT * FROM chunks WHERE tenant_id = :tenant_id AND chunk_id = f.found_id LIMIT 1) c
CROSS JOIN LATERAL (SELECT * FROM documents WHERE tenant_id = :tenant_id AND document_id = c.document_id LIMIT 1) d;
