"""A start prepares everything that would slow the first turn."""

from __future__ import annotations

from contextlib import AsyncExitStack
from uuid import UUID

import pytest

from sidecar.process.warm_up import warm
from store.db.postgres import Pools, PoolsConfig, open_pools, scoped
from store.db.queries import Connection
from store.scope import Scope

ASKED = ("recall_turns", "recall_memories", "recall_chunks", "recall_sections", "knowledge_assignments")


async def test_warm_up_prepares_the_turns_queries_on_four_connections(pools: Pools) -> None:
    await warm(pools.turn, connections=16)
    async with AsyncExitStack() as stack:
        for _ in range(4):
            connection = await stack.enter_async_context(scoped(pools.turn, Scope(UUID(int=1), UUID(int=1))))
            statements = " ".join(await _prepared(connection))
            assert [name for name in ASKED if name not in statements] == []


async def test_warm_up_fills_a_smaller_pool(database: str, caplog: pytest.LogCaptureFixture) -> None:
    small = await open_pools(database, PoolsConfig(turn_connections=2))
    await warm(small.turn, connections=2)
    assert caplog.records == []
    await small.close()


async def test_warm_up_skips_a_database_that_does_not_answer(database: str, caplog: pytest.LogCaptureFixture) -> None:
    small = await open_pools(database, PoolsConfig(turn_connections=2))
    async with scoped(small.turn, Scope(UUID(int=1), UUID(int=1))) as connection:
        await warm(small.turn, connections=2)
        assert await connection.fetchval("SELECT 1") == 1
    assert [record.message for record in caplog.records] == ["not_warmed"]
    await small.close()


async def _prepared(connection: Connection) -> list[str]:
    return [row["statement"] for row in await connection.fetch("SELECT statement FROM pg_prepared_statements")]
