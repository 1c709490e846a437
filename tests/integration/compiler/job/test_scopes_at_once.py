"""One worker compiles several wikis at once while it waits for models; a server that hangs keeps half of the places free."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from uuid import UUID

import pytest

from compiler.job.worker import Worker, WorkerSettings
from models.language.remote import RemoteModel
from store.compile import background
from store.compile.jobs import JobStatus
from store.db.postgres import Pools, PoolsConfig, open_pools, scoped
from store.scope import Scope
from tests.stand_ins.model_script import Ask, Behaviour, Gate, Late
from tests.stand_ins.model_server import ModelServer
from tests.support import waiting
from tests.support.compiler.compiling import NOW, Clock, all_jobs, engine_on, fetch, journal, wish, worker_on, write
from tests.support.compiler.model_engines import engine_with, script
from tests.support.store.locking import locked

SCOPES = tuple(Scope(UUID(int=tenant), UUID(int=100 + tenant)) for tenant in range(1, 6))
LAST = SCOPES[-1]


@asynccontextmanager
async def running(worker: Worker) -> AsyncIterator[None]:
    """Run the worker until the block ends; it then finishes or hands back."""
    task = asyncio.create_task(worker.run())
    try:
        yield
    finally:
        worker.stop()
        await task


async def until(pools: Pools, holds: Callable[[list[JobStatus]], bool]) -> None:
    """Wait until something holds, given the status of each scope's only job."""

    async def is_so() -> bool:
        return holds(await statuses(pools))

    await waiting.until(is_so)


def asked(site: ModelServer, place: str) -> int:
    return sum(ask.schema_name == place for ask in site.asks)


def all_succeeded(found: list[JobStatus]) -> bool:
    return all(one is JobStatus.SUCCEEDED for one in found)


def at_most_half_run(found: list[JobStatus]) -> bool:
    return sum(one is JobStatus.RUNNING for one in found) <= 2


async def statuses(pools: Pools) -> list[JobStatus]:
    """Return the status of each scope's only job, for the scopes that have one."""
    found = [await all_jobs(pools, scope=one) for one in SCOPES]
    return [jobs[0].status for jobs in found if jobs]


def hanging(gate: Gate, at: str) -> Callable[[Ask], Behaviour]:
    """Return a model that answers well, but whose answers to one kind of question wait for the gate."""
    answer = script()
    return lambda ask: Late(gate, answer(ask)) if ask.schema_name == at else answer(ask)


async def queued(pools: Pools, *scopes: Scope) -> None:
    for scope in scopes:
        await write(pools, journal(6), scope=scope)
        await wish(pools, scope=scope)


@pytest.mark.parametrize("place", ["leaf_plan", "aggregation_plan"])
async def test_hanging_model_server_leaves_half_of_the_slots_free(
    pools: Pools, model: RemoteModel, site: ModelServer, place: str
) -> None:
    gate, clock, done = Gate(), Clock(), asyncio.Event()
    site.by_request = hanging(gate, place)
    await queued(pools, *SCOPES[:4])
    await write(pools, journal(1), scope=LAST)

    async def other(scope: Scope, subject: str) -> None:
        done.set()

    settings = WorkerSettings("one", scopes_at_once=4, stall_s=0.2, poll_s=0.05, grace_s=waiting.PATIENCE_S)
    worker = Worker(pools.background, engine_with(pools, model, clock=clock), settings, {"other": other})
    async with running(worker):
        await until(pools, lambda found: asked(site, place) >= 2 and at_most_half_run(found))
        async with scoped(pools.background, LAST) as connection:
            await background.enqueue(connection, LAST, kind="other", subject="", now=NOW)
        await asyncio.wait_for(done.wait(), waiting.PATIENCE_S)
        assert at_most_half_run(await statuses(pools))
        gate.open()

        def succeed_in_time(found: list[JobStatus]) -> bool:
            clock.move(hours=1)  # a compile that a slow machine holds up again waits by this clock
            return all_succeeded(found)

        await until(pools, succeed_in_time)


