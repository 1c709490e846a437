"""Which memories took the place of which, and why.

Every function takes a connection inside a transaction of the scope that is passed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from store.db import queries
from store.db.queries import Connection
from store.scope import Scope

_sql = queries.load(__file__)
_COLUMNS = ("memory_ids", "superseded_ids", "created_at", "reasons", "places", "job_ids", "evidence", "undone_at")


class SupersessionReason(StrEnum):
    """A compressed memory stays true, beside its summary; one that was corrected or contradicted does not."""

    COMPRESSED = "compressed"
    CORRECTED = "corrected"
    CONTRADICTED = "contradicted"


@dataclass(frozen=True, slots=True)
class Supersession:
    """An edge from the newer memory to the superseded one. `place` counts a summary's sources from 1."""

    memory_id: str
    superseded_id: str
    created_at: datetime
    reason: SupersessionReason
    place: int
    job_id: UUID | None = None
    evidence: str = ""
    undone_at: datetime | None = None


async def insert(connection: Connection, scope: Scope, edges: Sequence[Supersession]) -> None:
    """Insert edges."""
    columns = [list(column) for column in zip(*map(astuple, edges), strict=True)]
    await _sql.insert_edges(connection, **scope.key, **dict(zip(_COLUMNS, columns, strict=True)))


async def live_to(
    connection: Connection, scope: Scope, memory_ids: Sequence[str], reason: SupersessionReason
) -> list[Supersession]:
    """Return the edges to the memories that were not undone."""
    rows = await _sql.edges_to(connection, **scope.key, memory_ids=list(memory_ids), reason=reason.value)
    return [_edge(row) for row in rows]


async def live_from(
    connection: Connection, scope: Scope, memory_ids: Sequence[str], reason: SupersessionReason
) -> list[Supersession]:
    """Return the edges from the memories that were not undone, in the order of their sources."""
    rows = await _sql.edges_from(connection, **scope.key, memory_ids=list(memory_ids), reason=reason.value)
    return [_edge(row) for row in rows]


async def of(connection: Connection, scope: Scope, memory_id: str) -> list[Supersession]:
    """Return every edge from or to the memory, undone ones too, oldest first."""
    return [_edge(row) for row in await _sql.edges_of(connection, **scope.key, memory_id=memory_id)]


def _edge(row: Any) -> Supersession:
    return Supersession(**{**dict(row), "reason": SupersessionReason(row["reason"])})
