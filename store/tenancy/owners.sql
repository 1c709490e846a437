-- name: tables_here
-- The given tables that exist in this database, in order: without the extension there are no tables of vectors.
SELECT t.name FROM unnest(:tables::text[]) WITH ORDINALITY AS t (name, place)
WHERE to_regclass('public.' || t.name) IS NOT NULL ORDER BY t.place;

-- name: forget_receipt_texts!
-- Deletes an owner's rows.
DELETE FROM receipt_texts WHERE tenant_id = :tenant_id AND owner_id = :owner_id;

-- name: forget_receipts!
-- Deletes an owner's rows, with the usage reported for them.
DELETE FROM receipts WHERE tenant_id = :tenant_id AND owner_id = :owner_id;

-- name: forget_turn_accounts!
-- Deletes an owner's rows.
DELETE FROM turn_accounts WHERE tenant_id = :tenant_id AND owner_id = :owner_id;

-- name: forget_owner_calibrations!
-- Deletes an owner's rows.
DELETE FROM owner_calibrations WHERE tenant_id = :tenant_id AND owner_id = :owner_id;

-- name: forget_turn_vectors!
-- Deletes an owner's rows.
DELETE FROM turn_vectors WHERE tenant_id = :tenant_id AND owner_id = :owner_id;

-- name: forget_episode_supersessions!
-- Deletes an owner's rows.
DELETE FROM episode_supersessions WHERE tenant_id = :tenant_id AND owner_id = :owner_id;

-- name: forget_episodes!
-- Deletes an owner's rows.
DELETE FROM episodes WHERE tenant_id = :tenant_id AND owner_id = :owner_id;

-- name: forget_episode_closings!
-- Deletes an owner's rows.
DELETE FROM episode_closings WHERE tenant_id = :tenant_id AND owner_id = :owner_id;

-- name: forget_thread_summaries!
-- Deletes an owner's rows.
DELETE FROM thread_summaries WHERE tenant_id = :tenant_id AND owner_id = :owner_id;

-- name: forget_turns!
-- Deletes an owner's rows.
DELETE FROM turns WHERE tenant_id = :tenant_id AND owner_id = :owner_id;

-- name: forget_threads!
-- Deletes an owner's rows.
DELETE FROM threads WHERE tenant_id = :tenant_id AND owner_id = :owner_id;

-- name: forget_webhook_deliveries!
-- Deletes an owner's rows.
DELETE FROM webhook_deliveries WHERE tenant_id = :tenant_id AND owner_id = :owner_id;

-- name: forget_webhook_subscriptions!
-- Deletes an owner's rows.
DELETE FROM webhook_subscriptions WHERE tenant_id = :tenant_id AND owner_id = :owner_id;

-- name: forget_model_answer_memories!
-- Deletes an owner's rows.
DELETE FROM model_answer_memories WHERE tenant_id = :tenant_id AND owner_id = :owner_id;

-- name: forget_model_answers!
-- Deletes an owner's rows.
DELETE FROM model_answers WHERE tenant_id = :tenant_id AND owner_id = :owner_id;

-- name: forget_compile_batches!
-- Deletes an owner's rows.
DELETE FROM compile_batches WHERE tenant_id = :tenant_id AND owner_id = :owner_id;

-- name: forget_compile_accounts!
-- Deletes an owner's rows.
DELETE FROM compile_accounts WHERE tenant_id = :tenant_id AND owner_id = :owner_id;

-- name: forget_memory_ledger!
-- Deletes an owner's rows.
DELETE FROM memory_ledger WHERE tenant_id = :tenant_id AND owner_id = :owner_id;

-- name: forget_wiki_lints!
-- Deletes an owner's rows.
DELETE FROM wiki_lints WHERE tenant_id = :tenant_id AND owner_id = :owner_id;

-- name: forget_wiki_section_children!
-- Deletes an owner's rows.
DELETE FROM wiki_section_children WHERE tenant_id = :tenant_id AND parent_page_id = ANY(ARRAY(
    SELECT page_id FROM wiki_pages WHERE tenant_id = :tenant_id AND owner_id = :owner_id));

-- name: forget_wiki_section_sources!
-- Deletes an owner's rows.
DELETE FROM wiki_section_sources WHERE tenant_id = :tenant_id AND owner_id = :owner_id;

-- name: forget_wiki_mention_sightings!
-- Deletes an owner's rows.
DELETE FROM wiki_mention_sightings WHERE tenant_id = :tenant_id AND owner_id = :owner_id;

-- name: forget_wiki_unresolved_mentions!
-- Deletes an owner's rows.
DELETE FROM wiki_unresolved_mentions WHERE tenant_id = :tenant_id AND owner_id = :owner_id;

-- name: forget_wiki_link_evidence!
-- Deletes an owner's rows.
DELETE FROM wiki_link_evidence WHERE tenant_id = :tenant_id AND owner_id = :owner_id;

