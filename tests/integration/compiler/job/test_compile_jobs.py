"""Compile jobs from request to outcome: exclusive scopes, continuations, and recovery from dead workers."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from compiler.errors import LeaseLost
from compiler.job.compilation import BatchDeps, Claim, compile_job
from compiler.plan.batch import LeafBatch
from compiler.planners.model_planner import CostMeter
from compiler.planners.planner import ExtractivePlanner, Proposed
from compiler.settings import CompileSettings, Costs, Flags
from compiler.state.access import PooledAccess
from sidecar.services.memories import Memories
from store.compile import jobs, scopes
from store.compile.jobs import BUCKET_S, Enqueued, JobOptions, JobStatus, Trigger
from store.compile.scopes import Lease
from store.db.postgres import Pools, scoped
from store.errors import AlreadyExists
from tests.support.compiler.compiling import (
    HOUSEMATE,
    NOW,
    SCOPE,
    STRANGER,
    Clock,
    all_jobs,
    capped,
    compiled,
    engine_on,
    fetch,
    journal,
    wiki_of,
    wish,
    worker_on,
    write,
    write_and_compile,
    write_and_request,
)
from tests.support.waiting import until


async def claimed(pools: Pools, *, holder: str = "one", now: datetime = NOW) -> Claim | None:
    return await worker_on(pools, engine_on(pools, clock=Clock(now)), holder=holder)._claim(SCOPE)


async def test_job_makes_pages_and_records_that_everything_was_read(pools: Pools) -> None:
    await write_and_compile(pools, journal(20), engine_on(pools))
    (job,) = await all_jobs(pools)
    assert job.status is JobStatus.SUCCEEDED
    assert job.metrics["records_read"] == 20
    assert any(name.startswith("page ") for name in await wiki_of(pools))
    async with scoped(pools.background, SCOPE) as connection:
        row = await scopes.read(connection, SCOPE)
    assert row is not None
    assert (row.read_through, row.dirty_through, row.lease_until) == (20, 20, None)


async def test_two_workers_never_hold_one_scope(pools: Pools) -> None:
    await write_and_request(pools, journal(3))
    await wish(pools, now=NOW + timedelta(seconds=BUCKET_S))
    claims = await asyncio.gather(*(claimed(pools, holder=f"w{n}", now=NOW + timedelta(hours=1)) for n in range(2)))
    assert sum(claim is not None for claim in claims) == 1


async def test_a_second_running_job_of_a_scope_is_refused_by_the_schema(pools: Pools, database: str) -> None:
    await write_and_request(pools, journal(3))
    await wish(pools, now=NOW + timedelta(seconds=BUCKET_S))
    with pytest.raises(Exception, match="wiki_compile_jobs_running"):
        await fetch(database, "UPDATE wiki_compile_jobs SET status = 'running'")


async def test_overtaken_worker_can_apply_nothing(pools: Pools) -> None:
    await write_and_request(pools, journal(10))
    zombie = await claimed(pools, holder="zombie")
    assert zombie is not None
    clock = Clock(NOW + timedelta(hours=1))
    await compiled(pools, engine_on(pools, clock=clock))
    before = await wiki_of(pools)
    await write(pools, journal(10, first=10))
    with pytest.raises(LeaseLost):
        await compile_job(engine_on(pools, clock=clock), PooledAccess(pools.background, SCOPE), zombie)
    assert await wiki_of(pools) == before


@pytest.mark.parametrize("is_paid", [False, True], ids=["free", "paid"])
async def test_overtaken_worker_can_apply_nothing_even_before_its_successor_writes(
    pools: Pools, *, is_paid: bool
) -> None:
    """The wiki stands as the zombie planned for it: nothing but the fence tells that it is another's."""
    await write_and_request(pools, journal(10))
    zombie = await claimed(pools, holder="zombie")
    assert zombie is not None
    later = Clock(NOW + timedelta(hours=1))
    assert await claimed(pools, holder="successor", now=later()) is not None
    engine = engine_on(pools, clock=later)

    async def planner_for(*given: object) -> BatchDeps:
        return BatchDeps(ExtractivePlanner(), CostMeter(Costs())) if is_paid else BatchDeps(ExtractivePlanner())

    with pytest.raises(LeaseLost):
        await compile_job(replace(engine, planner_for=planner_for), PooledAccess(pools.background, SCOPE), zombie)
    assert not await wiki_of(pools)


