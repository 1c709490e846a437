"""The feed of the built-in memories: its numbers, and the memories as a compile reads them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from store.content.validity import OPEN, Validity, validity_of
from store.db import queries
from store.db.queries import Connection, value_of
from store.scope import Scope

_sql = queries.load(__file__)


@dataclass(frozen=True, slots=True)
class FedMemory:
    """A memory with its sequence number in the owner's feed. `text_hash` changes with the text and with the validity."""

    memory_id: str
    change_seq: int
    text: str
    text_hash: bytes
    occurred_at: datetime
    document_id: str
    metadata: dict[str, Any]
    validity: Validity = OPEN


@dataclass(frozen=True, slots=True)
class ListedMemory:
    """An existing memory, without its text."""

    memory_id: str
    document_id: str
    text_hash: bytes


async def after(connection: Connection, scope: Scope, change_seq: int, *, limit: int) -> tuple[list[FedMemory], int]:
    """Return the memories after a feed number, in feed order, and the feed's present last number.

    Both come from one snapshot: with fewer memories than `limit`, everything up to that number was seen.
    """
    rows = await _sql.memories_after(connection, **scope.key, change_seq=change_seq, limit=limit)
    through = max((row["through"] for row in rows), default=0)
    return [_memory(row) for row in rows if row["memory_id"] is not None], through


async def by_ids(connection: Connection, scope: Scope, memory_ids: Sequence[str]) -> list[FedMemory]:
    """Return the memories that exist."""
    rows = await _sql.memories_by_ids(connection, **scope.key, memory_ids=list(memory_ids))
    return [_memory(row) for row in rows]


async def by_ids_known_at(connection: Connection, scope: Scope, instants: Mapping[str, datetime]) -> list[FedMemory]:
    """Return the memories that exist, each with the end of validity that was known at its instant."""
    ids, moments = list(instants), list(instants.values())
    rows = await _sql.memories_by_ids_known_at(connection, **scope.key, memory_ids=ids, instants=moments)
    return [_memory(row) for row in rows]


async def listing(connection: Connection, scope: Scope) -> list[ListedMemory]:
    """Return every memory of the owner, in order of id."""
    rows = await _sql.list_memory_hashes(connection, **scope.key)
    return [ListedMemory(row["memory_id"], row["document_id"], row["text_hash"]) for row in rows]


async def hold(connection: Connection, scope: Scope) -> int:
    """Create or lock the owner's feed until the transaction ends, and return its last number: changes are made in turn."""
    return int(await _sql.open_feed(connection, **scope.key))


async def hold_there(connection: Connection, scope: Scope) -> None:
    """Lock the owner's feed as `hold` does, but only if it exists."""
    await _sql.lock_feed(connection, **scope.key)


async def advance(connection: Connection, scope: Scope, count: int) -> None:
    """Record that the feed's next `count` numbers were taken."""
    await _sql.advance_feed(connection, **scope.key, count=count)


async def announce_forgotten(connection: Connection, scope: Scope) -> int:
    """Take the feed's next number for a deletion, and return it; a compile that reads up to it is then due."""
    return int(await _sql.take_feed_number(connection, **scope.key))


def _memory(row: Any) -> FedMemory:
    return value_of(FedMemory, row, validity=validity_of(row))
