"""The ends of typed edges: an edge ends with the memory that states it, or with a later statement of another object.

The result of `edge_standing` is stored in the edge's row, and updated in each transaction that changes a statement or its
memory. Every function takes a connection inside a transaction of the scope that is passed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from uuid import UUID

from store.db import queries
from store.db.queries import Connection
from store.scope import Scope

_sql = queries.load(__file__)


async def settle(connection: Connection, scope: Scope, typed: Iterable[tuple[UUID, str]]) -> None:
    """Update the typed edges of these pages and types from their statements."""
    ends = sorted(typed)
    if ends:
        page_ids, types = zip(*ends, strict=True)
        await _sql.settle_edges(connection, **scope.key, page_ids=list(page_ids), edge_types=list(types))


async def settle_stated_by(connection: Connection, scope: Scope, memory_ids: Sequence[str]) -> None:
    """Update the typed edges that some memories state: an edge ends with the memory that states it."""
    rows = await _sql.edges_stated_by(connection, **scope.key, memory_ids=list(memory_ids)) if memory_ids else []
    await settle(connection, scope, [(row["from_page_id"], row["edge_type"]) for row in rows])


async def leading_to(connection: Connection, scope: Scope, page_id: UUID) -> list[tuple[UUID, str]]:
    """Return the pages with typed edges to a page, each with the type, to be settled once the page is deleted."""
    rows = await _sql.edges_to(connection, tenant_id=scope.tenant_id, page_id=page_id)
    return [(row["from_page_id"], row["edge_type"]) for row in rows]
