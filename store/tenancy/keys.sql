-- name: add_key!
-- Stores a key of the installation, unless the purpose has one.
INSERT INTO installation_keys (key_id, purpose, secret, created_at)
SELECT :key_id, :purpose, :secret, :now WHERE NOT EXISTS (SELECT 1 FROM installation_keys WHERE purpose = :purpose)
ON CONFLICT (key_id) DO NOTHING;

-- name: list_keys
-- The installation's keys of a purpose, newest first.
SELECT key_id, secret FROM installation_keys WHERE purpose = :purpose ORDER BY created_at DESC, key_id;
