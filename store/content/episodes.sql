-- name: lock_thread$
-- Locks a thread's row until the transaction ends.
SELECT turn_count FROM threads
WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND thread_id = :thread_id FOR NO KEY UPDATE;

-- name: said_turns
-- A thread's turns that were not forgotten, without their texts, in order of time.
SELECT turn_id, said_at FROM turns
WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND thread_id = :thread_id
    AND NOT (text = '' AND parts = '[]')
ORDER BY said_at, position;

-- name: texts_of_turns
-- The given turns of a thread, in order of time.
SELECT turn_id, position, role, speaker, text FROM turns
WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND thread_id = :thread_id AND turn_id = ANY(:turn_ids::uuid[])
ORDER BY said_at, position;

-- name: list_closings
-- The instants at which a caller closed the thread's episode.
SELECT closed_at FROM episode_closings
WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND thread_id = :thread_id ORDER BY closed_at;

-- name: insert_closing!
-- Records that a caller closed the thread's episode.
INSERT INTO episode_closings (tenant_id, owner_id, thread_id, closed_at)
VALUES (:tenant_id, :owner_id, :thread_id, :closed_at) ON CONFLICT DO NOTHING;

-- name: episodes_of_thread
-- A thread's episodes, in order of time.
SELECT episode_id, thread_id, text, turn_ids, authority, started_at, ended_at, created_at, updated_at FROM episodes
WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND thread_id = :thread_id ORDER BY started_at, episode_id;

-- name: episodes_holding
-- The episodes that contain one of the turns, locked until the transaction ends.
SELECT episode_id, thread_id, text, turn_ids, authority, started_at, ended_at, created_at, updated_at FROM episodes
WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND turn_ids && :turn_ids::text[] ORDER BY episode_id FOR UPDATE;

-- name: put_episode!
-- Writes an episode, replacing one with the same id; the time of creation stays.
INSERT INTO episodes (tenant_id, owner_id, episode_id, thread_id, text, turn_ids, authority, started_at, ended_at, created_at,
    updated_at)
VALUES (:tenant_id, :owner_id, :episode_id, :thread_id, :text, :turn_ids::text[], :authority, :started_at, :ended_at, :created_at,
    :updated_at)
ON CONFLICT (tenant_id, owner_id, episode_id) DO UPDATE SET text = excluded.text, turn_ids = excluded.turn_ids,
    authority = excluded.authority, started_at = excluded.started_at, ended_at = excluded.ended_at,
    updated_at = excluded.updated_at;

-- name: delete_episodes!
-- Deletes episodes.
DELETE FROM episodes WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND episode_id = ANY(:episode_ids::text[]);

-- name: lock_episodes
-- Locks episodes by id until the transaction ends, and returns them.
SELECT episode_id, thread_id, text, turn_ids, authority, started_at, ended_at, created_at, updated_at FROM episodes
WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND episode_id = ANY(:episode_ids::text[]) ORDER BY episode_id FOR UPDATE;

-- name: list_episodes
-- A page of an owner's episodes, the one that ended last first, each with the summary that it was compressed into.
SELECT e.episode_id, e.thread_id, e.text, e.turn_ids, e.authority, e.started_at, e.ended_at, e.created_at, e.updated_at,
    coalesce((SELECT min(s.memory_id) FROM episode_supersessions s WHERE s.tenant_id = :tenant_id AND s.owner_id = :owner_id
        AND s.episode_id = e.episode_id), '') AS summary_id
FROM episodes e
WHERE e.tenant_id = :tenant_id AND e.owner_id = :owner_id
    AND (e.ended_at, e.episode_id) < (:before::timestamptz, :before_id::text)
ORDER BY e.ended_at DESC, e.episode_id DESC LIMIT :limit;

-- name: list_episodes_of_thread
-- A page of a thread's episodes, the one that ended last first, each with the summary that it was compressed into.
SELECT e.episode_id, e.thread_id, e.text, e.turn_ids, e.authority, e.started_at, e.ended_at, e.created_at, e.updated_at,
    coalesce((SELECT min(s.memory_id) FROM episode_supersessions s WHERE s.tenant_id = :tenant_id AND s.owner_id = :owner_id
        AND s.episode_id = e.episode_id), '') AS summary_id
FROM episodes e
WHERE e.tenant_id = :tenant_id AND e.owner_id = :owner_id AND e.thread_id = :thread_id
    AND (e.ended_at, e.episode_id) < (:before::timestamptz, :before_id::text)
ORDER BY e.ended_at DESC, e.episode_id DESC LIMIT :limit;

-- name: insert_episode_edges!
-- Inserts edges, given as columns; the caller compares how many.
INSERT INTO episode_supersessions (tenant_id, owner_id, memory_id, episode_id, created_at, place, job_id)
SELECT :tenant_id, :owner_id, s.memory_id, s.episode_id, s.created_at, s.place, s.job_id
FROM unnest(:memory_ids::text[], :episode_ids::text[], :created_at::timestamptz[], :places::int[], :job_ids::uuid[])
    AS s (memory_id, episode_id, created_at, place, job_id)
ON CONFLICT (tenant_id, owner_id, memory_id, episode_id) DO NOTHING;

-- name: episode_edges_to
-- The edges to the given episodes, in the order of their sources.
SELECT memory_id, episode_id, created_at, place, job_id FROM episode_supersessions
WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND episode_id = ANY(:episode_ids::text[]) ORDER BY memory_id, place;

-- name: episodes_of_summary
-- The episodes compressed into a summary, in the order of its sources.
SELECT e.episode_id, e.thread_id, e.text, e.turn_ids, e.authority, e.started_at, e.ended_at, e.created_at, e.updated_at
FROM episode_supersessions s
JOIN episodes e ON e.tenant_id = :tenant_id AND e.owner_id = :owner_id AND e.episode_id = s.episode_id
WHERE s.tenant_id = :tenant_id AND s.owner_id = :owner_id AND s.memory_id = :memory_id ORDER BY s.place;
