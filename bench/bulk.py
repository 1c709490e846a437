"""Fills the product's tables by the million: drops their indexes first and builds them again after the rows are there.

Postgres builds an index over all rows in a fraction of the time of adding them one by one. The measured tables are the real
ones: indexes, constraints and row security are as the migrations made them, and a fill that leaves others behind fails.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from store.db import queries
from store.db.postgres import direct
from store.db.queries import Connection

_sql = queries.load(__file__)
_BUILT_AT_ONCE = 2


@asynccontextmanager
async def filling(dsn: str, tables: Sequence[str]) -> AsyncIterator[Connection]:
    """Yield a superuser's connection to fill these tables; at the end they are indexed, vacuumed and analysed.

    References are not checked: the rows are correct by construction.
    """
    async with direct(dsn) as connection:
        await _sql.hurry(connection)
        await _sql.put_off_checkpoints(connection)
        await _sql.take_settings(connection)
        before = await _sql.indexes(connection, tables=tables)
        for index in before:
            await connection.execute(index["away"])
        yield connection
        await _make(dsn, [index["back"] for index in before])
        after = await _sql.indexes(connection, tables=tables)
        assert sorted(index["back"] for index in before) == sorted(index["back"] for index in after), "an index differs"
        await _sql.tidy(connection)
        await _sql.checkpoint(connection)


async def _make(dsn: str, definitions: Sequence[str]) -> None:
    """Make indexes, a few at a time."""
    left = list(reversed(definitions))

    async def make_some() -> None:
        async with direct(dsn) as connection:
            await _sql.hurry(connection)
            while left:
                await connection.execute(left.pop())

    async with asyncio.TaskGroup() as tasks:
        for _ in range(_BUILT_AT_ONCE):
            tasks.create_task(make_some())
