-- name: repeat_receipts!
-- Repeats an owner's receipts under ids of their own.
INSERT INTO receipts (tenant_id, owner_id, receipt_id, agent_id, thread_id, model_id, is_degraded, duration_ms, details, created_at)
SELECT r.tenant_id, r.owner_id, gen_random_uuid(), r.agent_id, r.thread_id, r.model_id, r.is_degraded, r.duration_ms, r.details,
    r.created_at
FROM receipts r, generate_series(1, :times::int) WHERE r.owner_id = :owner_id;

-- name: write_out#
-- Writes everything to the files.
CHECKPOINT;

-- name: sizes^
-- How many texts of people there are, how many receipts, and the bytes of the database.
SELECT (SELECT count(*) FROM turns) + (SELECT count(*) FROM memories) AS texts, (SELECT count(*) FROM receipts) AS receipts,
    pg_database_size(current_database()) AS bytes;
