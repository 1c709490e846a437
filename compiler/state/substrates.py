"""Where memories come from: what a compile asks of a memory service, and the built-in service on Postgres.

A substrate whose feed is in commit order implements MemorySubstrate itself. One that only knows when a memory was written
implements TimedMemories, and TimedSubstrate makes a safe feed of it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Protocol

import orjson

from compiler.plan.contract import BatchMemory
from store.content import feed
from store.db.postgres import DatabaseRole, Pool, scoped
from store.scope import Scope

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DIGITS = 20
_FIRST = datetime.min.replace(tzinfo=UTC) + timedelta(microseconds=1)
_LAST = datetime.max.replace(tzinfo=UTC) - timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class FeedPage:
    """Memories after a cursor, in the feed's order. `cursor` stands after the last one; cursors compare as texts.

    `read_through` says how far the feed was read once these are dealt with, in the unit of the scope's `dirty_through`.
    `is_drained` says that nothing more waits behind them.
    """

    memories: tuple[BatchMemory, ...]
    cursor: str
    read_through: int
    is_drained: bool


@dataclass(frozen=True, slots=True)
class ListingRow:
    """A memory that is there, as a listing shows it. `text_hash` is the SHA-256 of its text."""

    document_id: str
    text_hash: bytes


@dataclass(frozen=True, slots=True)
class MemoryListing:
    """Every memory that is there, by id. One that is not complete proves nothing gone."""

    memories: Mapping[str, ListingRow] = field(default_factory=dict)
    is_complete: bool = False


@dataclass(frozen=True, slots=True)
class TimedMemory:
    """A memory with the instant of its last write, at the service's full precision."""

    memory: BatchMemory
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class Feed:
    """How a service's feed goes on. One that `is_timed` counts in microseconds since 1970 and tells no number of its own;
    what is written is read `lag_s` later at the earliest."""

    is_timed: bool = False
    lag_s: float = 0.0


class MemorySubstrate(Protocol):
    """A memory service as a compile reads it. A MemoriesUnavailable makes the job wait; nothing is lost by it."""

    def feed(self, scope: Scope) -> Feed:
        """Return how the owner's feed goes on."""

    def resume(self, scope: Scope, cursor: str) -> str:
        """Return where a job begins to read: at the cursor, or before it where late writes may have come in between."""

    async def changed_after(self, scope: Scope, cursor: str, *, limit: int) -> FeedPage:
        """Return at most `limit` memories written after the cursor; the empty one is the beginning."""

    async def fetch(self, scope: Scope, memory_ids: Sequence[str]) -> Mapping[str, BatchMemory]:
        """Return those of the memories that are there, as they are now."""

    async def listing(self, scope: Scope) -> MemoryListing:
        """Return everything that is there. One that could not be read to its end says so."""


class TimedMemories(Protocol):
    """A memory service that orders by time of write only."""

    async def written(
        self, scope: Scope, after: tuple[datetime, str], *, until: datetime, limit: int
    ) -> list[TimedMemory]:
        """Return memories written after an instant and id and no later than `until`, ordered by both."""

    async def fetch(self, scope: Scope, memory_ids: Sequence[str]) -> Mapping[str, BatchMemory]:
        """Return those of the memories that are there, as they are now."""

    async def listing(self, scope: Scope) -> MemoryListing:
        """Return everything that is there. One that could not be read to its end says so."""


class PostgresSubstrate:
    """The built-in memories. Each write has a number of its owner's feed in commit order: no lag and no gap."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    def feed(self, scope: Scope) -> Feed:
        """Return that the feed has numbers and no lag."""
        return Feed()

    def resume(self, scope: Scope, cursor: str) -> str:
        """Return the cursor itself: nothing comes in before it. Another service's is none of this feed."""
        return cursor if cursor.isdecimal() else ""

    async def changed_after(self, scope: Scope, cursor: str, *, limit: int) -> FeedPage:
        """Return the memories after the cursor, which is a number of the feed."""
        async with scoped(self._pool, scope, role=DatabaseRole.WORKER, read_only=True) as connection:
            rows, through = await feed.after(connection, scope, int(cursor or 0), limit=limit)
        is_drained = len(rows) < limit
        end = rows[-1].change_seq if rows else int(cursor or 0)
        return FeedPage(
            tuple(_memory(row) for row in rows), _number(end), max(through, end) if is_drained else end, is_drained
        )

    async def fetch(self, scope: Scope, memory_ids: Sequence[str]) -> Mapping[str, BatchMemory]:
        """Return those of the memories that are there."""
        async with scoped(self._pool, scope, role=DatabaseRole.WORKER, read_only=True) as connection:
            rows = await feed.by_ids(connection, scope, memory_ids)
        return {row.memory_id: _memory(row) for row in rows}

    async def listing(self, scope: Scope) -> MemoryListing:
        """Return every memory of the owner, always complete: it is one query."""
        async with scoped(self._pool, scope, role=DatabaseRole.WORKER, read_only=True) as connection:
            rows = await feed.listing(connection, scope)
        return MemoryListing(
            {row.memory_id: ListingRow(row.document_id, row.text_hash) for row in rows}, is_complete=True
        )


