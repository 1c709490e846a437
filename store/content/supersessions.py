"""The edges of supersession between memories, with their reasons.

Every function takes a connection inside a transaction of the scope that is passed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from store.db import queries
from store.db.queries import Connection, value_of
from store.scope import Scope, is_uuid

_sql = queries.load(__file__)
_COLUMNS = ("memory_ids", "superseded_ids", "created_at", "reasons", "places", "job_ids", "evidence", "undone_at")


class SupersessionReason(StrEnum):
    """A compressed memory stays true; a corrected or contradicted one does not."""

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


@dataclass(frozen=True, slots=True)
class SourceTurn:
    """A turn that memories were drawn from, with the beginning of its text."""

    turn_id: str
    thread_id: str
    position: int
    role: str
    text: str
    said_at: datetime


async def insert(connection: Connection, scope: Scope, edges: Sequence[Supersession]) -> None:
    """Insert edges."""
    columns = [list(column) for column in zip(*map(astuple, edges), strict=True)]
    await _sql.insert_edges(connection, **scope.key, **dict(zip(_COLUMNS, columns, strict=True)))


async def live_to(
    connection: Connection, scope: Scope, memory_ids: Sequence[str], reason: SupersessionReason
) -> list[Supersession]:
    """Return the live edges (not undone) to the memories."""
    rows = await _sql.edges_to(connection, **scope.key, memory_ids=list(memory_ids), reason=reason.value)
    return [_edge(row) for row in rows]


async def live_from(
    connection: Connection, scope: Scope, memory_ids: Sequence[str], reason: SupersessionReason
) -> list[Supersession]:
    """Return the live edges (not undone) from the memories, in the order of their sources."""
    rows = await _sql.edges_from(connection, **scope.key, memory_ids=list(memory_ids), reason=reason.value)
    return [_edge(row) for row in rows]


async def live_ends(connection: Connection, scope: Scope, memory_id: str) -> list[Supersession]:
    """Return the live edges by which the memory ended others."""
    return [_edge(row) for row in await _sql.ends_from(connection, **scope.key, memory_id=memory_id)]


async def ends_between(connection: Connection, scope: Scope, pairs: Sequence[tuple[str, str]]) -> list[Supersession]:
    """Return the edges, including undone ones, by which the first memory of a pair ended the second."""
    newer, older = [one for one, _ in pairs], [one for _, one in pairs]
    rows = await _sql.ends_between(connection, **scope.key, memory_ids=newer, superseded_ids=older)
    return [_edge(row) for row in rows]


async def planned_ends(connection: Connection, scope: Scope) -> list[Supersession]:
    """Return the live edges by which compile jobs ended memories."""
    return [_edge(row) for row in await _sql.planned_ends(connection, **scope.key)]


async def drop_planned(connection: Connection, scope: Scope, memory_ids: Sequence[str]) -> list[str]:
    """Delete the edges by which compile jobs ended memories and that begin or end at one of these, including undone ones.

    Return the ids of the memories that they had ended. A plan's finding about a text is not valid for an edited text.
    """
    rows = await _sql.drop_planned_ends(connection, **scope.key, memory_ids=list(memory_ids))
    return sorted({row["superseded_id"] for row in rows})


async def chain(connection: Connection, scope: Scope, memory_id: str, *, limit: int) -> list[Supersession]:
    """Return up to `limit` live edges on the way from the memory down to its sources, nearest first."""
    return [_edge(row) for row in await _sql.edges_below(connection, **scope.key, memory_id=memory_id, limit=limit)]


async def source_turns(
    connection: Connection, scope: Scope, turn_ids: Sequence[str], *, chars: int
) -> list[SourceTurn]:
    """Return the owner's turns with these ids that exist, in order of time, each with its first `chars` characters."""
    ids = sorted({one.lower() for one in turn_ids if is_uuid(one)})
    if not ids:
        return []
    rows = await _sql.source_turns(connection, **scope.key, turn_ids=ids, chars=chars)
    return [value_of(SourceTurn, row) for row in rows]


async def sources_of(
    connection: Connection, scope: Scope, statuses: Mapping[str, str]
) -> dict[str, tuple[tuple[str, ...], tuple[str, ...]]]:
    """Return the memories and the turns behind summaries, by the summary's id; `statuses` has the status of each summary."""
    parameters = {"memory_ids": list(statuses), "statuses": list(statuses.values())}
    rows = await _sql.sources_of_memories(connection, **scope.key, **parameters)
    return {row["memory_id"]: (tuple(row["sources"]), tuple(row["events"])) for row in rows}


async def superseded_by(connection: Connection, scope: Scope, memory_ids: Sequence[str]) -> list[str]:
    """Return the ids of the memories that these superseded, in order."""
    rows = await _sql.superseded_by(connection, **scope.key, memory_ids=list(memory_ids))
    return [row["superseded_id"] for row in rows]


async def undo(
    connection: Connection, scope: Scope, superseded_id: str, *, memory_id: str | None, now: datetime
) -> int:
    """Undo the live edges to a memory that ended it, those of one newer memory or of all, and return how many."""
    return int(
        await _sql.undo_edges(connection, **scope.key, superseded_id=superseded_id, memory_id=memory_id, now=now)
    )


async def leads_to(connection: Connection, scope: Scope, memory_id: str, targets: Sequence[str]) -> str | None:
    """Return one of the targets that live edges lead to from the memory; None if they lead to none. It leads to itself."""
    found = await _sql.leads_to(connection, **scope.key, memory_id=memory_id, targets=list(targets))
    return None if found is None else str(found)


async def of(connection: Connection, scope: Scope, memory_id: str) -> list[Supersession]:
    """Return every edge from or to the memory, including undone ones, oldest first."""
    return [_edge(row) for row in await _sql.edges_of(connection, **scope.key, memory_id=memory_id)]


def _edge(row: Any) -> Supersession:
    return Supersession(**{**dict(row), "reason": SupersessionReason(row["reason"])})
