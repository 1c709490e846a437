-- A rule may release the documents of a knowledge base, or one of them, in the place of memories.
ALTER TABLE brain_rules
    ADD COLUMN knowledge_base text NOT NULL DEFAULT '',
    ADD COLUMN document_path text NOT NULL DEFAULT '',
    ADD CHECK (document_path = '' OR knowledge_base <> ''),
    ADD CHECK (knowledge_base = '' OR (tags = '{}' AND memory_types = '{}' AND metadata = '{}'));

-- A copy of a piece of a document: its origin is the Brain's own owner, and the origin's id is the piece's.
ALTER TABLE brain_copies ADD COLUMN document_id uuid;
CREATE INDEX brain_copies_by_document ON brain_copies (tenant_id, owner_id, document_id) WHERE document_id IS NOT NULL;