class TimedSubstrate:
    """A safe feed over times of write, which alone lose what commits late.

    It is read up to `lag_s` ago, so that a late commit is still in front of the cursor; a job begins `overlap_s` before the
    cursor, and the ledger knows what it has seen. What comes later still is found by the sweep.
    """

    def __init__(
        self, memories: TimedMemories, *, now: Callable[[], datetime], lag_s: float = 30.0, overlap_s: float = 300.0
    ) -> None:
        self._memories = memories
        self._now = now
        self._lag = timedelta(seconds=lag_s)
        self._overlap = timedelta(seconds=overlap_s)

    def feed(self, scope: Scope) -> Feed:
        """Return that the feed goes by time, with its lag."""
        return Feed(is_timed=True, lag_s=self._lag.total_seconds())

    def resume(self, scope: Scope, cursor: str) -> str:
        """Return the cursor moved back by the overlap."""
        if not cursor:
            return cursor
        return _position(max(_EPOCH, _instant(cursor)[0] - self._overlap), "")

    async def changed_after(self, scope: Scope, cursor: str, *, limit: int) -> FeedPage:
        """Return the memories after the cursor, which is microseconds since 1970 and an id, up to the lag ago."""
        until = self._now() - self._lag
        found = await self._memories.written(scope, _instant(cursor), until=until, limit=limit)
        is_drained = len(found) < limit
        end = _position(found[-1].updated_at, found[-1].memory.memory_id) if found else cursor
        through = until if is_drained else found[-1].updated_at
        return FeedPage(tuple(one.memory for one in found), end, _microseconds(through), is_drained)

    async def fetch(self, scope: Scope, memory_ids: Sequence[str]) -> Mapping[str, BatchMemory]:
        """Return those of the memories that are there."""
        return await self._memories.fetch(scope, memory_ids)

    async def listing(self, scope: Scope) -> MemoryListing:
        """Return everything that is there."""
        return await self._memories.listing(scope)


def kept_instant(moment: datetime) -> datetime:
    """Return a service's instant in UTC as a database keeps it: of the years 1 to 9999, without their first and last
    microsecond, which are taken for no time at all."""
    try:
        return min(max(moment.astimezone(UTC), _FIRST), _LAST)
    except OverflowError:
        return _FIRST if moment.year < _EPOCH.year else _LAST


def content_hash(memory: BatchMemory) -> bytes:
    """Return the SHA-256 of everything that a compile reads of a memory: equal hashes need no second look."""
    parts = [
        memory.text_hash.hex(),
        memory.document_id,
        _microseconds(memory.occurred_at),
        dict(memory.metadata),
    ]
    return hashlib.sha256(orjson.dumps(parts, option=orjson.OPT_SORT_KEYS, default=_plain)).digest()


def dirty_now(now: datetime) -> int:
    """Return how far a wish for a compile of a timed feed reaches: microseconds since 1970."""
    return _microseconds(now)


def _plain(value: object) -> object:
    return dict(value) if isinstance(value, Mapping) else str(value)


def _memory(row: feed.FedMemory) -> BatchMemory:
    return BatchMemory(row.memory_id, row.text, row.text_hash, row.occurred_at, row.document_id, row.metadata)


def _number(change_seq: int) -> str:
    return f"{change_seq:0{_DIGITS}d}" if change_seq else ""


def _microseconds(instant: datetime) -> int:
    return (instant - _EPOCH) // timedelta(microseconds=1)


def _position(instant: datetime, memory_id: str) -> str:
    return f"{_microseconds(instant):0{_DIGITS}d}|{memory_id}"


def _instant(cursor: str) -> tuple[datetime, str]:
    if not cursor:
        return _EPOCH, ""
    microseconds, _, memory_id = cursor.partition("|")
    return _EPOCH + timedelta(microseconds=int(microseconds)), memory_id
