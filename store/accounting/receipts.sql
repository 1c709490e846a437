-- name: insert_receipts!
-- Inserts receipts, given as columns. A receipt that already exists is left unchanged.
INSERT INTO receipts (tenant_id, owner_id, receipt_id, agent_id, thread_id, model_id, is_degraded, duration_ms, details, created_at)
SELECT :tenant_id, :owner_id, r.receipt_id, r.agent_id, r.thread_id, r.model_id, r.is_degraded, r.duration_ms, r.details, r.created_at
FROM unnest(:receipt_ids::uuid[], :agent_ids::text[], :thread_ids::text[], :model_ids::text[], :degraded::boolean[],
    :durations_ms::real[], :details::jsonb[], :created_at::timestamptz[])
    AS r (receipt_id, agent_id, thread_id, model_id, is_degraded, duration_ms, details, created_at)
ON CONFLICT (tenant_id, receipt_id) DO NOTHING;

-- name: texts_to_keep
-- Of the given hashes, those whose text is not kept, or not until within an hour of the given instant.
SELECT wanted.text_hash FROM unnest(:text_hashes::bytea[]) AS wanted (text_hash)
WHERE NOT EXISTS (SELECT FROM receipt_texts t WHERE t.tenant_id = :tenant_id AND t.owner_id = :owner_id
    AND t.text_hash = wanted.text_hash AND t.kept_until >= :kept_until::timestamptz - interval '1 hour');

-- name: keep_texts!
-- Keeps an owner's texts until an instant; never shortens that of a kept text. Given in hash order, so that writers never deadlock.
INSERT INTO receipt_texts AS t (tenant_id, owner_id, text_hash, text, kept_until)
SELECT :tenant_id, :owner_id, r.text_hash, r.text, :kept_until
FROM unnest(:text_hashes::bytea[], :texts::text[]) AS r (text_hash, text)
ON CONFLICT (tenant_id, owner_id, text_hash) DO UPDATE SET kept_until = excluded.kept_until
WHERE t.kept_until < excluded.kept_until;

-- name: get_receipt^
-- One receipt with its reported usage.
SELECT r.receipt_id, r.agent_id, r.thread_id, r.model_id, r.is_degraded, r.duration_ms, r.details, r.created_at,
    u.input_tokens, u.output_tokens, u.cache_read_tokens, u.cache_write_tokens, u.used_item_ids
FROM receipts r LEFT JOIN usage_reports u ON u.tenant_id = r.tenant_id AND u.receipt_id = r.receipt_id
WHERE r.tenant_id = :tenant_id AND r.owner_id = :owner_id AND r.receipt_id = :receipt_id;

-- name: get_texts
-- The texts that are still kept, by hash.
SELECT text_hash, text FROM receipt_texts
WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND text_hash = ANY(:text_hashes::bytea[]) AND kept_until > :now;

-- name: list_receipts
-- A page of an owner's receipts, newest first, without their candidates, which are large and read one receipt at a time. An agent
-- sees its own, made in no space or in one it holds; the outer coalesce keeps the planner from sorting all rows for an agent with few.
SELECT receipt_id, agent_id, thread_id, model_id, is_degraded, duration_ms, created_at, jsonb_build_object(
    'profile', jsonb_build_object('version', details->'profile'->'version'), 'pool', details->'pool',
    'tokenizer', details->'tokenizer', 'rendered', jsonb_build_object('sha256', details->'rendered'->'sha256'),
    'sources', (SELECT jsonb_agg(source - 'items') FROM jsonb_array_elements(details->'sources') AS source)) AS details
FROM receipts
WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND (created_at, receipt_id) < (:before::timestamptz, :before_id::uuid)
    AND coalesce(:agent_id::text = '' OR agent_id = :agent_id::text AND (:has_every_space::boolean
        OR coalesce(details->'asked'->>'space_id', '') = ANY(:spaces::text[])), false)
ORDER BY created_at DESC, receipt_id DESC LIMIT :limit;

