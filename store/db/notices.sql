-- name: still_there$
-- Answers when the connection still stands.
SELECT 1;