class Interrupting(ExtractivePlanner):
    """Writes to the wiki while it plans, once."""

    def __init__(self, pools: Pools) -> None:
        self.pools, self.calls = pools, 0

    async def plan_leaf(self, batch: LeafBatch) -> Proposed:
        self.calls += 1
        if self.calls == 1:
            async with scoped(self.pools.background, SCOPE) as connection:
                await scopes.lock(connection, SCOPE, now=NOW)
                await scopes.bump_revision(connection, SCOPE, now=NOW)
        return await super().plan_leaf(batch)


async def test_plan_overtaken_by_an_operators_act_is_made_again(pools: Pools) -> None:
    await write_and_request(pools, journal(10))
    planner = Interrupting(pools)
    await compiled(pools, engine_on(pools, planner=planner))
    (job,) = await all_jobs(pools)
    assert (job.status, job.metrics["plans_superseded"], planner.calls) == (JobStatus.SUCCEEDED, 1, 2)
    assert job.metrics["records_read"] == 10


async def test_retain_during_a_job_gets_a_job_that_reads_it(pools: Pools) -> None:
    await write_and_request(pools, journal(5))
    claim = await claimed(pools)
    assert claim is not None
    await write(pools, journal(5, first=5))
    assert (await wish(pools)).outcome is Enqueued.ENQUEUED


async def test_write_of_a_process_that_died_before_its_request_is_compiled_on_retry(pools: Pools) -> None:
    await write(pools, journal(5))
    service = Memories(pools, now=Clock())
    assert (await service.retain(SCOPE, journal(5)))[1] is Enqueued.ENQUEUED
    assert (await service.retain(SCOPE, journal(5)))[1] is None
    await compiled(pools, engine_on(pools))
    assert (await service.retain(SCOPE, journal(5)))[1] is None
    (job,) = await all_jobs(pools)
    assert job.metrics["records_read"] == 5


async def test_announced_but_unread_memory_gets_its_own_job(pools: Pools) -> None:
    await write_and_request(pools, journal(5))
    async with scoped(pools.background, SCOPE) as connection:
        await scopes.mark_dirty(connection, SCOPE, through=9, now=NOW)
    worker = worker_on(pools, engine_on(pools))
    assert await worker.work_once()
    first, second = await all_jobs(pools)
    assert (second.parent_job_id, second.status, second.hops) == (first.job_id, JobStatus.PENDING, 1)


async def test_capped_job_is_continued_with_its_trigger_and_options(pools: Pools) -> None:
    await write(pools, journal(30))
    options = JobOptions(model_id="some-model")
    await wish(pools, trigger=Trigger.ADMIN, options=options)
    await compiled(pools, engine_on(pools, settings=capped(max_records_per_job=12, record_page_size=5)))
    found = await all_jobs(pools)
    assert [job.metrics["records_read"] for job in found] == [12, 12, 6]
    assert [(job.hops, job.trigger, job.options) for job in found] == [(n, Trigger.ADMIN, options) for n in range(3)]
    assert [job.parent_job_id for job in found] == [None, found[0].job_id, found[1].job_id]
    assert [job.metrics["cap_hit"] for job in found] == ["records", "records", ""]


async def test_import_has_a_larger_cap(pools: Pools) -> None:
    await write(pools, journal(30))
    await wish(pools, trigger=Trigger.BOOTSTRAP_IMPORT)
    await compiled(pools, engine_on(pools, settings=capped(max_records_per_job=10, max_records_per_bootstrap_job=25)))
    assert [job.metrics["records_read"] for job in await all_jobs(pools)] == [25, 5]


async def test_caps_on_pages_and_sections_split_a_plan_without_changing_the_wiki(pools: Pools) -> None:
    await write_and_compile(pools, journal(40), engine_on(pools))
    whole = await wiki_of(pools)
    await write(pools, journal(40), scope=STRANGER)
    await wish(pools, scope=STRANGER)
    tight = capped(max_new_pages_per_job=2, max_sections_rewritten_per_job=3)
    await compiled(pools, engine_on(pools, settings=tight), scope=STRANGER)
    found = await all_jobs(pools, scope=STRANGER)
    assert len(found) > 2
    assert all(job.metrics["pages_created"] <= 2 and job.metrics["sections_rewritten"] <= 3 for job in found)
    assert sum(job.metrics["records_read"] for job in found) == 40
    pages = {name for name in whole if name.startswith("page /wiki/entity")}
    assert {name for name in await wiki_of(pools, scope=STRANGER) if name.startswith("page /wiki/entity")} == pages