-- name: list_receipts_of_thread
-- A page of a thread's receipts, newest first, without their candidates; an agent sees those it would see in the owner's list.
SELECT receipt_id, agent_id, thread_id, model_id, is_degraded, duration_ms, created_at, jsonb_build_object(
    'profile', jsonb_build_object('version', details->'profile'->'version'), 'pool', details->'pool',
    'tokenizer', details->'tokenizer', 'rendered', jsonb_build_object('sha256', details->'rendered'->'sha256'),
    'sources', (SELECT jsonb_agg(source - 'items') FROM jsonb_array_elements(details->'sources') AS source)) AS details
FROM receipts
WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND thread_id = :thread_id
    AND (created_at, receipt_id) < (:before::timestamptz, :before_id::uuid)
    AND coalesce(:agent_id::text = '' OR agent_id = :agent_id::text AND (:has_every_space::boolean
        OR coalesce(details->'asked'->>'space_id', '') = ANY(:spaces::text[])), false)
ORDER BY created_at DESC, receipt_id DESC LIMIT :limit;

-- name: lock_receipt$
-- Locks a receipt against concurrent reports until the transaction ends.
SELECT receipt_id FROM receipts WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND receipt_id = :receipt_id FOR NO KEY UPDATE;

-- name: is_reported$
-- Whether usage was reported for a receipt.
SELECT true FROM usage_reports WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND receipt_id = :receipt_id;

-- name: report_usage!
-- Stores the usage reported for a receipt; a later report replaces an earlier one.
INSERT INTO usage_reports (tenant_id, owner_id, receipt_id, input_tokens, output_tokens, cache_read_tokens, cache_write_tokens,
    used_item_ids, reported_at)
VALUES (:tenant_id, :owner_id, :receipt_id, :input_tokens, :output_tokens, :cache_read_tokens, :cache_write_tokens,
    :used_item_ids::text[], :now)
ON CONFLICT (tenant_id, receipt_id) DO UPDATE SET input_tokens = excluded.input_tokens, output_tokens = excluded.output_tokens,
    cache_read_tokens = excluded.cache_read_tokens, cache_write_tokens = excluded.cache_write_tokens,
    used_item_ids = excluded.used_item_ids, reported_at = excluded.reported_at;

-- name: open_calibration^
-- Creates or locks the calibration learned from an owner's reports on a model until the transaction ends, and returns it.
INSERT INTO owner_calibrations AS c (tenant_id, owner_id, model_id, ratio, error, report_count, ignored_count, updated_at)
VALUES (:tenant_id, :owner_id, :model_id, 1.0, 0.0, 0, 0, :now)
ON CONFLICT (tenant_id, owner_id, model_id) DO UPDATE SET updated_at = c.updated_at
RETURNING ratio, error, report_count, ignored_count;

-- name: put_calibration!
-- Stores the calibration learned from an owner's reports on a model, opened before.
UPDATE owner_calibrations SET ratio = :ratio, error = :error, report_count = :report_count, ignored_count = :ignored_count,
    updated_at = :now
WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND model_id = :model_id;

-- name: calibrations_in_force
-- The calibrations a tenant's turns use, by model: one for all owners, or one per owner while too few have reported.
SELECT model_id, owner_id, ratio, error, report_count, ignored_count FROM tenants AS t CROSS JOIN calibrations_in_force(:tenant_id, :trusted_after)
WHERE t.tenant_id = :tenant_id;

-- name: owners_with_expired_texts
-- Owners with expired receipt texts.
SELECT tenant_id, owner_id FROM owners_with_expired_texts(:now, :limit);

-- name: delete_expired_texts!
-- Deletes some of an owner's expired receipt texts.
DELETE FROM receipt_texts WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND kept_until < :now::timestamptz
    AND text_hash = ANY(ARRAY(SELECT text_hash FROM receipt_texts
        WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND kept_until < :now::timestamptz LIMIT :limit::int));

-- name: forget_texts!
-- Deletes an owner's texts before they expire, because their content was forgotten.
DELETE FROM receipt_texts WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND text_hash = ANY(:text_hashes::bytea[]);

