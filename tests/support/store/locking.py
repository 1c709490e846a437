"""A table that another session has locked, as a long migration does."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import asyncpg


@asynccontextmanager
async def locked(dsn: str, table: str) -> AsyncIterator[None]:
    """Lock the table against all others until the end."""
    connection = await asyncpg.connect(dsn)
    try:
        await connection.execute(f"BEGIN; LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE")
        yield
    finally:
        await connection.close()
