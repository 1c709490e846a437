-- name: get_answer$
-- The answer kept under a key.
SELECT answer FROM model_answers WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND answer_key = :answer_key;

-- name: put_answer!
-- Stores an answer, unless the key has one.
INSERT INTO model_answers (tenant_id, owner_id, answer_key, answer, created_at)
VALUES (:tenant_id, :owner_id, :answer_key, :answer, :now)
ON CONFLICT (tenant_id, owner_id, answer_key) DO NOTHING;

-- name: put_seen!
-- Records which memories an answer was shown.
INSERT INTO model_answer_memories (tenant_id, owner_id, answer_key, memory_id)
SELECT :tenant_id, :owner_id, :answer_key, r.memory_id FROM unnest(:memory_ids::text[]) AS r (memory_id)
ON CONFLICT (tenant_id, owner_id, answer_key, memory_id) DO NOTHING;

-- name: note_seen!
-- Records further memories that a kept answer was used for; locks the answer's row.
INSERT INTO model_answer_memories (tenant_id, owner_id, answer_key, memory_id)
SELECT a.tenant_id, a.owner_id, a.answer_key, r.memory_id
FROM model_answers a CROSS JOIN unnest(:memory_ids::text[]) AS r (memory_id)
WHERE a.tenant_id = :tenant_id AND a.owner_id = :owner_id AND a.answer_key = :answer_key
FOR KEY SHARE OF a
ON CONFLICT (tenant_id, owner_id, answer_key, memory_id) DO NOTHING;

-- name: forget_answers!
-- Deletes every answer that was shown one of the memories.
DELETE FROM model_answers a WHERE a.tenant_id = :tenant_id AND a.owner_id = :owner_id AND EXISTS (
    SELECT 1 FROM model_answer_memories m WHERE m.tenant_id = :tenant_id AND m.owner_id = :owner_id
        AND m.answer_key = a.answer_key AND m.memory_id = ANY(:memory_ids::text[]));

-- name: add_spend!
-- Adds to the spend of a day.
INSERT INTO compile_spend AS s (tenant_id, day, model_id, cost_usd) VALUES (:tenant_id, :day, :model_id, :cost_usd)
ON CONFLICT (tenant_id, day, model_id) DO UPDATE SET cost_usd = s.cost_usd + excluded.cost_usd;

-- name: spent_on$
-- A tenant's model spend on a day.
SELECT coalesce(sum(cost_usd), 0.0) FROM compile_spend WHERE tenant_id = :tenant_id AND day = :day;
