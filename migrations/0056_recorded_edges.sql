-- When a statement about an edge was recorded, set by the server; null for one from before, which counts from its link's creation.
ALTER TABLE wiki_link_evidence ADD COLUMN recorded_at timestamptz;
