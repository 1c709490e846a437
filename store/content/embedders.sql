-- name: has_vectors$
-- Whether this database can store vectors.
SELECT to_regclass('public.embedders') IS NOT NULL;

-- name: find_embedder$
-- The number of an embedder, null if it has none yet.
SELECT embedder_no FROM embedders WHERE model = :model AND dimensions = :dimensions;

-- name: put_embedder$
-- The number of an embedder, assigned if it has none.
WITH inserted AS (
    INSERT INTO embedders (model, dimensions) VALUES (:model, :dimensions) ON CONFLICT (model, dimensions) DO NOTHING
    RETURNING embedder_no
)
SELECT embedder_no FROM inserted UNION ALL SELECT embedder_no FROM embedders WHERE model = :model AND dimensions = :dimensions LIMIT 1;
