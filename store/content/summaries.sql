-- name: turns_to_fold
-- Turns that are neither summarized nor among the newest nor forgotten, oldest first.
SELECT t.turn_id, t.position, t.role, t.speaker, t.text FROM turns t
WHERE t.tenant_id = :tenant_id AND t.owner_id = :owner_id AND t.thread_id = :thread_id
    AND t.position > coalesce((SELECT through_position FROM thread_summaries
        WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND thread_id = :thread_id), 0)
    AND NOT (t.text = '' AND t.parts = '[]') AND t.position <= (SELECT turn_count FROM threads
        WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND thread_id = :thread_id) - :keep_turns::int
ORDER BY t.position LIMIT :limit;

-- name: write_summary!
-- Writes a thread's summary, unless another writer has advanced it meanwhile.
INSERT INTO thread_summaries AS s (tenant_id, owner_id, thread_id, through_position, text, turn_ids, updated_at)
VALUES (:tenant_id, :owner_id, :thread_id, :through, :text, :turn_ids::text[], :now)
ON CONFLICT (tenant_id, owner_id, thread_id) DO UPDATE SET through_position = excluded.through_position, text = excluded.text,
    turn_ids = excluded.turn_ids, updated_at = excluded.updated_at
WHERE s.through_position = :before;
