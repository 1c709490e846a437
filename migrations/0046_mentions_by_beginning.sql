-- Held names that begin with a word, in the order of their bytes.
CREATE INDEX wiki_unresolved_mentions_by_name ON wiki_unresolved_mentions (tenant_id, owner_id, alias_normalized text_pattern_ops)
    WHERE status = 'open';
