"""The numbers of rows that a transaction deleted or changed, on the server of the tenant's rows."""

from __future__ import annotations

from collections.abc import Mapping
from uuid import UUID

from store.db import queries
from store.db.queries import Connection

_sql = queries.load(__file__)

# Tables of ids, times and numbers about other rows. Forgetting removes no text from these.
_BOOKS = frozenset(
    (
        "background_jobs",
        "brain_copies",
        "brain_cursors",
        "brain_withdrawals",
        "compile_ready",
        "forgotten_refs",
        "memory_feeds",
        "owner_storage",
        "places_to_embed",
        "purge_queue",
        "wiki_compile_cursors",
    )
)


async def so_far(connection: Connection, tenant_id: UUID) -> dict[str, int]:
    """Return how many rows the session changed or deleted, by table. Only the difference of two readings has a meaning.

    Without the tenant's own row, nothing is counted.
    """
    rows = await _sql.changes_so_far(connection, tenant_id=tenant_id)
    return {row["table_name"]: row["row_count"] for row in rows}


def since(before: Mapping[str, int], after: Mapping[str, int]) -> dict[str, int]:
    """Return the changes between two readings, without tables that hold no texts."""
    counts = {table: count - before.get(table, 0) for table, count in after.items() if table not in _BOOKS}
    return {table: count for table, count in counts.items() if count > 0}
