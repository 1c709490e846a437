"""One transaction for two tasks: who writes, and who reads beside it what is written so far. Each statement waits its turn.

The driver runs one statement of a connection at a time, and refuses a second. Nothing here begins or ends a transaction.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, cast

from store.db.queries import Connection

if TYPE_CHECKING:
    import asyncpg


def lent(connection: Connection) -> Connection:
    """Return the connection as two tasks may use it at once."""
    return cast("Connection", _InTurn(connection))


class _InTurn:
    """What queries ask of a connection, one statement after another."""

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
