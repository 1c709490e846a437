-- When a memory was pinned: a pinned memory stands in every context of its owner.
ALTER TABLE memories ADD COLUMN pinned_at timestamptz;

CREATE INDEX memories_pinned ON memories (tenant_id, owner_id, pinned_at, memory_id) WHERE pinned_at IS NOT NULL;