-- name: texts_at_stake
-- The texts of an owner's receipts under the given hashes, of candidates and turns that rest on one of the references, and the words of
-- the threads of such turns with which their later turns searched; each with the texts of the memories that it names as its source or that have the same text, without the given memories. Receipts of earlier releases
-- name texts by their whole hash, in hexadecimal.
WITH named AS MATERIALIZED (
    SELECT CASE length(kept.name) WHEN 64 THEN decode(kept.name, 'hex') ELSE decode(kept.name, 'base64') END AS text_hash,
        item->'provenance' AS provenance
    FROM receipts AS r CROSS JOIN LATERAL (
        SELECT item FROM jsonb_array_elements(r.details->'sources') AS source, jsonb_array_elements(source->'items') AS item
        UNION ALL SELECT jsonb_build_object('text', turn->>'text', 'lead', turn->>'parts',
                'provenance', jsonb_build_array(jsonb_build_array('turn', replace(turn->>'id', 'turn:', ''), '')))
            FROM jsonb_array_elements(r.details->'history'->'turns') AS turn
        UNION ALL SELECT jsonb_build_object('text', summary->>'text', 'lead', summary->'item'->>'lead', 'provenance',
                coalesce((SELECT jsonb_agg(jsonb_build_array('turn', replace(id, 'turn:', ''), '')) FROM jsonb_array_elements_text(summary->'turn_ids') AS id), '[]')
                || jsonb_build_array(jsonb_build_array('thread', r.thread_id, '')))
            FROM (SELECT r.details->'history'->'summary' AS summary) AS s WHERE jsonb_typeof(summary) = 'object'
    ) AS held (item), unnest(ARRAY[item->>'text', item->>'lead']) AS kept (name)
    WHERE r.tenant_id = :tenant_id AND r.owner_id = :owner_id AND kept.name <> ''
), at_stake AS MATERIALIZED (
    SELECT n.text_hash FROM named AS n WHERE EXISTS (
        SELECT 1 FROM jsonb_array_elements(n.provenance) AS ref JOIN unnest(:kinds::text[], :refs::text[]) AS gone (kind, id)
            ON ref->>0 = gone.kind AND ref->>1 = gone.id)
    UNION SELECT given.text_hash FROM unnest(:text_hashes::bytea[]) AS given (text_hash)
    UNION SELECT decode(r.details->'reading'->>'thread_words', 'base64') FROM receipts AS r
    WHERE r.tenant_id = :tenant_id AND r.owner_id = :owner_id AND r.details->'reading'->>'thread_words' <> '' AND r.thread_id = ANY(ARRAY(
        SELECT said.thread_id FROM turns AS said WHERE said.tenant_id = :tenant_id AND said.owner_id = :owner_id AND said.turn_id = ANY(ARRAY(
            SELECT gone.id::uuid FROM unnest(:kinds::text[], :refs::text[]) AS gone (kind, id)
            WHERE gone.kind = 'turn' AND gone.id ~ '^[0-9a-f-]{36}$'))))
)
SELECT t.text_hash, t.text, ARRAY(
    SELECT m.text FROM memories AS m
    WHERE m.tenant_id = :tenant_id AND m.owner_id = :owner_id AND m.memory_id <> ALL(:memory_ids::text[]) AND (substr(m.text_hash, 1, length(t.text_hash)) = t.text_hash
        OR m.memory_id IN (SELECT ref->>1 FROM named AS n, jsonb_array_elements(n.provenance) AS ref
            WHERE n.text_hash = t.text_hash AND ref->>0 = 'memory'))) AS others
FROM at_stake JOIN receipt_texts AS t ON t.tenant_id = :tenant_id AND t.owner_id = :owner_id AND t.text_hash = at_stake.text_hash;