async def test_worker_outlasts_a_locked_table(pools: Pools, database: str, caplog: pytest.LogCaptureFixture) -> None:
    impatient = await open_pools(database, PoolsConfig(1, 4, query_deadline_s=2.0))
    await queued(pools, SCOPES[0])
    clock = Clock()

    def succeed_in_time(found: list[JobStatus]) -> bool:
        clock.move(hours=1)  # the worker looks again later, by this clock
        return all_succeeded(found)

    async with running(worker_on(impatient, engine_on(impatient, clock=clock), poll_s=0.05)):
        async with locked(database, "wiki_compile_jobs"):
            await waiting.until(lambda: "worker_waits" in caplog.messages, patience_s=60.0)
        await until(pools, succeed_in_time)
    await impatient.close()


async def test_a_stop_hands_every_scope_back_and_each_is_compiled_once_afterwards(
    pools: Pools, model: RemoteModel, site: ModelServer
) -> None:
    gate = Gate()
    site.by_request = hanging(gate, "leaf_plan")
    await queued(pools, *SCOPES[:2])
    worker = Worker(pools.background, engine_with(pools, model), WorkerSettings("one", grace_s=0.0, poll_s=0.05))
    async with running(worker):
        await until(pools, lambda _: asked(site, "leaf_plan") >= 2)
    found = [job for one in SCOPES[:2] for job in await all_jobs(pools, scope=one)]
    assert [(job.status, job.attempt) for job in found] == [(JobStatus.PENDING, 0)] * 2
    gate.open()
    site.by_request = script()
    await replace(worker, stopping=asyncio.Event()).drain()
    assert all_succeeded(await statuses(pools))


async def test_a_lost_lease_ends_one_scope_and_not_the_other(
    pools: Pools, model: RemoteModel, site: ModelServer, database: str
) -> None:
    gate = Gate()
    site.by_request = hanging(gate, "leaf_plan")
    await queued(pools, *SCOPES[:2])
    settings = WorkerSettings("one", lease_s=0.3, poll_s=0.05, grace_s=waiting.PATIENCE_S)
    worker = Worker(pools.background, engine_with(pools, model), settings)
    async with running(worker):
        await until(pools, lambda _: asked(site, "leaf_plan") >= 2)
        async with scoped(pools.background, SCOPES[0]) as connection:
            await connection.execute("UPDATE wiki_compile_cursors SET fence = fence + 1, lease_holder = 'thief'")
        await until(pools, lambda _: len(worker._slots.taken) <= 1)
        gate.open()
        await until(pools, lambda found: found[1] is JobStatus.SUCCEEDED)
    (mine,) = await all_jobs(pools, scope=SCOPES[0])
    assert mine.status is JobStatus.RUNNING, "the thief's to settle"


LOSE_A_SERVER = (
    (
        "CREATE FUNCTION lost() RETURNS boolean LANGUAGE plpgsql AS"
        " $$ BEGIN RAISE 'no server' USING ERRCODE = 'connection_failure'; END $$"
    ),
    (
        "CREATE POLICY lost ON wiki_compile_jobs AS RESTRICTIVE"
        f" USING (CASE WHEN tenant_id = '{SCOPES[0].tenant_id}' THEN lost() ELSE true END)"
    ),
    (
        "CREATE OR REPLACE FUNCTION scopes_with_work() RETURNS TABLE (tenant_id uuid, owner_id uuid, ready_at timestamptz)"
        " LANGUAGE plpgsql AS $$ BEGIN PERFORM lost(); END $$"
    ),
)


async def test_tenants_are_compiled_while_a_cluster_has_lost_anothers_server(pools: Pools, database: str) -> None:
    await queued(pools, *SCOPES[:2])
    for statement in LOSE_A_SERVER:
        await fetch(database, statement)
    clock = Clock()

    async def by_tenant() -> list[str]:
        clock.move(seconds=10)
        return [
            row["status"] for row in await fetch(database, "SELECT status FROM wiki_compile_jobs ORDER BY tenant_id")
        ]

    async with running(worker_on(pools, engine_on(pools, clock=clock), poll_s=0.05)):
        await waiting.until_equal(by_tenant, ["pending", "succeeded"])
        await fetch(database, "DROP POLICY lost ON wiki_compile_jobs")
        await waiting.until_equal(by_tenant, ["succeeded", "succeeded"])
