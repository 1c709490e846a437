"""A clock that was ahead and is set back: nothing that was written meanwhile makes work wait until that time comes."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from uuid import UUID

import pytest

from compiler.plan.contract import BatchMemory
from compiler.state.substrates import MemoryListing, TimedMemory, TimedSubstrate, dirty_now
from store.compile import background, decay_jobs, ready, scopes
from store.compile.decay_jobs import DecayJob, SummaryMethod
from store.db.postgres import Pools, installation, scoped
from store.scope import Scope
from tests.support.compiler.compiling import (
    NOW,
    SCOPE,
    Clock,
    all_jobs,
    engine_on,
    journal,
    wiki_of,
    wish,
    worker_on,
    write,
)

AHEAD = [timedelta(hours=1), timedelta(days=1), timedelta(days=365)]


@pytest.mark.parametrize("ahead", AHEAD)
async def test_job_that_was_queued_ahead_runs_and_so_do_those_deduped_into_it(pools: Pools, ahead: timedelta) -> None:
    clock = Clock(NOW + ahead)
    await write(pools, journal(3), now=clock())
    await wish(pools, now=clock())
    clock.now = NOW
    await write(pools, journal(3, first=3))
    await wish(pools)
    assert await worker_on(pools, engine_on(pools, clock=clock)).drain() > 0
    assert len([name for name in await wiki_of(pools) if name.startswith("page ")]) > 0
    (job,) = await all_jobs(pools)
    assert job.metrics["records_read"] == 6


@pytest.mark.parametrize("ahead", AHEAD)
async def test_scope_of_a_worker_that_died_ahead_is_taken_over(pools: Pools, ahead: timedelta) -> None:
    clock = Clock(NOW + ahead)
    await write(pools, journal(3), now=clock())
    await wish(pools, now=clock())
    died = await worker_on(pools, engine_on(pools, clock=clock), holder="died")._claim(SCOPE)
    assert died is not None
    clock.now = NOW
    worker = worker_on(pools, engine_on(pools, clock=clock))
    assert await worker.drain_scope(SCOPE)
    (job,) = await all_jobs(pools)
    assert (job.status, job.attempt) == ("succeeded", 2)
    async with scoped(pools.background, SCOPE) as connection:
        assert not await scopes.renew(connection, SCOPE, died.row.fence, until=NOW), "the dead one's fence is over"


async def test_lease_of_a_worker_whose_clock_is_a_little_ahead_is_its_own(pools: Pools) -> None:
    await write(pools, journal(3))
    await wish(pools)
    other = worker_on(pools, engine_on(pools, clock=Clock(NOW + timedelta(minutes=5))), holder="other")
    assert await other._claim(SCOPE) is not None
    assert await worker_on(pools, engine_on(pools))._claim(SCOPE) is None


@pytest.mark.parametrize("ahead", AHEAD)
async def test_hints_that_were_settled_ahead_are_looked_at_again_once(pools: Pools, ahead: timedelta) -> None:
    clock = Clock(NOW + ahead)
    await write(pools, journal(3), now=clock())
    await wish(pools, now=clock())
    async with installation(pools.background) as connection:
        await ready.serve(connection, ready.Hint(SCOPE, NOW), now=clock())
    clock.now = NOW
    assert await worker_on(pools, engine_on(pools, clock=clock)).work_once(), "without a write"
    await wish(pools, now=NOW + timedelta(minutes=6))
    async with installation(pools.background) as connection:
        await ready.rebuild(connection, now=NOW)
        assert await ready.due(connection, now=NOW, limit=9) == []


@pytest.mark.parametrize("ahead", AHEAD)
async def test_other_background_work_of_that_time_is_due(pools: Pools, ahead: timedelta) -> None:
    await write(pools, journal(1))
    async with scoped(pools.background, SCOPE) as connection:
        for subject in ("waits", "died"):
            await background.enqueue(connection, SCOPE, "k", subject, now=NOW + ahead)
        then = NOW + ahead
        assert await background.take(connection, SCOPE, ("k", "died"), holder="died", lease_s=60.0, now=then)
        found = [
            await background.claim(connection, SCOPE, ["k"], holder="one", lease_s=60.0, now=NOW) for _ in range(3)
        ]
    assert {job.subject for job in found if job} == {"waits", "died"}
    assert found[2] is None


async def test_background_work_of_that_time_that_fails_waits_for_its_retry(pools: Pools) -> None:
    await write(pools, journal(1))
    async with scoped(pools.background, SCOPE) as connection:
        await background.enqueue(connection, SCOPE, "k", "fails", now=NOW + timedelta(days=1))
        job = await background.claim(connection, SCOPE, ["k"], holder="one", lease_s=60.0, now=NOW)
        assert job is not None
        later = NOW + timedelta(minutes=1)
        await background.put_back(connection, SCOPE, job, holder="one", error="busy", not_before=later)
        assert await background.claim(connection, SCOPE, ["k"], holder="one", lease_s=60.0, now=NOW) is None
        assert await background.claim(connection, SCOPE, ["k"], holder="one", lease_s=60.0, now=later) is not None


@pytest.mark.parametrize("ahead", AHEAD)
async def test_decay_of_that_time_is_due_but_not_jobs_ordered_for_later(pools: Pools, ahead: timedelta) -> None:
    await write(pools, journal(1))
    then, methods = NOW + ahead, frozenset(SummaryMethod)
    lease = timedelta(minutes=5)
    async with scoped(pools.background, SCOPE) as connection:
        for number, due in enumerate([then, then, then + timedelta(days=1)]):
            await decay_jobs.insert(
                connection, SCOPE, DecayJob(UUID(int=number), ("a", "b"), scheduled_for=due, created_at=then)
            )
        assert await decay_jobs.claim(connection, SCOPE, methods, now=then, lease_until=then + lease)
        found = [await decay_jobs.claim(connection, SCOPE, methods, now=NOW, lease_until=NOW + lease) for _ in range(3)]
    assert sorted(job.job_id.int for job in found if job) == [0, 1]
    assert found[2] is None


class Empty:
    """A memory service without memories."""

    async def written(
        self, scope: Scope, after: tuple[datetime, str], *, until: datetime, limit: int
    ) -> list[TimedMemory]:
        return []

    async def fetch(self, scope: Scope, memory_ids: Sequence[str]) -> dict[str, BatchMemory]:
        return {}

    async def listing(self, scope: Scope) -> MemoryListing:
        return MemoryListing()


async def test_timed_feed_is_caught_up_again_after_a_request_ahead(pools: Pools) -> None:
    clock = Clock(NOW + timedelta(days=365))
    await write(pools, [])
    substrate = TimedSubstrate(Empty(), now=clock)
    worker = worker_on(pools, engine_on(pools, clock=clock, substrate=substrate))
    await wish(pools, now=clock())
    assert await worker._claim(SCOPE) is not None
    clock.now = NOW
    for _ in range(3):
        await worker.drain_scope(SCOPE)
        clock.move(minutes=1)
    async with scoped(pools.background, SCOPE) as connection:
        row = await scopes.read(connection, SCOPE)
    assert row is not None
    assert row.dirty_through <= dirty_now(clock())
    assert row.is_caught_up
