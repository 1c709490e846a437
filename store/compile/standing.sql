-- name: compile_standing
-- Compile jobs over all tenants that wait, run or failed: how many, and since when the oldest.
SELECT status, job_count, oldest_at FROM compile_state();
