-- name: insert_attestation!
-- Inserts an attestation; one that exists stays.
INSERT INTO decay_attestations (tenant_id, attestation_id, model_id, prompt_hash, key_id, envelope, signature, issued_at,
    expires_at, created_at)
VALUES (:tenant_id, :attestation_id, :model_id, :prompt_hash, :key_id, :envelope, :signature, :issued_at, :expires_at, :created_at)
ON CONFLICT (tenant_id, attestation_id) DO NOTHING;

-- name: revoke_attestation!
-- Revokes an attestation.
UPDATE decay_attestations SET revoked_at = :now
WHERE tenant_id = :tenant_id AND attestation_id = :attestation_id AND revoked_at IS NULL;

-- name: list_attestations
-- A tenant's newest attestations.
SELECT attestation_id, model_id, prompt_hash, key_id, envelope, signature, issued_at, expires_at, created_at, revoked_at
FROM decay_attestations WHERE tenant_id = :tenant_id ORDER BY created_at DESC, attestation_id LIMIT 100;

-- name: get_attestation^
-- One attestation, or no row.
SELECT attestation_id, model_id, prompt_hash, key_id, envelope, signature, issued_at, expires_at, created_at, revoked_at
FROM decay_attestations WHERE tenant_id = :tenant_id AND attestation_id = :attestation_id;

-- name: attestations_of_prompt
-- The attestations for a model and a prompt, the one that lasts longest first.
SELECT attestation_id, model_id, prompt_hash, key_id, envelope, signature, issued_at, expires_at, created_at, revoked_at
FROM decay_attestations WHERE tenant_id = :tenant_id AND model_id = :model_id AND prompt_hash = :prompt_hash
ORDER BY expires_at DESC, attestation_id LIMIT 100;
