"""Sources of memories: the protocol of a memory service for a compile, and the built-in service on Postgres.

A service whose feed is in commit order implements MemorySubstrate itself. A service that only orders memories by time
of write implements TimedMemories; TimedSubstrate makes a safe feed of it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Protocol
from unicodedata import normalize

import orjson

from compiler.plan.contract import BatchMemory
from store.content import feed
from store.db.postgres import DatabaseRole, Pool, scoped
from store.db.queries import Connection
from store.scope import Scope

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DIGITS = 20
_FIRST = datetime.min.replace(tzinfo=UTC) + timedelta(microseconds=1)
_LAST = datetime.max.replace(tzinfo=UTC) - timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class FeedPage:
    """Memories after a cursor, in feed order. `cursor` is the position after the last one; cursors compare as text.

    `read_through` is the feed position that is reached once these are processed, in the unit of the scope's
    `dirty_through`. `is_drained` means that no more memories wait after them.
    """

    memories: tuple[BatchMemory, ...]
    cursor: str
    read_through: int
    is_drained: bool


@dataclass(frozen=True, slots=True)
class ListingRow:
    """A memory in a listing. `text_hash` is the SHA-256 of its text."""

    document_id: str
    text_hash: bytes


@dataclass(frozen=True, slots=True)
class MemoryListing:
    """Every memory that exists, by id. An incomplete listing does not prove any memory deleted."""

    memories: Mapping[str, ListingRow] = field(default_factory=dict)
    is_complete: bool = False


@dataclass(frozen=True, slots=True)
class TimedMemory:
    """A memory with the time of its last write, at the service's full precision."""

    memory: BatchMemory
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class Feed:
    """The positions of a service's feed. With `is_timed` they are microseconds since 1970, and compile requests have none; a
    write is read `lag_s` later at the earliest.
    """

    is_timed: bool = False
    lag_s: float = 0.0


class MemorySubstrate(Protocol):
    """The interface of a memory service to a compile. If a call raises MemoriesUnavailable, the job waits."""

    def feed(self, scope: Scope) -> Feed:
        """Return the kind of the owner's feed."""

    def resume(self, scope: Scope, cursor: str) -> str:
        """Return the position at which a job starts to read: the cursor, or an earlier one if late commits are possible."""

    async def changed_after(self, scope: Scope, cursor: str, *, limit: int) -> FeedPage:
        """Return at most `limit` memories written after the cursor; an empty cursor is the beginning."""

    async def fetch(self, scope: Scope, memory_ids: Sequence[str]) -> Mapping[str, BatchMemory]:
        """Return the memories that exist, in their present state."""

    async def listing(self, scope: Scope) -> MemoryListing:
        """Return every memory. A listing that could not be read to its end says so."""


class TimedMemories(Protocol):
    """A memory service ordered by time of write only."""

    async def written(
        self, scope: Scope, after: tuple[datetime, str], *, until: datetime, limit: int
    ) -> list[TimedMemory]:
        """Return memories written after (time, id) and no later than `until`, ordered by both."""

    async def fetch(self, scope: Scope, memory_ids: Sequence[str]) -> Mapping[str, BatchMemory]:
        """Return the memories that exist, in their present state."""

    async def listing(self, scope: Scope) -> MemoryListing:
        """Return every memory. A listing that could not be read to its end says so."""


class PostgresSubstrate:
    """The built-in memories. Each write has a number in its owner's feed, in commit order: no lag and no gap.

    Each sentence of a memory with a validity is marked with its dates, so that no page states the past as present. The marks
    contain dates only and do not depend on the present day: the same memory always gives the same text.
    """

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    def feed(self, scope: Scope) -> Feed:
        """Return a numbered feed without lag."""
        return Feed()

    def resume(self, scope: Scope, cursor: str) -> str:
        """Return the cursor itself, as commits are never before it; the beginning for another service's cursor."""
        return cursor if cursor.isdecimal() else ""

    async def changed_after(self, scope: Scope, cursor: str, *, limit: int) -> FeedPage:
        """Return the memories after the cursor, which is a number of the feed."""
        async with scoped(self._pool, scope, role=DatabaseRole.WORKER, read_only=True) as connection:
            rows, through = await feed.after(connection, scope, int(cursor or 0), limit=limit)
        is_drained = len(rows) < limit
        end = rows[-1].change_seq if rows else int(cursor or 0)
        return FeedPage(
            tuple(memory_of(row) for row in rows), _number(end), max(through, end) if is_drained else end, is_drained
        )

    async def fetch(self, scope: Scope, memory_ids: Sequence[str]) -> Mapping[str, BatchMemory]:
        """Return the memories that exist."""
        async with scoped(self._pool, scope, role=DatabaseRole.WORKER, read_only=True) as connection:
            rows = await feed.by_ids(connection, scope, memory_ids)
        return {row.memory_id: memory_of(row) for row in rows}

    async def listing(self, scope: Scope) -> MemoryListing:
        """Return every memory of the owner; always complete, since it is one query."""
        async with scoped(self._pool, scope, role=DatabaseRole.WORKER, read_only=True) as connection:
            rows = await feed.listing(connection, scope)
        return MemoryListing(
            {row.memory_id: ListingRow(row.document_id, row.text_hash) for row in rows}, is_complete=True
        )


