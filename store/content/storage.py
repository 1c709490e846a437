"""How many bytes an owner's turns and memories hold, kept with each write, and the quota for it.

Every function takes a connection inside a scoped transaction. `add` locks a row of the owner's until that ends: it is called
last, so that writes of one owner wait for one another as briefly as can be.
"""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from store.db import queries
from store.db.queries import Connection
from store.errors import QuotaExceeded
from store.scope import Scope

_sql = queries.load(__file__)


async def stored_bytes(connection: Connection, scope: Scope) -> int:
    """Return how many bytes the owner's turns and memories hold."""
    return int(await _sql.stored_bytes(connection, tenant_id=scope.tenant_id, owner_id=scope.owner_id) or 0)


async def add(connection: Connection, scope: Scope, count: int, *, quota_bytes: int = 0) -> None:
    """Add bytes to what the owner holds; a negative count takes them away.

    Raises QuotaExceeded when more would be held than the quota (0 for none).
    """
    if not count:
        return
    held = int(await _sql.add_bytes(connection, tenant_id=scope.tenant_id, owner_id=scope.owner_id, bytes=count))
    if quota_bytes and count > 0 and held > quota_bytes:
        raise QuotaExceeded(held, quota_bytes)


async def of_memories(connection: Connection, scope: Scope, memory_ids: Sequence[str]) -> int:
    """Return how many bytes some of the owner's memories hold; 0 for those that are not there."""
    key = {"tenant_id": scope.tenant_id, "owner_id": scope.owner_id}
    return int(await _sql.bytes_of_memories(connection, **key, memory_ids=list(memory_ids)))


async def of_turns(connection: Connection, scope: Scope, turn_ids: Sequence[UUID]) -> int:
    """Return how many bytes some of the owner's turns hold."""
    key = {"tenant_id": scope.tenant_id, "owner_id": scope.owner_id}
    return int(await _sql.bytes_of_turns(connection, **key, turn_ids=list(turn_ids)))