-- name: blank_names_resting_on!
-- Blanks the headings and labels of candidates in an owner's receipts that rest on one of the references, or
-- were reached over one of the pages; ids, positions and figures stay.
UPDATE receipts AS r SET details = jsonb_set(r.details, '{sources}', (
    SELECT jsonb_agg(CASE WHEN jsonb_typeof(source->'items') = 'array' AND source->'items' <> '[]' THEN jsonb_set(source, '{items}', (
        SELECT jsonb_agg(CASE WHEN EXISTS (
                SELECT 1 FROM jsonb_array_elements(item->'provenance') AS ref JOIN unnest(:kinds::text[], :refs::text[]) AS gone (kind, id)
                    ON ref->>1 = gone.id AND (ref->>0 = gone.kind OR ref->>0 = 'step' AND gone.kind = 'page'))
            THEN item || jsonb_build_object('header', '', 'provenance', (
                SELECT jsonb_agg(jsonb_set(ref, '{2}', '""') ORDER BY place)
                FROM jsonb_array_elements(item->'provenance') WITH ORDINALITY AS refs (ref, place)))
            ELSE item END ORDER BY at)
        FROM jsonb_array_elements(source->'items') WITH ORDINALITY AS items (item, at))) ELSE source END ORDER BY nth)
    FROM jsonb_array_elements(r.details->'sources') WITH ORDINALITY AS sources (source, nth)))
WHERE r.tenant_id = :tenant_id AND r.owner_id = :owner_id AND EXISTS (
    SELECT 1 FROM jsonb_array_elements(r.details->'sources') AS source, jsonb_array_elements(source->'items') AS item,
        jsonb_array_elements(item->'provenance') AS ref JOIN unnest(:kinds::text[], :refs::text[]) AS gone (kind, id)
            ON ref->>1 = gone.id AND (ref->>0 = gone.kind OR ref->>0 = 'step' AND gone.kind = 'page'));

-- name: blank_speakers_of
-- Blanks the speakers of turns in an owner's receipts.
UPDATE receipts AS r SET details = jsonb_set(r.details, '{history,turns}', (
    SELECT jsonb_agg(CASE WHEN turn->>'id' = ANY(:turn_ids::text[]) THEN turn || '{"speaker": ""}' ELSE turn END ORDER BY nth)
    FROM jsonb_array_elements(r.details->'history'->'turns') WITH ORDINALITY AS turns (turn, nth)))
WHERE r.tenant_id = :tenant_id AND r.owner_id = :owner_id AND EXISTS (
    SELECT 1 FROM jsonb_array_elements(r.details->'history'->'turns') AS turn
    WHERE turn->>'id' = ANY(:turn_ids::text[]) AND turn->>'speaker' <> '');

-- name: texts_of_receipts
-- The hashes of the texts that some receipts name and no other receipt of the owner does.
WITH named AS MATERIALIZED (
    SELECT r.receipt_id, kept.name FROM receipts AS r CROSS JOIN LATERAL (
        SELECT r.details->'asked'->>'message' AS name
        UNION ALL SELECT jsonb_array_elements_text(r.details->'reading'->'parts') WHERE jsonb_typeof(r.details->'reading') = 'object'
        UNION ALL SELECT r.details->'reading'->>'thread_words'
        UNION ALL SELECT r.details->'history'->'summary'->>'text'
        UNION ALL SELECT r.details->'history'->'summary'->'item'->>'lead'
        UNION ALL SELECT unnest(ARRAY[turn->>'text', turn->>'parts']) FROM jsonb_array_elements(r.details->'history'->'turns') AS turn
        UNION ALL SELECT unnest(ARRAY[item->>'text', item->>'lead'])
            FROM jsonb_array_elements(r.details->'sources') AS source, jsonb_array_elements(source->'items') AS item
    ) AS kept WHERE r.tenant_id = :tenant_id AND r.owner_id = :owner_id AND kept.name <> ''
)
SELECT DISTINCT CASE length(n.name) WHEN 64 THEN decode(n.name, 'hex') ELSE decode(n.name, 'base64') END AS text_hash FROM named AS n
WHERE n.receipt_id = ANY(:receipt_ids::uuid[]) AND NOT EXISTS (
    SELECT 1 FROM named AS other WHERE other.name = n.name AND other.receipt_id <> ALL(:receipt_ids::uuid[]));

-- name: delete_receipts!
-- Deletes receipts with the usage reported for them.
DELETE FROM receipts WHERE tenant_id = :tenant_id AND owner_id = :owner_id AND receipt_id = ANY(:receipt_ids::uuid[]);