class OpenTransactionSubstrate(PostgresSubstrate):
    """The built-in memories as seen by one open transaction, including its own writes. Supports reading by id only."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def fetch(self, scope: Scope, memory_ids: Sequence[str]) -> Mapping[str, BatchMemory]:
        """Return the memories that exist."""
        return {row.memory_id: memory_of(row) for row in await feed.by_ids(self._connection, scope, memory_ids)}


async def as_known_at(
    connection: Connection, scope: Scope, instants: Mapping[str, datetime]
) -> Mapping[str, BatchMemory]:
    """Return built-in memories as `fetch` does, each with the end of validity that was known at its instant."""
    rows = await feed.by_ids_known_at(connection, scope, instants)
    return {row.memory_id: memory_of(row) for row in rows}


class TimedSubstrate:
    """A safe feed over times of write, by which alone late commits would be missed.

    It is read up to `lag_s` ago, so that a late commit is still after the cursor. A job starts `overlap_s` before the
    cursor, and the ledger skips memories already seen. Reconciliation finds even later commits.
    """

    def __init__(
        self, memories: TimedMemories, *, now: Callable[[], datetime], lag_s: float = 30.0, overlap_s: float = 300.0
    ) -> None:
        self._memories = memories
        self._now = now
        self._lag = timedelta(seconds=lag_s)
        self._overlap = timedelta(seconds=overlap_s)

    def feed(self, scope: Scope) -> Feed:
        """Return that the feed is timed, with its lag."""
        return Feed(is_timed=True, lag_s=self._lag.total_seconds())

    def resume(self, scope: Scope, cursor: str) -> str:
        """Return the cursor moved back by the overlap."""
        if not cursor:
            return cursor
        return _position(max(_EPOCH, _instant(cursor)[0] - self._overlap), "")

    async def changed_after(self, scope: Scope, cursor: str, *, limit: int) -> FeedPage:
        """Return the memories after the cursor (microseconds since 1970 and an id), up to `lag_s` ago."""
        until = self._now() - self._lag
        found = await self._memories.written(scope, _instant(cursor), until=until, limit=limit)
        is_drained = len(found) < limit
        end = _position(found[-1].updated_at, found[-1].memory.memory_id) if found else cursor
        through = until if is_drained else found[-1].updated_at
        return FeedPage(tuple(one.memory for one in found), end, _microseconds(through), is_drained)

    async def fetch(self, scope: Scope, memory_ids: Sequence[str]) -> Mapping[str, BatchMemory]:
        """Return the memories that exist."""
        return await self._memories.fetch(scope, memory_ids)

    async def listing(self, scope: Scope) -> MemoryListing:
        """Return every memory."""
        return await self._memories.listing(scope)


def kept_instant(moment: datetime) -> datetime:
    """Return a service's time in UTC as the database stores it: years 1 to 9999 without their first and last
    microsecond, which the database driver reads as infinity.
    """
    try:
        return min(max(moment.astimezone(UTC), _FIRST), _LAST)
    except OverflowError:
        return _FIRST if moment.year < _EPOCH.year else _LAST


def content_hash(memory: BatchMemory) -> bytes:
    """Return the SHA-256 of everything that a compile reads of a memory; equal hashes mean no change."""
    parts = [
        memory.text_hash.hex(),
        memory.document_id,
        _microseconds(memory.occurred_at),
        dict(memory.metadata),
    ]
    return hashlib.sha256(orjson.dumps(parts, option=orjson.OPT_SORT_KEYS, default=_plain)).digest()


def dirty_now(now: datetime) -> int:
    """Return the position of a compile request on a timed feed: microseconds since 1970."""
    return _microseconds(now)


def _plain(value: object) -> object:
    return dict(value) if isinstance(value, Mapping) else str(value)


def composed(text: str) -> str:
    """Return the text in NFC, because names are compared letter by letter and some systems store accents separately."""
    return normalize("NFC", text)


def memory_of(row: feed.FedMemory) -> BatchMemory:
    """Return the memory as a compile reads it: in NFC, with the dates of its validity."""
    text = composed(row.validity.marked(row.text))
    return BatchMemory(row.memory_id, text, row.text_hash, row.occurred_at, row.document_id, row.metadata)


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