-- name: forget_wiki_page_links!
-- Deletes an owner's rows.
DELETE FROM wiki_page_links WHERE tenant_id = :tenant_id AND owner_id = :owner_id;

-- name: forget_wiki_page_aliases!
-- Deletes an owner's rows.
DELETE FROM wiki_page_aliases WHERE tenant_id = :tenant_id AND owner_id = :owner_id;

-- name: forget_section_vectors!
-- Deletes an owner's rows.
DELETE FROM section_vectors WHERE tenant_id = :tenant_id AND owner_id = :owner_id;

-- name: forget_wiki_page_sections!
-- Deletes an owner's rows.
DELETE FROM wiki_page_sections WHERE tenant_id = :tenant_id AND owner_id = :owner_id;

-- name: forget_page_vectors!
-- Deletes an owner's rows.
DELETE FROM page_vectors WHERE tenant_id = :tenant_id AND owner_id = :owner_id;

-- name: forget_wiki_pages!
-- Deletes an owner's rows.
DELETE FROM wiki_pages WHERE tenant_id = :tenant_id AND owner_id = :owner_id;

-- name: forget_wiki_rulings!
-- Deletes an owner's rows.
DELETE FROM wiki_rulings WHERE tenant_id = :tenant_id AND owner_id = :owner_id;

-- name: forget_wiki_kept_edges!
-- Deletes an owner's rows.
DELETE FROM wiki_kept_edges WHERE tenant_id = :tenant_id AND owner_id = :owner_id;

-- name: forget_wiki_kept_ends!
-- Deletes an owner's rows.
DELETE FROM wiki_kept_ends WHERE tenant_id = :tenant_id AND owner_id = :owner_id;

-- name: forget_memory_vectors!
-- Deletes an owner's rows.
DELETE FROM memory_vectors WHERE tenant_id = :tenant_id AND owner_id = :owner_id;

-- name: forget_remote_forgettings!
-- Deletes an owner's rows.
DELETE FROM remote_forgettings WHERE tenant_id = :tenant_id AND owner_id = :owner_id;

-- name: forget_decay_days!
-- Deletes an owner's rows.
DELETE FROM decay_days WHERE tenant_id = :tenant_id AND owner_id = :owner_id;

-- name: forget_decay_jobs!
-- Deletes an owner's rows.
DELETE FROM decay_jobs WHERE tenant_id = :tenant_id AND owner_id = :owner_id;

-- name: forget_memory_supersessions!
-- Deletes an owner's rows.
DELETE FROM memory_supersessions WHERE tenant_id = :tenant_id AND owner_id = :owner_id;

-- name: forget_memory_status_changes!
-- Deletes an owner's rows.
DELETE FROM memory_status_changes WHERE tenant_id = :tenant_id AND owner_id = :owner_id;

-- name: forget_memories!
-- Deletes an owner's rows.
DELETE FROM memories WHERE tenant_id = :tenant_id AND owner_id = :owner_id;

-- name: forget_ontology_evidence_examples!
-- Deletes an owner's rows.
DELETE FROM ontology_evidence_examples WHERE tenant_id = :tenant_id AND owner_id = :owner_id;

-- name: forget_memory_feeds!
-- Deletes an owner's rows.
DELETE FROM memory_feeds WHERE tenant_id = :tenant_id AND owner_id = :owner_id;

-- name: forget_owner_storage!
-- Deletes an owner's rows.
DELETE FROM owner_storage WHERE tenant_id = :tenant_id AND owner_id = :owner_id;

-- name: forget_background_jobs!
-- Deletes an owner's rows.
DELETE FROM background_jobs WHERE tenant_id = :tenant_id AND owner_id = :owner_id;

-- name: forget_places_to_embed!
-- Deletes an owner's rows.
DELETE FROM places_to_embed WHERE tenant_id = :tenant_id AND owner_id = :owner_id;

-- name: forget_wiki_compile_jobs!
-- Deletes an owner's rows.
DELETE FROM wiki_compile_jobs WHERE tenant_id = :tenant_id AND owner_id = :owner_id;

-- name: forget_wiki_compile_cursors!
-- Deletes an owner's rows.
DELETE FROM wiki_compile_cursors WHERE tenant_id = :tenant_id AND owner_id = :owner_id;

-- name: forget_brain_copies!
-- Deletes an owner's rows.
DELETE FROM brain_copies WHERE tenant_id = :tenant_id AND owner_id = :owner_id;

-- name: forget_brain_cursors!
-- Deletes an owner's rows.
DELETE FROM brain_cursors WHERE tenant_id = :tenant_id AND owner_id = :owner_id;

-- name: forget_brain_withdrawals!
-- Deletes an owner's rows.
DELETE FROM brain_withdrawals WHERE tenant_id = :tenant_id AND owner_id = :owner_id;
