-- name: compile_standing
-- Waiting, running and failed compile jobs over all tenants: how many, and when the oldest was queued.
SELECT status, job_count, oldest_at FROM compile_state();
