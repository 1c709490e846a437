"""Compile jobs in Postgres: one waiting per bucket, and one for the next when the first has started."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from uuid import UUID

import asyncpg
import pytest

from store import jobs, memories, tenants
from store.jobs import BUCKET_S, Enqueued
from store.memories import NewMemory
from store.postgres import Pools, scoped
from store.scope import Scope

SCOPE = Scope(UUID(int=1), UUID(int=11))
NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


@pytest.fixture(autouse=True)
async def tenant(pools: Pools) -> None:
    async with scoped(pools.background, SCOPE) as connection:
        await tenants.ensure_tenant(connection, SCOPE.tenant_id, now=NOW)
        await memories.retain(connection, SCOPE, [NewMemory("one"), NewMemory("two")], now=NOW)


async def enqueue(pools: Pools, *, now: datetime = NOW) -> Enqueued:
    async with scoped(pools.background, SCOPE) as connection:
        return (await jobs.enqueue(connection, SCOPE, trigger="memory_retain", now=now)).outcome


async def run(dsn: str, statement: str) -> None:
    connection = await asyncpg.connect(dsn)
    try:
        await connection.execute(statement)
    finally:
        await connection.close()


async def test_wishes_of_one_bucket_fold_into_one_job(pools: Pools) -> None:
    outcomes = await asyncio.gather(*(enqueue(pools) for _ in range(6)))
    assert sorted(outcomes) == [Enqueued.DEDUPED] * 5 + [Enqueued.ENQUEUED]


async def test_the_next_bucket_gets_a_job_of_its_own(pools: Pools) -> None:
    assert await enqueue(pools) is Enqueued.ENQUEUED
    assert await enqueue(pools, now=NOW + timedelta(seconds=BUCKET_S)) is Enqueued.ENQUEUED


async def test_a_wish_that_meets_a_started_job_is_not_lost(pools: Pools, database: str) -> None:
    await enqueue(pools)
    await run(database, "UPDATE wiki_compile_jobs SET status = 'running'")
    assert await enqueue(pools) is Enqueued.ENQUEUED
    assert await enqueue(pools) is Enqueued.DEDUPED


async def test_how_far_memories_reach_is_recorded(pools: Pools, database: str) -> None:
    await enqueue(pools)
    connection = await asyncpg.connect(database)
    try:
        assert await connection.fetchval("SELECT dirty_through FROM wiki_compile_cursors") == 2
    finally:
        await connection.close()


async def test_a_tenant_that_compiles_nothing_gets_no_job(pools: Pools, database: str) -> None:
    await run(database, "UPDATE tenants SET wiki_compile_enabled = false")
    assert await enqueue(pools) is Enqueued.SKIPPED_FLAG_OFF
