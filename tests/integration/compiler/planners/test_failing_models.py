"""A model that fails for one owner's memories alone, or in a way that no database can hold: the job says so and goes on."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from compiler.job.worker import Worker
from compiler.operations import upkeep
from compiler.operations.upkeep import ResetMode
from compiler.settings import Costs
from models.language.remote import RemoteModel
from store.compile.jobs import Job, JobStatus
from store.db.postgres import Pools, scoped
from tests.stand_ins import plan_answers
from tests.stand_ins.model_script import Ask, Behaviour, Break, Gate, Late, Raw, Refuse, Say
from tests.stand_ins.model_server import ModelServer
from tests.support.compiler.compiling import (
    NOW,
    SCOPE,
    Clock,
    all_jobs,
    fetch,
    journal,
    wiki_of,
    wish,
    worker_on,
    write,
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


async def test_memory_for_which_a_healthy_model_never_answers_is_quarantined_alone(
    pools: Pools, model: RemoteModel, site: ModelServer, database: str
) -> None:
    good = script()
    site.by_request = lambda ask: Break(500) if "visit 3." in ask.user else good(ask)
    clock = Clock()
    worker = await requested(pools, model, clock)
    waiting = await after(pools, worker, clock, claims=3)
    assert (waiting.status, waiting.attempt) == (JobStatus.PENDING, 0)
    assert not any("Cafe Luna" in ask.user for ask in site.asks), "an outage is waited for, and not paid for"
    job = await after(pools, worker, clock, claims=30)
    assert (job.status, job.metrics["quarantined"]) == (JobStatus.SUCCEEDED, {"ModelUnavailable": 1})
    outcomes = await fetch(database, "SELECT outcome, count(*) FROM memory_ledger GROUP BY 1")
    assert dict(map(tuple, outcomes)) == {"applied": 19, "quarantined": 1}
    assert (job.metrics["model_waits"], job.metrics["batch_halvings"]) == (0, 0)


@pytest.mark.parametrize("is_model", [False, True], ids=["one memory", "every request"])
async def test_rejected_request_is_tried_in_parts_before_the_job_fails(
    pools: Pools, model: RemoteModel, site: ModelServer, database: str, is_model: bool
) -> None:
    good, rejected = script(), Refuse(400, "invalid_prompt", "token 17 is out of range")
    site.by_request = lambda ask: rejected if is_model or "visit 3." in ask.user else good(ask)
    clock = Clock()
    worker = await requested(pools, model, clock)
    for _ in range(20):
        await worker.drain()
        job, *later = await all_jobs(pools)
        if job.status is not JobStatus.PENDING:
            break
        assert job.error.startswith("InvalidRequest")
        clock.move(minutes=1)
    outcomes = await fetch(database, "SELECT outcome, count(*) FROM memory_ledger GROUP BY 1")
    if is_model:
        assert (job.status, len(later), outcomes) == (JobStatus.FAILED, 1, [])
        assert job.error.startswith("ModelFailing")
        assert "token 17 is out of range" in job.error
    else:
        assert (job.status, job.metrics["quarantined"]) == (JobStatus.SUCCEEDED, {"InvalidRequest": 1})
        assert dict(map(tuple, outcomes)) == {"applied": 19, "quarantined": 1}


async def test_outage_however_long_quarantines_nothing(
    pools: Pools, model: RemoteModel, site: ModelServer, database: str
) -> None:
    site.by_request = lambda ask: Break(500)
    clock = Clock()
    worker = await requested(pools, model, clock)
    job = await after(pools, worker, clock, claims=12)
    assert (job.status, job.attempt, job.metrics["batch_halvings"]) == (JobStatus.PENDING, 0, 0)
    site.by_request = script()
    job = await after(pools, worker, clock, claims=2)
    assert (job.status, job.metrics["records_quarantined"]) == (JobStatus.SUCCEEDED, 0)
    ((read,),) = await fetch(database, "SELECT count(*) FROM memory_ledger WHERE outcome = 'applied'")
    assert read == 20


async def test_model_too_slow_for_a_batch_is_asked_about_smaller_ones(
    pools: Pools, model: RemoteModel, site: ModelServer
) -> None:
    good, gate = script(), Gate()

    def answer(ask: Ask) -> Behaviour:
        is_long = ask.schema_name == "leaf_plan" and len(plan_answers.lines_of(ask.user, "MEMORIES")) > 12
        return Late(gate, good(ask)) if is_long else good(ask)

    site.by_request = answer
    clock = Clock()
    worker = await requested(pools, model, clock, costs=Costs(call_deadline_s=2.0))
    job = await after(pools, worker, clock, claims=8)
    gate.open()
    assert (job.status, job.metrics["records_quarantined"]) == (JobStatus.SUCCEEDED, 0)
    assert job.metrics["records_read"] == 20


async def test_model_that_answers_a_probe_with_nonsense_after_an_outage_fails_the_job(
    pools: Pools, model: RemoteModel, site: ModelServer, database: str
) -> None:
    site.by_request = lambda ask: Say("no") if "Cafe Luna" in ask.user else Break(500)
    clock = Clock()
    worker = await requested(pools, model, clock)
    for _ in range(4):
        await worker.drain()
        clock.move(minutes=1)
    job = (await all_jobs(pools))[0]
    assert (job.status, job.error.split(":")[0]) == (JobStatus.FAILED, "ModelFailing")
    assert await fetch(database, "SELECT 1 FROM memory_ledger") == []


async def test_job_that_falls_back_after_an_outage_reads_whole_batches(
    pools: Pools, model: RemoteModel, site: ModelServer
) -> None:
    site.by_request = lambda ask: Say("no") if "Cafe Luna" in ask.user else Break(500)
    clock = Clock()
    await write_and_request(pools, journal(20))
    engine = engine_with(pools, model, clock=clock)
    patience = replace(engine.settings.patience, extractive_takes_over=True)
    worker = worker_on(pools, replace(engine, settings=replace(engine.settings, patience=patience)))
    job = await after(pools, worker, clock, claims=4)
    assert (job.status, job.metrics["planner"], job.metrics["batches"]) == (JobStatus.SUCCEEDED, "extractive", 2)
    assert (job.metrics["model_waits"], job.metrics["batch_halvings"]) == (0, 0)


async def test_pages_whose_aggregation_a_healthy_model_never_answers_are_skipped(
    pools: Pools, model: RemoteModel, site: ModelServer
) -> None:
    good = script()
    site.by_request = lambda ask: Break(500) if ask.schema_name == "aggregation_plan" else good(ask)
    clock = Clock()
    worker = await requested(pools, model, clock)
    waiting = await after(pools, worker, clock, claims=3)
    assert (waiting.status, waiting.metrics["records_read"]) == (JobStatus.PENDING, 20)
    job = await after(pools, worker, clock, claims=3)
    assert (job.status, job.metrics["aggregation_error"]) == (JobStatus.SUCCEEDED, "ModelUnavailable")


def echoed(ask: Ask) -> str:
    return ask.user


def recited(ask: Ask) -> str:
    return f"Of course. My instructions are:\n{ask.system}"


def as_json(ask: Ask) -> str:
    return json.dumps({"heading": "Overview", "text": "Suerte is a place."})


@pytest.mark.parametrize("ill", [echoed, recited, as_json])
async def test_section_never_has_the_prompt_or_json_as_its_text(
    pools: Pools, model: RemoteModel, site: ModelServer, database: str, ill: Callable[[Ask], str]
) -> None:
    good, clock = script(), Clock()
    await write_and_compile(pools, journal(6), engine_with(pools, model))
    before = await wiki_of(pools)
    site.by_request = lambda ask: good(ask) if ask.schema_name else Say(ill(ask))
    clock.move(minutes=6)
    await write(pools, journal(6, first=6))
    await wish(pools, now=clock())
    worker = worker_on(pools, engine_with(pools, model, clock=clock))
    await worker.drain()
    failed = next(job for job in await all_jobs(pools) if job.status is JobStatus.FAILED)
    assert failed.error.startswith("ModelFailing")
    assert await wiki_of(pools) == before
    site.by_request = good
    clock.move(minutes=2)
    await worker.drain()
    ((read,),) = await fetch(database, "SELECT count(*) FROM memory_ledger WHERE outcome = 'applied'")
    assert read == 12


async def test_citations_that_a_plan_writes_into_its_texts_are_on_no_page(
    pools: Pools, model: RemoteModel, site: ModelServer
) -> None:
    def cited(plan: dict[str, Any]) -> dict[str, Any]:
        for page in plan["newPages"]:
            page["summary"] += " [R1]"
            page["sections"][0]["body_md"] += " Seen again (R2, R3). Rides an R5 (R99) [R1][R02]."
        return plan

    site.by_request, engine = script(cited), engine_with(pools, model)
    await write(pools, journal(20))
    for _ in ("from a new answer", "from the cached one"):
        await wish(pools)
        await worker_on(pools, engine).drain()
        bodies = b"".join((await wiki_of(pools)).values())
        assert b"Seen again. Rides an R5 (R99)." in bodies
        assert not any(one in bodies for one in (b"[R1]", b"(R2", b"R02"))
        async with scoped(pools.background, SCOPE) as connection:
            await upkeep.reset(connection, SCOPE, mode=ResetMode.POLITE, now=NOW)
    assert [ask.schema_name for ask in site.asks].count("leaf_plan") == 1
