"""Compile jobs in Postgres: one waiting per bucket, and one for the next when the first has started."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from uuid import UUID

import asyncpg
import pytest

from store.compile import jobs
from store.compile.jobs import BUCKET_S, PROGRESS, Ending, Enqueued, JobStatus
from store.content import memories
from store.content.memories import NewMemory
from store.db.postgres import Pools, scoped
from store.db.queries import Connection
from store.scope import Scope
from store.tenancy import tenants
from tests.support.waiting import PATIENCE_S

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


async def test_requests_of_one_bucket_fold_into_one_job(pools: Pools) -> None:
    outcomes = await asyncio.gather(*(enqueue(pools) for _ in range(6)))
    assert sorted(outcomes) == [Enqueued.DEDUPED] * 5 + [Enqueued.ENQUEUED]


async def test_next_bucket_gets_its_own_job(pools: Pools) -> None:
    assert await enqueue(pools) is Enqueued.ENQUEUED
    assert await enqueue(pools, now=NOW + timedelta(seconds=BUCKET_S)) is Enqueued.ENQUEUED


async def test_request_that_meets_a_started_job_is_not_lost(pools: Pools, database: str) -> None:
    await enqueue(pools)
    await run(database, "UPDATE wiki_compile_jobs SET status = 'running'")
    assert await enqueue(pools) is Enqueued.ENQUEUED
    assert await enqueue(pools) is Enqueued.DEDUPED


async def test_last_announced_memory_is_recorded(pools: Pools, database: str) -> None:
    await enqueue(pools)
    connection = await asyncpg.connect(database)
    try:
        assert await connection.fetchval("SELECT dirty_through FROM wiki_compile_cursors") == 2
    finally:
        await connection.close()


async def test_tenant_with_compile_off_gets_no_job(pools: Pools, database: str) -> None:
    await run(database, "UPDATE tenants SET wiki_compile_enabled = false")
    assert await enqueue(pools) is Enqueued.SKIPPED_FLAG_OFF


async def test_watcher_is_notified_of_each_step_of_a_job(pools: Pools, database: str) -> None:
    heard: asyncio.Queue[str] = asyncio.Queue()
    listener = await asyncpg.connect(database)
    await listener.add_listener(PROGRESS, lambda *told: heard.put_nowait(str(told[-1])))
    later, ended = NOW + timedelta(seconds=BUCKET_S), Ending(JobStatus.SUCCEEDED)

    async def told_of(act: Callable[[Connection, UUID], Awaitable[object]]) -> bool:
        async with scoped(pools.background, SCOPE) as connection:
            job = await jobs.running(connection, SCOPE) or await jobs.start_next(connection, SCOPE, now=later)
            assert job is not None
            await act(connection, job.job_id)
        async with asyncio.timeout(PATIENCE_S):
            return await heard.get() == str(job.job_id)

    try:
        await enqueue(pools)
        assert await told_of(lambda one, job_id: jobs.record(one, SCOPE, job_id, {}))
        assert await told_of(lambda one, job_id: jobs.put_back(one, SCOPE, job_id, ended, not_before=NOW, counts=True))
        assert await told_of(lambda one, job_id: jobs.cancel(one, SCOPE, job_id, now=NOW))
        assert await told_of(lambda one, job_id: jobs.settle(one, SCOPE, job_id, ended, now=NOW))
        await enqueue(pools, now=later)
        async with scoped(pools.background, SCOPE) as connection:
            assert await jobs.cancel_pending(connection, SCOPE, now=later) == 1
        async with asyncio.timeout(PATIENCE_S):
            assert await heard.get()
    finally:
        await listener.close()
