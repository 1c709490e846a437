-- The texts that receipts name belong to an owner: they were a tenant's, kept once for all, so that forgetting one owner took them
-- from another. Texts that are kept go to each owner whose receipts name them; those that no receipt names go.
ALTER TABLE receipt_texts RENAME TO shared_receipt_texts;
ALTER INDEX receipt_texts_pkey RENAME TO shared_receipt_texts_pkey;
ALTER INDEX receipt_texts_by_end RENAME TO shared_receipt_texts_by_end;

CREATE TABLE receipt_texts (
    tenant_id uuid NOT NULL REFERENCES tenants,
    owner_id uuid NOT NULL,
    text_hash bytea NOT NULL,
    text text NOT NULL,
    kept_until timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, owner_id, text_hash)
);

INSERT INTO receipt_texts (tenant_id, owner_id, text_hash, text, kept_until)
SELECT named.tenant_id, named.owner_id, t.text_hash, t.text, t.kept_until
FROM (
    SELECT DISTINCT r.tenant_id, r.owner_id, kept.text_hash
    FROM receipts AS r CROSS JOIN LATERAL (
        SELECT r.details->'asked'->>'message' AS text_hash
        UNION ALL SELECT r.details->'history'->'summary'->>'text'
        UNION ALL SELECT unnest(ARRAY[turn->>'text', turn->>'parts'])
            FROM jsonb_array_elements(r.details->'history'->'turns') AS turn
        UNION ALL SELECT unnest(ARRAY[item->>'text', item->>'lead'])
            FROM jsonb_array_elements(r.details->'sources') AS source, jsonb_array_elements(source->'items') AS item
    ) AS kept
    WHERE kept.text_hash <> ''
) AS named
JOIN shared_receipt_texts AS t ON t.tenant_id = named.tenant_id AND t.text_hash = decode(named.text_hash, 'hex');

DROP TABLE shared_receipt_texts;
CREATE INDEX receipt_texts_by_end ON receipt_texts (kept_until);

ALTER TABLE receipt_texts ENABLE ROW LEVEL SECURITY;
CREATE POLICY owner ON receipt_texts USING (tenant_id = app_tenant() AND owner_id = app_owner());
GRANT SELECT, INSERT, UPDATE, DELETE ON receipt_texts TO sidecar_app, sidecar_worker;
GRANT SELECT ON receipt_texts TO sidecar_search;

-- Which owners hold receipt texts past their day: ids, never content.
DROP FUNCTION tenants_with_expired_texts(timestamptz, integer);
CREATE FUNCTION owners_with_expired_texts(p_now timestamptz, p_limit integer) RETURNS TABLE (tenant_id uuid, owner_id uuid)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp
AS $$ SELECT DISTINCT t.tenant_id, t.owner_id FROM receipt_texts t WHERE t.kept_until < p_now LIMIT p_limit $$;
ALTER FUNCTION owners_with_expired_texts(timestamptz, integer) OWNER TO sidecar_search;
REVOKE ALL ON FUNCTION owners_with_expired_texts(timestamptz, integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION owners_with_expired_texts(timestamptz, integer) TO sidecar_app, sidecar_worker;
