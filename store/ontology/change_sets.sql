-- name: insert_set!
-- Writes a change set that is open.
INSERT INTO ontology_change_sets (tenant_id, change_set_id, origin, title, status, revision, drafted_by, drafted_at, decided_by)
VALUES (:tenant_id, :change_set_id, :origin, :title, 'open', 1, :drafted_by, :now, '');

-- name: get_set^
-- One change set.
SELECT change_set_id, origin, title, status, revision, drafted_by, drafted_at, decided_by, decided_at, applied_version
FROM ontology_change_sets WHERE tenant_id = :tenant_id AND change_set_id = :change_set_id;

-- name: open_set_of$
-- The newest open change set of an origin.
SELECT change_set_id FROM ontology_change_sets WHERE tenant_id = :tenant_id AND origin = :origin AND status = 'open'
ORDER BY drafted_at DESC, change_set_id LIMIT 1;

-- name: list_sets
-- A page of change sets, newest first.
SELECT change_set_id, origin, title, status, revision, drafted_by, drafted_at, decided_by, decided_at, applied_version
FROM ontology_change_sets
WHERE tenant_id = :tenant_id AND drafted_at <= :before::timestamptz AND (drafted_at < :before OR change_set_id > :after_id)
ORDER BY drafted_at DESC, change_set_id LIMIT :limit;

-- name: list_sets_of_status
-- A page of change sets of one status, newest first.
SELECT change_set_id, origin, title, status, revision, drafted_by, drafted_at, decided_by, decided_at, applied_version
FROM ontology_change_sets
WHERE tenant_id = :tenant_id AND status = :status AND drafted_at <= :before::timestamptz
    AND (drafted_at < :before OR change_set_id > :after_id)
ORDER BY drafted_at DESC, change_set_id LIMIT :limit;

-- name: count_items
-- How many items change sets have, by decision.
SELECT change_set_id, decision, count(*) AS item_count FROM ontology_change_set_items
WHERE tenant_id = :tenant_id AND change_set_id = ANY(:change_set_ids::uuid[]) GROUP BY change_set_id, decision;

-- name: insert_items*!
-- Writes items of a change set.
INSERT INTO ontology_change_set_items (tenant_id, change_set_id, item_id, position, subject_kind, action, proposed, decision,
    decided_by, edited_by, editors, origin, fingerprint, before, rationale, confidence, frequency)
VALUES (:tenant_id, :change_set_id, :item_id, :position, :subject_kind, :action, :proposed, 'pending', '', :edited_by, :editors,
    :origin, :fingerprint, :before, :rationale, :confidence, :frequency);

-- name: list_items
-- The items of a change set, in order.
SELECT item_id, position, subject_kind, action, proposed, edited, decision, decided_by, edited_by, editors, origin, fingerprint,
    before, rationale, confidence, frequency
FROM ontology_change_set_items WHERE tenant_id = :tenant_id AND change_set_id = :change_set_id ORDER BY position;

-- name: decide_item!
-- Writes an operator's decision on an item, with the edited value if there is one.
UPDATE ontology_change_set_items SET decision = :decision, decided_by = :author,
    edited = coalesce(:edited, edited), edited_by = CASE WHEN :edited::jsonb IS NULL THEN edited_by ELSE :author END,
    editors = CASE WHEN :edited IS NULL OR :author = ANY(editors) THEN editors ELSE editors || :author::text END
WHERE tenant_id = :tenant_id AND change_set_id = :change_set_id AND item_id = :item_id;

-- name: refresh_item!
-- Updates an item from a scan, unless an operator has edited or decided it.
UPDATE ontology_change_set_items SET proposed = :proposed, rationale = :rationale, confidence = :confidence, frequency = :frequency
WHERE tenant_id = :tenant_id AND item_id = :item_id AND edited IS NULL AND decision = 'pending' AND origin = 'scan';

-- name: accept_pending!
-- Accepts the undecided items of a change set.
UPDATE ontology_change_set_items SET decision = 'accepted', decided_by = :author
WHERE tenant_id = :tenant_id AND change_set_id = :change_set_id AND decision = 'pending';

-- name: drop_items!
-- Deletes items that a scan proposed and that no operator edited or accepted.
DELETE FROM ontology_change_set_items
WHERE tenant_id = :tenant_id AND item_id = ANY(:item_ids::uuid[]) AND origin = 'scan' AND edited IS NULL AND decision <> 'accepted';

-- name: touch_set$
-- Counts a change of an open change set.
UPDATE ontology_change_sets SET revision = revision + 1
WHERE tenant_id = :tenant_id AND change_set_id = :change_set_id AND status = 'open' RETURNING revision;

-- name: close_set!
-- Ends an open change set.
UPDATE ontology_change_sets SET status = :status, decided_by = :author, decided_at = :now, applied_version = :version,
    revision = revision + 1
WHERE tenant_id = :tenant_id AND change_set_id = :change_set_id AND status = 'open';

-- name: reject_fingerprints!
-- Records fingerprints of proposals that must not be repeated.
INSERT INTO ontology_rejections (tenant_id, fingerprint, rejected_by, rejected_at)
SELECT :tenant_id::uuid, f.fingerprint, :author::text, :now::timestamptz
FROM (SELECT DISTINCT unnest(:fingerprints::text[])) AS f (fingerprint)
ON CONFLICT (tenant_id, fingerprint) DO UPDATE SET rejected_by = excluded.rejected_by, rejected_at = excluded.rejected_at;

-- name: trim_rejections!
-- Deletes the oldest rejections beyond a number.
DELETE FROM ontology_rejections r USING (
    SELECT rejected_at, fingerprint FROM ontology_rejections WHERE tenant_id = :tenant_id
    ORDER BY rejected_at DESC, fingerprint OFFSET :most::int LIMIT 1) b
WHERE r.tenant_id = :tenant_id AND r.rejected_at <= b.rejected_at
    AND (r.rejected_at < b.rejected_at OR r.fingerprint >= b.fingerprint);

-- name: drop_rejected!
-- Deletes a change set's rejected items that a scan proposed, except the last ones.
DELETE FROM ontology_change_set_items WHERE tenant_id = :tenant_id AND item_id IN (
    SELECT item_id FROM ontology_change_set_items
    WHERE tenant_id = :tenant_id AND change_set_id = :change_set_id AND decision = 'rejected' AND origin = 'scan'
    ORDER BY position DESC OFFSET :keep::int);

-- name: allow_fingerprints!
-- Allows proposals with these fingerprints again.
DELETE FROM ontology_rejections WHERE tenant_id = :tenant_id AND fingerprint = ANY(:fingerprints::text[]);

-- name: rejected_among
-- Of the given fingerprints, those that were rejected.
SELECT fingerprint FROM ontology_rejections WHERE tenant_id = :tenant_id AND fingerprint = ANY(:fingerprints::text[]);

-- name: open_fingerprints
-- The fingerprints of the items of other open change sets.
SELECT i.fingerprint FROM ontology_change_set_items i JOIN ontology_change_sets s
    ON s.tenant_id = i.tenant_id AND s.change_set_id = i.change_set_id
WHERE i.tenant_id = :tenant_id AND s.tenant_id = :tenant_id AND s.status = 'open' AND s.change_set_id <> :change_set_id;

-- name: count_use
-- The numbers of pages, sections and edges of the tenant's wikis with some terms.
SELECT kind, name, use_count FROM tenants AS t CROSS JOIN count_ontology_use(:tenant_id, :names::text[], :sections::text[], :edge_types::text[])
WHERE t.tenant_id = :tenant_id;
