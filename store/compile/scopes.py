"""The scope's row: its lease and fencing token, how far its memories were read, and the revision of its wiki.

Every writer of a wiki holds this row: a worker by its lease and fence, other writers by `lock` until the transaction ends.
Every function takes a connection inside a scoped transaction.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from store.db import queries
from store.db.queries import Connection, value_of
from store.scope import Scope

_sql = queries.load(__file__)


@dataclass(frozen=True, slots=True)
class ScopeRow:
    """The compile state of a scope. `fence` rises with each claim, `wiki_revision` with each write of the wiki.

    `cursor` is opaque and belongs to the memory substrate; `dirty_through` and `read_through` are feed positions: how far
    memories reach and how far they were read.
    """

    cursor: str
    fence: int
    lease_holder: str
    lease_until: datetime | None
    dirty_through: int
    read_through: int
    wiki_revision: int
    aggregated_revision: int
    batch_seq: int
    crashes: int

    @property
    def is_caught_up(self) -> bool:
        """Return whether every announced memory has been read."""
        return self.read_through >= self.dirty_through


# An instant of the database that is further ahead than it can be was written before the clock was set back.
CLOCK_TOLERANCE = timedelta(minutes=10)


@dataclass(frozen=True, slots=True)
class Lease:
    """A worker's lease on a scope: the holder, and how many seconds it lasts unless renewed."""

    holder: str
    duration_s: float


@dataclass(frozen=True, slots=True)
class ExpectedState:
    """The state a plan was made against: it may be applied only while the row still equals it."""

    fence: int
    cursor: str
    revision: int


async def lock(connection: Connection, scope: Scope, *, now: datetime) -> ScopeRow:
    """Lock the row until the transaction ends, creating it if missing, and return it. Waits for other writers."""
    await _sql.ensure_scope(connection, **scope.key, now=now)
    return _row(await _sql.lock_scope(connection, **scope.key))


async def lock_there(connection: Connection, scope: Scope) -> None:
    """Lock the row as `lock` does, but only if it exists."""
    await _sql.lock_scope(connection, **scope.key)


async def bump_revision(connection: Connection, scope: Scope, *, now: datetime) -> int:
    """Raise the wiki's revision after a write under `lock`, and return it. Plans against the old revision are superseded."""
    return int(await _sql.bump_revision(connection, **scope.key, now=now))


async def read(connection: Connection, scope: Scope) -> ScopeRow | None:
    """Return the row, or None before the scope's first write."""
    row = await _sql.read_scope(connection, **scope.key)
    return row and _row(row)


async def of_tenant(connection: Connection, tenant_id: UUID, *, limit: int) -> tuple[list[tuple[Scope, ScopeRow]], int]:
    """Return the rows of up to `limit` scopes of a tenant, the farthest behind its memories first, and the number of all.

    Call it in the tenant's transaction.
    """
    rows = await _sql.scopes_of_tenant(connection, tenant_id=tenant_id, limit=limit)
    return [(Scope(tenant_id, row["owner_id"]), _row(row)) for row in rows], rows[0]["owner_count"] if rows else 0


async def claim(connection: Connection, scope: Scope, lease: Lease, *, now: datetime) -> ScopeRow | None:
    """Claim the scope, raising its fence; None while another worker holds it or its row is locked."""
    until = now + timedelta(seconds=lease.duration_s)
    if await _sql.lock_free_scope(connection, **scope.key, now=now, longest=until + CLOCK_TOLERANCE) is None:
        return None
    row = await _sql.take_scope(connection, **scope.key, holder=lease.holder, until=until, now=now)
    return _row(row)


async def renew(connection: Connection, scope: Scope, fence: int, *, until: datetime) -> bool:
    """Renew the lease, and return whether it is still held."""
    return bool(await _sql.renew_lease(connection, **scope.key, fence=fence, until=until))


async def release(connection: Connection, scope: Scope, fence: int, *, now: datetime) -> bool:
    """Release the lease, and return whether it was still held."""
    return bool(await _sql.release_scope(connection, **scope.key, fence=fence, now=now))


async def hold(connection: Connection, scope: Scope, fence: int) -> ScopeRow | None:
    """Lock and return the row if the fence is still the holder's, else None."""
    row = await _sql.lock_held_scope(connection, **scope.key, fence=fence)
    return row and _row(row)


async def open_apply(connection: Connection, scope: Scope, stand: ExpectedState, *, now: datetime) -> ScopeRow | None:
    """Raise the revision if fence, cursor and revision equal `stand`, and return the locked row.

    Otherwise return None, and nothing may be written.
    """
    expected = {"fence": stand.fence, "cursor": stand.cursor, "revision": stand.revision}
    row = await _sql.open_apply(connection, **scope.key, **expected, now=now)
    return row and _row(row)


async def reach(connection: Connection, scope: Scope, *, cursor: str, read_through: int) -> ScopeRow:
    """Move the cursor after a batch was fully applied. The caller holds the row."""
    return _row(await _sql.reach(connection, **scope.key, cursor=cursor, read_through=read_through))


async def mark_aggregated(connection: Connection, scope: Scope) -> ScopeRow:
    """Record that the wiki was aggregated at its present revision. The caller holds the row."""
    return _row(await _sql.mark_aggregated(connection, **scope.key))


async def next_batch_seq(connection: Connection, scope: Scope, *, now: datetime) -> int:
    """Take and return the next number of the scope's log."""
    return int(await _sql.next_batch_seq(connection, **scope.key, now=now))


async def count_crash(connection: Connection, scope: Scope, *, now: datetime) -> None:
    """Record that a worker died while it held the scope; the next applied batch resets the count."""
    await _sql.count_crash(connection, **scope.key, now=now)


async def read_up_to(connection: Connection, scope: Scope, *, fence: int, read_through: int, now: datetime) -> None:
    """Record that the feed was read up to `read_through` and held nothing to compile."""
    await _sql.read_up_to(connection, **scope.key, fence=fence, read_through=read_through, now=now)


async def mark_dirty(connection: Connection, scope: Scope, *, through: int | None = None, now: datetime) -> None:
    """Record that memories up to feed position `through` wait to be compiled; None means the end of the built-in feed."""
    await _sql.mark_dirty(connection, **scope.key, through=through, now=now)


async def is_unannounced(connection: Connection, scope: Scope) -> bool:
    """Return whether memories wait for which no compile was requested, as after a process that died between both."""
    return bool(await _sql.is_unannounced(connection, **scope.key))


async def cover_requests(connection: Connection, scope: Scope, *, through: int, now: datetime) -> None:
    """Record that memories of a timed feed up to `through` wait to be compiled. The caller holds the row."""
    await _sql.cover_requests(connection, **scope.key, through=through, now=now)


async def rewind(connection: Connection, scope: Scope, *, now: datetime) -> None:
    """Set the cursor to the beginning, under `lock`."""
    await _sql.rewind_scope(connection, **scope.key, now=now)


def _row(row: Any) -> ScopeRow:
    return value_of(ScopeRow, row)
