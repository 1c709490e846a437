-- The hubs that a memory's metadata names (a city, a journal), by the hashes of their titles, so that a hub that is made after the
-- memory was read gets its links. A hash instead of the words: nothing of a forgotten memory stays in the ledger.
ALTER TABLE memory_ledger ADD COLUMN hub_keys text[] NOT NULL DEFAULT '{}';
CREATE INDEX memory_ledger_by_hub ON memory_ledger USING gin (tenant_id, owner_id, hub_keys) WITH (fastupdate = off)
    WHERE hub_keys <> '{}';
