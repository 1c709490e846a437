"""The standing of memories: changes of their status, and the effects of supersession edges.

Every change takes the next number of the owner's feed. Every function takes a connection inside a transaction of the scope that
is passed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from store.content import feed
from store.content.tiers import MemoryStatus
from store.db import queries
from store.db.queries import Connection
from store.scope import Scope

_sql = queries.load(__file__)


@dataclass(frozen=True, slots=True)
class StatusDecision:
    """A status to give, by which caller and by which rule."""

    status: MemoryStatus
    changed_by: str
    rule: str


@dataclass(frozen=True, slots=True)
class StatusChange:
    """A change of a memory's status: by which caller, by which rule, and its number in the owner's feed."""

    change_seq: int
    old_status: MemoryStatus
    new_status: MemoryStatus
    changed_by: str
    rule: str
    changed_at: datetime


@dataclass(frozen=True, slots=True)
class SettledMemory:
    """A memory whose validity or compression changed."""

    memory_id: str
    status: MemoryStatus
    is_compressed: bool


async def set_status(
    connection: Connection, scope: Scope, memory_id: str, decision: StatusDecision, *, now: datetime
) -> MemoryStatus | None:
    """Change a memory's status, record the change, and return the old status; None if it has this status already.

    Takes the next number of the owner's feed. The confidence and the authority stay.
    """
    change_seq = await feed.hold(connection, scope) + 1
    change = {**scope.key, "memory_id": memory_id, "change_seq": change_seq, "now": now}
    old = await _sql.set_status(connection, **change, status=decision.status.value)
    if old is None:
        return None
    await _sql.record_status_change(
        connection,
        **change,
        old_status=old,
        new_status=decision.status.value,
        changed_by=decision.changed_by,
        rule=decision.rule,
    )
    await feed.advance(connection, scope, 1)
    return MemoryStatus(old)


async def status_changes(connection: Connection, scope: Scope, memory_id: str) -> list[StatusChange]:
    """Return the changes of a memory's status, oldest first."""
    rows = await _sql.list_status_changes(connection, **scope.key, memory_id=memory_id)
    return [
        StatusChange(
            row["change_seq"],
            MemoryStatus(row["old_status"]),
            MemoryStatus(row["new_status"]),
            row["changed_by"],
            row["rule"],
            row["changed_at"],
        )
        for row in rows
    ]


async def settle(
    connection: Connection, scope: Scope, memory_ids: Sequence[str] | None, *, now: datetime
) -> list[SettledMemory]:
    """Apply the supersession edges to the memories, and return the memories that changed; with None, to all superseded
    memories. Each change takes the next number of the owner's feed. Called in the
    transaction that changes an edge, or a memory at either end of one.
    """
    change_seq = await feed.hold(connection, scope)
    ids = None if memory_ids is None else list(memory_ids)
    rows = await _sql.settle_memories(connection, **scope.key, memory_ids=ids, change_seq=change_seq, now=now)
    if rows:
        await feed.advance(connection, scope, len(rows))
    return [SettledMemory(row["memory_id"], MemoryStatus(row["status"]), row["is_compressed"]) for row in rows]
