"""A model that fails for one owner's memories alone, or in a way that no database can hold: the job says so and goes on."""

from __future__ import annotations

import json

import pytest

from compiler.job.worker import Worker
from compiler.settings import Costs
from models.language.remote import RemoteModel
from store.compile.jobs import Job, JobStatus
from store.db.postgres import Pools
from tests.stand_ins.model_script import Raw, Say
from tests.stand_ins.model_server import ModelServer
from tests.support.compiler.compiling import (
    Clock,
    all_jobs,
    fetch,
    journal,
    worker_on,
    write_and_compile,
    write_and_request,
)
from tests.support.compiler.model_engines import engine_with, script


async def requested(pools: Pools, model: RemoteModel, clock: Clock, *, costs: Costs | None = None) -> Worker:
    """Request the compile of 20 memories, and return the worker that is to do it."""
    await write_and_request(pools, journal(20))
    return worker_on(pools, engine_with(pools, model, clock=clock, costs=costs))


async def after(pools: Pools, worker: Worker, clock: Clock, *, claims: int) -> Job:
    """Return the job after so many claims at most, a minute apart each."""
    for _ in range(claims):
        await worker.drain()
        clock.move(minutes=1)
    (job,) = await all_jobs(pools)
    return job


@pytest.mark.parametrize("code", ["a\0b", "a\ud800b", "a" * 1_000_000], ids=["NUL", "surrogate", "long"])
async def test_job_keeps_the_error_of_a_server_whatever_characters_it_has(
    pools: Pools, model: RemoteModel, site: ModelServer, code: str
) -> None:
    refusal = {"error": {"code": code, "message": f"{code} {code}"}}
    site.by_request = lambda ask: Raw(json.dumps(refusal).encode(), 400)
    clock = Clock()
    job = await after(pools, await requested(pools, model, clock), clock, claims=1)
    assert (job.status, job.attempt, job.error.split(":")[0]) == (JobStatus.PENDING, 1, "InvalidRequest")
    assert len(job.error) < 1_000


async def test_probe_of_the_model_is_among_the_costs_of_tenant_and_owner(
    pools: Pools, model: RemoteModel, site: ModelServer, database: str
) -> None:
    good = script()
    site.by_request = lambda ask: Say("no") if "visit 3." in ask.user else good(ask)
    await write_and_compile(pools, journal(4), engine_with(pools, model))
    (job,) = await all_jobs(pools)
    assert job.metrics["quarantined"] == {"MalformedOutput": 1}
    assert any("Cafe Luna" in ask.user for ask in site.asks), "the model was probed"
    ((by_tenant,),) = await fetch(database, "SELECT sum(cost_usd) FROM compile_spend")
    calls, by_owner = (await fetch(database, "SELECT sum(call_count), sum(cost_usd) FROM compile_accounts"))[0]
    assert calls == len(site.asks)
    assert by_tenant == pytest.approx(job.metrics["cost_usd"])
    assert by_owner == pytest.approx(job.metrics["cost_usd"])
