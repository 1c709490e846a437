"""The bytes stored in an owner's turns and memories, updated with each write, and the quota for them.

Every function takes a connection inside a scoped transaction. `add` locks a row of the owner until the transaction ends; call
it last, so that concurrent writes of one owner wait as briefly as possible.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from store.db import queries
from store.db.queries import Connection
from store.errors import QuotaExceeded, TooManyMemories
from store.scope import Scope

_sql = queries.load(__file__)


@dataclass(frozen=True, slots=True)
class StorageLimits:
    """Maximum bytes of an owner's turns and memories together, and maximum number of memories; 0 is no limit."""

    quota_bytes: int = 0
    most_memories: int = 0


NO_LIMITS = StorageLimits()


async def stored_bytes(connection: Connection, scope: Scope) -> int:
    """Return the size of the owner's turns and memories in bytes."""
    return int(await _sql.stored_bytes(connection, **scope.key) or 0)


async def add(connection: Connection, scope: Scope, count: int, *, quota_bytes: int = 0) -> None:
    """Add bytes to the owner's total; a negative count subtracts.

    Raises QuotaExceeded if the total would exceed the quota (0: no quota).
    """
    if not count:
        return
    held = int(await _sql.add_bytes(connection, **scope.key, bytes=count))
    if quota_bytes and count > 0 and held > quota_bytes:
        raise QuotaExceeded(held, quota_bytes)


async def of_memories(connection: Connection, scope: Scope, memory_ids: Sequence[str]) -> int:
    """Return the size of some of the owner's memories in bytes; a missing memory counts 0."""
    return int(await _sql.bytes_of_memories(connection, **scope.key, memory_ids=list(memory_ids)))


async def of_turns(connection: Connection, scope: Scope, turn_ids: Sequence[UUID]) -> int:
    """Return the size of some of the owner's turns in bytes."""
    return int(await _sql.bytes_of_turns(connection, **scope.key, turn_ids=list(turn_ids)))


async def check_count(connection: Connection, scope: Scope, most: int) -> None:
    """Raise TooManyMemories if the owner has more memories than `most`. The caller holds the feed, so that no other adds any."""
    if await _sql.memory_count(connection, tenant_id=scope.tenant_id, owner_id=scope.owner_id, most=most + 1) > most:
        raise TooManyMemories(most)