async def test_batch_whose_first_item_is_capped_is_counted_once(pools: Pools) -> None:
    """The cap of one page is reached by the batch before, so that nothing at all of the next one is written by that job."""
    await write_and_compile(
        pools, journal(12), engine_on(pools, settings=capped(record_page_size=2, max_new_pages_per_job=1))
    )
    found = await all_jobs(pools)
    assert sum(job.metrics["records_read"] for job in found) == 12
    assert any(job.metrics["batches"] == 0 or job.metrics["cap_hit"] == "new_pages" for job in found)


async def test_refused_continuation_is_an_error(pools: Pools) -> None:
    await write_and_request(pools, journal(3))
    claim = await claimed(pools)
    assert claim is not None
    async with scoped(pools.background, SCOPE) as connection:
        await jobs.continue_job(connection, SCOPE, claim.job, not_before=NOW, now=NOW)
        with pytest.raises(AlreadyExists):
            await jobs.continue_job(connection, SCOPE, claim.job, not_before=NOW, now=NOW)


async def test_job_of_a_dead_worker_is_taken_over(pools: Pools) -> None:
    await write_and_request(pools, journal(10))
    dead = await claimed(pools, holder="dead")
    assert dead is not None
    clock = Clock(NOW + timedelta(seconds=30))
    worker = worker_on(pools, engine_on(pools, clock=clock))
    assert not await worker.work_once()
    clock.move(seconds=60)
    worker = worker_on(pools, engine_on(pools, clock=clock))
    assert await worker.work_once()
    (job,) = await all_jobs(pools)
    assert (job.job_id, job.status, job.attempt) == (dead.job.job_id, JobStatus.SUCCEEDED, 2)


async def test_a_cancelled_job_is_never_started(pools: Pools) -> None:
    await write(pools, journal(10))
    ticket = await wish(pools)
    async with scoped(pools.background, SCOPE) as connection:
        assert ticket.job_id is not None
        stood = await jobs.cancel(connection, SCOPE, ticket.job_id, now=NOW)
    assert stood is not None
    assert stood.status is JobStatus.CANCELLED
    await compiled(pools, engine_on(pools))
    assert not await wiki_of(pools)


async def test_running_job_stops_at_the_batch_in_which_it_is_cancelled(pools: Pools) -> None:
    await write(pools, journal(20))
    ticket = await wish(pools)

    class Cancelling(ExtractivePlanner):
        async def plan_leaf(self, batch: LeafBatch) -> Proposed:
            async with scoped(pools.background, SCOPE) as connection:
                assert ticket.job_id is not None
                await jobs.cancel(connection, SCOPE, ticket.job_id, now=NOW)
            return await super().plan_leaf(batch)

    await worker_on(pools, engine_on(pools, planner=Cancelling(), settings=capped(record_page_size=5))).work_once()
    (job,) = await all_jobs(pools)
    assert (job.status, job.metrics["records_read"]) == (JobStatus.CANCELLED, 5)


async def test_tenant_with_compile_off_compiles_nothing(pools: Pools, database: str) -> None:
    await write_and_request(pools, journal(10))
    await fetch(database, "UPDATE tenants SET wiki_compile_enabled = false")
    await compiled(pools, engine_on(pools))
    (job,) = await all_jobs(pools)
    assert job.status is JobStatus.SKIPPED
    assert not await wiki_of(pools)


@pytest.mark.parametrize("own", [None, True, False])
@pytest.mark.parametrize("given", [True, False])
async def test_flags_of_the_tenant_override_the_environments(
    pools: Pools, database: str, *, own: bool | None, given: bool
) -> None:
    await write_and_request(pools, journal(10))
    await fetch(database, "UPDATE tenants SET wiki_deterministic_linking_enabled = $1", own)
    settings = replace(CompileSettings(), flags=Flags(deterministic_linking_enabled=given))
    await compiled(pools, engine_on(pools, settings=settings))
    (job,) = await all_jobs(pools)
    effective = given if own is None else own
    assert job.metrics["flags"]["wiki_deterministic_linking_enabled"] is effective
    assert job.metrics["deterministic_linking_flag_suppressed"] is not effective
    written = job.metrics["links_written_co_mention"] + job.metrics["links_written_deterministic"]
    assert bool(written) is effective


