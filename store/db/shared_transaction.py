"""Lets two tasks share one transaction: a writer, and a reader that sees the uncommitted writes. Statements run one at a time.

The driver raises when a second statement is started on a busy connection, so statements queue on a lock. Nothing here begins or
ends a transaction.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, cast

from store.db.queries import Connection

if TYPE_CHECKING:
    import asyncpg


def shared(connection: Connection) -> Connection:
    """Return a wrapper of the connection that two tasks may use concurrently."""
    return cast("Connection", _InTurn(connection))


class _InTurn:
    """The connection methods that queries use, serialized by a lock."""

    __slots__ = ("_connection", "_turn")

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._turn = asyncio.Lock()

    async def fetch(self, sql: str, *values: object) -> list[asyncpg.Record]:
        async with self._turn:
            return await self._connection.fetch(sql, *values)

    async def fetchrow(self, sql: str, *values: object) -> asyncpg.Record | None:
        async with self._turn:
            return await self._connection.fetchrow(sql, *values)

    async def fetchval(self, sql: str, *values: object) -> Any:
        async with self._turn:
            return await self._connection.fetchval(sql, *values)

    async def execute(self, sql: str, *values: object) -> str:
        async with self._turn:
            return await self._connection.execute(sql, *values)

    async def executemany(self, sql: str, rows: Iterable[Sequence[object]]) -> None:
        async with self._turn:
            await self._connection.executemany(sql, rows)
