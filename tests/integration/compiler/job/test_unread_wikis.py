"""An unread wiki is compiled less often if a setting says so; a read or requested one never waits."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from compiler.job.worker import Worker
from compiler.settings import CompileSettings, Flags
from store.compile.jobs import Enqueued, Trigger
from store.db.postgres import Pools
from tests.support.compiler.compiling import (
    NOW,
    SCOPE,
    Clock,
    all_jobs,
    engine_on,
    fetch,
    journal,
    wish,
    worker_on,
    write,
    write_and_request,
)

READ = """INSERT INTO turn_accounts (tenant_id, owner_id, receipt_id, agent_id, thread_id, model_id, is_degraded, duration_ms,
    failed_sources, prompt_tokens, frame_tokens, thread_tokens, knowledge_tokens, memory_tokens, wiki_tokens, workspace_tokens,
    tools_tokens, created_at) VALUES ($1, $2, gen_random_uuid(), '', '', '', false, 1, '{}', 9, 0, 0, 0, 0, $3, 0, 0, $4)"""


async def unread_after_a_compile(pools: Pools, clock: Clock) -> Worker:
    """Compile a wiki that rests for an hour when nobody reads it, ask for the next compile, and return who does both."""
    settings = replace(CompileSettings(), flags=Flags(unread_pause_s=3600))
    worker = worker_on(pools, engine_on(pools, settings=settings, clock=clock))
    await write_and_request(pools, journal(10))
    assert await worker.drain() == 1
    clock.move(minutes=10)
    await write(pools, journal(5, first=10))
    assert (await wish(pools, now=clock())).outcome is Enqueued.ENQUEUED
    assert await worker.drain() == 0
    return worker


async def test_unread_wiki_is_compiled_once_per_pause(pools: Pools) -> None:
    clock = Clock()
    worker = await unread_after_a_compile(pools, clock)
    for _ in range(3):
        clock.move(minutes=6)
        assert (await wish(pools, now=clock())).outcome is Enqueued.DEDUPED, "one job waits, whatever the bucket"
        assert await worker.drain() == 0
    clock.now = NOW + timedelta(hours=1)
    assert await worker.drain() == 1
    found = await all_jobs(pools)
    assert [job.metrics["records_read"] for job in found] == [10, 5]
    assert {job.metrics["flags"]["wiki_unread_pause_s"] for job in found} == {3600}


@pytest.mark.parametrize(("tokens", "count"), [(120, 1), (0, 0)])
async def test_wiki_read_by_turns_is_compiled_without_a_pause(
    pools: Pools, database: str, tokens: int, count: int
) -> None:
    clock = Clock()
    worker = await unread_after_a_compile(pools, clock)
    await fetch(database, READ, SCOPE.tenant_id, SCOPE.owner_id, tokens, clock())
    assert (await wish(pools, now=clock())).outcome is Enqueued.DEDUPED
    assert await worker.drain() == count


async def test_operators_request_ignores_the_pause(pools: Pools) -> None:
    clock = Clock()
    worker = await unread_after_a_compile(pools, clock)
    asked = await wish(pools, trigger=Trigger.ADMIN, now=clock())
    assert asked.outcome is Enqueued.DEDUPED
    assert await worker.drain() == 1
    assert [job.trigger for job in await all_jobs(pools)] == [Trigger.MEMORY_RETAIN, Trigger.ADMIN]


@pytest.mark.parametrize(("own", "count"), [(None, 0), (0, 1), (7200, 0), (60, 1)])
async def test_pause_of_the_tenant_overrides_the_environments(
    pools: Pools, database: str, own: int | None, count: int
) -> None:
    clock = Clock()
    await write(pools, [])
    await fetch(database, "UPDATE tenants SET wiki_unread_pause_s = $1", own)
    settings = replace(CompileSettings(), flags=Flags(unread_pause_s=3600))
    worker = worker_on(pools, engine_on(pools, settings=settings, clock=clock))
    await write_and_request(pools, journal(10))
    assert await worker.drain() == 1
    clock.move(minutes=10)
    await wish(pools, now=clock())
    assert await worker.drain() == count
    assert (await all_jobs(pools))[0].metrics["flags"]["wiki_unread_pause_s"] == (3600 if own is None else own)
