"""Filling the product's tables by the million: their indexes go first, and are made again once the rows are there.

Postgres makes an index over all rows in a fraction of the time that adding them one by one takes. What is measured
afterwards are the real tables: indexes, constraints and row security are as the migrations made them, and a fill that
leaves others behind fails.
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
    """Yield a superuser's connection to fill these tables on; at the end all is indexed, vacuumed and analysed.

    References are not checked: the rows are right by construction.
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
