"""Hints for workers about scopes with work: ids and times only. A hint may be wrong; hints are rebuilt from the jobs."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from store.db import queries
from store.db.queries import Connection
from store.scope import Scope

_sql = queries.load(__file__)

READY = "compile_ready"


@dataclass(frozen=True, slots=True)
class Hint:
    """A scope that may have work, and since when."""

    scope: Scope
    ready_at: datetime


async def announce(connection: Connection, scope: Scope, *, ready_at: datetime) -> None:
    """Record that the scope has work from `ready_at` on; workers are notified when the transaction commits."""
    await _sql.announce(connection, **scope.key, ready_at=ready_at)
    await _sql.notify_ready(connection)


async def due(connection: Connection, *, now: datetime, limit: int) -> list[Hint]:
    """Return scopes in the order to try: each tenant's first before any tenant's second, least recently served tenants first."""
    rows = await _sql.due_scopes(connection, now=now, limit=limit)
    return [Hint(Scope(row["tenant_id"], row["owner_id"]), row["ready_at"]) for row in rows]


async def next_at(connection: Connection, *, after: datetime) -> datetime | None:
    """Return when the next hint after `after` falls due; None if there is none."""
    instant: datetime | None = await _sql.next_ready_at(connection, after=after)
    return instant


async def forget(connection: Connection, scope: Scope) -> int:
    """Delete the scope's hint, and return how many there were."""
    return int(await _sql.forget_hints(connection, **scope.key))


async def settle(connection: Connection, hint: Hint, *, next_at: datetime | None) -> None:
    """Delete a hint that was followed, or move it to when the scope next has work, unless it was renewed meanwhile."""
    await _sql.settle_hint(connection, **hint.scope.key, ready_at=hint.ready_at, next_at=next_at)


async def serve(connection: Connection, hint: Hint, *, now: datetime) -> None:
    """Record that the hint's tenant was served."""
    await _sql.serve_tenant(connection, tenant_id=hint.scope.tenant_id, now=now)


async def rebuild(connection: Connection, *, now: datetime) -> int:
    """Add missing hints, and return how many, so that lost work is found again. All are due once the clock was set back."""
    added = int(await _sql.rebuild_hints(connection))
    if await _sql.set_served_back(connection, now=now):
        await _sql.look_at_all(connection, now=now)
    return added