async def test_tenants_are_served_in_turn(pools: Pools) -> None:
    for scope in (SCOPE, HOUSEMATE):
        await write(pools, journal(3), scope=scope)
        await wish(pools, scope=scope)
    await write(pools, journal(3), scope=STRANGER)
    await wish(pools, scope=STRANGER, now=NOW + timedelta(seconds=1))
    clock = Clock(NOW + timedelta(minutes=1))
    worker = worker_on(pools, engine_on(pools, clock=clock))
    for _ in range(2):
        assert await worker.work_once()
        clock.move(seconds=1)
    (theirs,) = await all_jobs(pools, scope=STRANGER)
    assert theirs.status is JobStatus.SUCCEEDED


async def test_lost_hint_is_recovered(pools: Pools, database: str) -> None:
    await write_and_request(pools, journal(3))
    await fetch(database, "DELETE FROM compile_ready")
    assert await worker_on(pools, engine_on(pools)).work_once()


class Gated(ExtractivePlanner):
    """Plans only when it is let."""

    def __init__(self) -> None:
        self.arrived, self.opened = asyncio.Event(), asyncio.Event()

    async def plan_leaf(self, batch: LeafBatch) -> Proposed:
        self.arrived.set()
        await self.opened.wait()
        return await super().plan_leaf(batch)


async def test_stopped_worker_hands_its_job_back(pools: Pools) -> None:
    await write_and_request(pools, journal(10))
    planner = Gated()
    worker = worker_on(pools, engine_on(pools, planner=planner), grace_s=0.0)
    working = asyncio.create_task(worker.run())
    await planner.arrived.wait()
    worker.stop()
    await working
    (job,) = await all_jobs(pools)
    assert (job.status, job.attempt) == (JobStatus.PENDING, 0)
    await compiled(pools, engine_on(pools))
    (job,) = await all_jobs(pools)
    assert (job.status, job.metrics["records_read"]) == (JobStatus.SUCCEEDED, 10)


async def test_stop_within_the_grace_period_lets_the_job_end(pools: Pools) -> None:
    await write_and_request(pools, journal(10))
    planner = Gated()
    worker = worker_on(pools, engine_on(pools, planner=planner), grace_s=300.0)
    working = asyncio.create_task(worker.run())
    await planner.arrived.wait()
    worker.stop()
    planner.opened.set()
    await working
    (job,) = await all_jobs(pools)
    assert job.status is JobStatus.SUCCEEDED


async def test_worker_that_loses_its_lease_stops_planning(pools: Pools) -> None:
    await write_and_request(pools, journal(10))
    planner = Gated()
    worker = worker_on(pools, engine_on(pools, planner=planner), lease_s=0.06)
    working = asyncio.create_task(worker.work_once())
    await planner.arrived.wait()
    async with scoped(pools.background, SCOPE) as connection:
        await scopes.lock(connection, SCOPE, now=NOW)
        taken = await scopes.claim(connection, SCOPE, Lease("thief", 3600.0), now=NOW + timedelta(hours=1))
    assert taken is not None
    await working
    async with scoped(pools.background, SCOPE) as connection:
        row = await scopes.read(connection, SCOPE)
    assert row is not None
    assert (row.lease_holder, row.fence) == ("thief", taken.fence)
    assert not await wiki_of(pools)


async def test_heartbeat_keeps_a_scope_beyond_its_first_lease(pools: Pools) -> None:
    await write_and_request(pools, journal(10))
    planner, clock = Gated(), Clock()
    worker = worker_on(pools, engine_on(pools, planner=planner, clock=clock), lease_s=0.06)
    working = asyncio.create_task(worker.work_once())
    await planner.arrived.wait()
    clock.move(hours=1)

    async def is_renewed() -> bool:
        async with scoped(pools.background, SCOPE, read_only=True) as connection:
            row = await scopes.read(connection, SCOPE)
        assert row is not None
        return row.lease_until is not None and row.lease_until > clock()

    await until(is_renewed)
    planner.opened.set()
    assert await working
    (job,) = await all_jobs(pools)
    assert job.status is JobStatus.SUCCEEDED
