"""Forgetting an owner: deletes every row of the owner in one transaction.

The tenant's anonymous sums stay, and so do texts entered by an administrator, such as the name of a budget.
"""

from __future__ import annotations

from store.accounting import audit
from store.compile import ready, scopes
from store.content import feed
from store.db import queries
from store.db.queries import Connection
from store.ontology import evidence
from store.scope import Scope
from store.tenancy import forgotten

_sql = queries.load(__file__)

# A table comes before the tables it references; usage reports are deleted with their receipts. Evidence comes after the memories,
# because a scan that is writing some holds them. The cursor's row is locked from the start and deleted last, because a compile
# waits for it.
TABLES = (
    "receipts",
    "receipt_texts",
    "turn_accounts",
    "owner_calibrations",
    "turn_vectors",
    "episode_supersessions",
    "episodes",
    "episode_closings",
    "thread_summaries",
    "turns",
    "threads",
    "webhook_deliveries",
    "webhook_subscriptions",
    "model_answer_memories",
    "model_answers",
    "compile_batches",
    "compile_accounts",
    "memory_ledger",
    "wiki_lints",
    "wiki_section_children",
    "wiki_section_sources",
    "wiki_mention_sightings",
    "wiki_unresolved_mentions",
    "wiki_link_evidence",
    "wiki_page_links",
    "wiki_page_aliases",
    "section_vectors",
    "wiki_page_sections",
    "page_vectors",
    "wiki_pages",
    "wiki_rulings",
    "wiki_kept_edges",
    "wiki_kept_ends",
    "remote_forgettings",
    "decay_days",
    "decay_jobs",
    "memory_vectors",
    "memory_supersessions",
    "memory_status_changes",
    "memories",
    "ontology_evidence_examples",
    "memory_feeds",
    "owner_storage",
    "brain_copies",
    "brain_cursors",
    "brain_withdrawals",
    "background_jobs",
    "places_to_embed",
    "wiki_compile_jobs",
    "wiki_compile_cursors",
)


async def forget(connection: Connection, scope: Scope) -> dict[str, int]:
    """Delete all rows of the owner, and return how many per table; a running compile loses its lease.

    For an owner without rows only the note is written, so that a running turn leaves no receipt. The caller must call
    `forgotten.date_owner` after this is committed.
    """
    await feed.hold_there(connection, scope)  # the first lock, as in every write, so that no two transactions deadlock
    await scopes.lock_there(connection, scope)
    await forgotten.hold_alone(connection, scope)
    counts = {"compile_ready": await ready.forget(connection, scope)}
    proposals = await evidence.resting_on_owner(connection, scope)
    for row in await _sql.tables_here(connection, tables=TABLES):
        counts[row["name"]] = int(await getattr(_sql, f"forget_{row['name']}")(connection, **scope.key))
    await evidence.drop_unfounded(connection, scope, proposals)
    await audit.blank(connection, scope)
    await forgotten.note_owner(connection, scope)
    return {table: count for table, count in counts.items() if count}
