"""A worker killed at any step, then another: the wiki of an undisturbed run, nothing lost and nothing counted twice."""

from __future__ import annotations

import asyncio
import signal
import sys
from datetime import timedelta
from pathlib import Path
from uuid import UUID

from compiler import forgetting
from store import memories
from store.jobs import JobStatus
from store.memories import NewMemory
from store.postgres import Pools, scoped
from store.scope import Scope
from tests.integration.compiling import (
    NOW,
    Clock,
    all_jobs,
    capped,
    compiled,
    engine_on,
    journal,
    wiki_of,
    wish,
    worker_on,
    write,
)

ROOT = Path(__file__).parents[2]
STEPS = 200
DEADLINE_S = 120.0
SAMPLE = (1, 4, 12, 25, 33, 47, 58, 64)


async def prepare(pools: Pools, scope: Scope) -> None:
    """Compile a few memories, then edit one, forget one, add more, and ask for a compile."""
    await write(pools, journal(15), scope=scope)
    await wish(pools, scope=scope)
    await compiled(pools, engine_on(pools, settings=capped(record_page_size=5)), scope=scope)
    edited = NewMemory("Renee Castellano and Suerte never met on visit 0. Renee Castellano paid 99 dollars.", "m00000")
    await write(pools, [edited, *journal(25, first=15)], scope=scope)
    async with scoped(pools.background, scope) as connection:
        await memories.forget(connection, scope, "m00007")
        await forgetting.forget(connection, scope, ["m00007"], now=NOW)
    await wish(pools, scope=scope, now=NOW + timedelta(minutes=6))


async def finish(pools: Pools, scope: Scope) -> None:
    """Do what is left. Postgres may need a moment to see that the dead worker's transaction is nobody's any more."""
    settings = capped(record_page_size=5, max_new_pages_per_job=4)
    worker = worker_on(pools, engine_on(pools, settings=settings, clock=Clock(NOW + timedelta(hours=1))))
    async with asyncio.timeout(DEADLINE_S):
        while not await worker.drain_scope(scope):
            pass


async def die(dsn: str, scope: Scope, after: int) -> bool:
    """Let a worker die at its nth step, and return whether it got there."""
    child = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.integration.crashing", dsn),
        *(str(scope.tenant_id), str(scope.owner_id), str(after)),
        cwd=ROOT,
    )
    code = await child.wait()
    assert code in (0, -signal.SIGKILL)
    return code != 0


async def test_a_worker_killed_anywhere_leaves_the_wiki_of_an_undisturbed_run(
    pools: Pools, database: str, is_soak: bool
) -> None:
    undisturbed = Scope(UUID(int=900), UUID(int=900))
    await prepare(pools, undisturbed)
    await finish(pools, undisturbed)
    expected = await wiki_of(pools, scope=undisturbed)
    figures = [job.metrics["records_read"] for job in await all_jobs(pools, scope=undisturbed)]
    assert sum(figures) == 41
    died = 0
    for after in range(1, STEPS + 1) if is_soak else SAMPLE:
        scope = Scope(UUID(int=1000 + after), UUID(int=900))
        await prepare(pools, scope)
        died += await die(database, scope, after)
        await finish(pools, scope)
        assert await wiki_of(pools, scope=scope) == expected, f"killed at step {after}"
        found = await all_jobs(pools, scope=scope)
        assert {job.status for job in found} == {JobStatus.SUCCEEDED}
        assert [job.metrics["records_read"] for job in found] == figures, f"killed at step {after}"
    assert died >= len(SAMPLE) - 1
