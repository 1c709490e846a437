-- name: has_vectors$
-- Whether this database can hold vectors.
SELECT to_regclass('public.embedders') IS NOT NULL;

-- name: put_embedder$
-- The number of an embedder, given to it now unless it has one.
WITH made AS (
    INSERT INTO embedders (model, dimensions) VALUES (:model, :dimensions) ON CONFLICT (model, dimensions) DO NOTHING
    RETURNING embedder_no
)
SELECT embedder_no FROM made UNION ALL SELECT embedder_no FROM embedders WHERE model = :model AND dimensions = :dimensions LIMIT 1;
