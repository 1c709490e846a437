"""Compiles with a scripted model: costs, cached answers, and every kind of faulty answer."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from compiler.operations.replay import replay
from compiler.plan.contract import BatchMemory, Draft, PageKey, PageType, Section
from compiler.planners.model_planner import CostMeter, ModelPlanner
from compiler.settings import Costs
from compiler.state.access import PooledAccess
from models.language.language import DEFAULT_MODEL_ID
from models.language.remote import RemoteModel
from store.compile import answers
from store.compile.jobs import JobStatus
from store.db.postgres import Pools, scoped
from tests.stand_ins import plan_answers
from tests.stand_ins.model_script import Behaviour, Break, Cut, Garble, HangUp, Say, Throttle
from tests.stand_ins.model_server import ModelServer
from tests.support.compiler.compiling import (
    NAMES,
    NOW,
    SCOPE,
    Clock,
    all_jobs,
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
from tests.support.compiler.model_engines import engine_with, script


async def test_model_makes_pages_with_a_known_cost(pools: Pools, model: RemoteModel, site: ModelServer) -> None:
    await write_and_compile(pools, journal(20), engine_with(pools, model))
    (job,) = await all_jobs(pools)
    assert (job.status, job.metrics["pages_created"]) == (JobStatus.SUCCEEDED, len(NAMES))
    assert job.metrics["planner_calls"] == 1
    assert job.metrics["aggregation_planner_calls"] == 1
    assert 0 < job.metrics["aggregation_input_tokens"] < job.metrics["input_tokens"]
    assert job.metrics["cost_usd"] > 0
    assert sum(job.metrics["cost_by_pass"].values()) == pytest.approx(job.metrics["cost_usd"])
    assert job.metrics["cost_by_model"].keys() == {DEFAULT_MODEL_ID}
    async with scoped(pools.background, SCOPE) as connection:
        assert await answers.spent(connection, SCOPE, now=NOW) == pytest.approx(job.metrics["cost_usd"])


async def test_answered_request_is_never_paid_twice(
    pools: Pools, model: RemoteModel, site: ModelServer, database: str
) -> None:
    await write_and_compile(pools, journal(20), engine_with(pools, model))
    asked, before = len(site.asks), await wiki_of(pools)
    found = await replay(engine_with(pools, model), pools.background, SCOPE)
    assert (found.is_identical, len(site.asks)) == (True, asked)
    assert await wiki_of(pools) == before


async def test_log_is_replayed_with_the_planner_that_made_it(
    pools: Pools, model: RemoteModel, site: ModelServer, database: str
) -> None:
    await write_and_compile(pools, journal(20), engine_with(pools, model))
    clock = Clock(NOW + timedelta(minutes=6))
    await write(pools, journal(10, first=20))
    await wish(pools, now=clock())
    await compiled(pools, engine_on(pools, clock=clock))
    planners = await fetch(database, "SELECT DISTINCT options ->> 'planner' FROM compile_batches ORDER BY 1")
    assert [row[0] for row in planners] == ["extractive", DEFAULT_MODEL_ID]
    asked = len(site.asks)
    for engine in (engine_on(pools), engine_with(pools, model)):
        found = await replay(engine, pools.background, SCOPE)
        assert (found.is_identical, found.differences, found.unreplayable) == (True, (), 0)
    assert len(site.asks) == asked


async def test_changed_section_is_written_by_the_writer(pools: Pools, model: RemoteModel, site: ModelServer) -> None:
    engine = engine_with(pools, model)
    await write_and_compile(pools, journal(20), engine)
    await write(pools, journal(6, first=20))
    clock = Clock(NOW + timedelta(minutes=6))
    await wish(pools, now=clock())
    await compiled(pools, engine_with(pools, model, clock=clock))
    job = (await all_jobs(pools))[-1]
    assert job.metrics["section_writer_calls"] == len(NAMES)
    assert b"Written by the section writer." in (await wiki_of(pools))["page /wiki/entity/suerte"]


async def test_invented_ids_prove_nothing_and_are_counted(pools: Pools, model: RemoteModel, site: ModelServer) -> None:
    site.by_request = script(plan_answers.hallucinated)
    await write_and_compile(pools, journal(20), engine_with(pools, model))
    (job,) = await all_jobs(pools)
    assert job.status is JobStatus.SUCCEEDED
    assert sum(job.metrics["rejections"].values()) >= len(NAMES)
    assert not any(b"R99999" in body or b"Nobody said so" in body for body in (await wiki_of(pools)).values())


async def test_double_brackets_and_bad_links_never_reach_a_page(
    pools: Pools, model: RemoteModel, site: ModelServer
) -> None:
    site.by_request = script(plan_answers.with_wikilinks)
    await write_and_compile(pools, journal(20), engine_with(pools, model))
    wiki = await wiki_of(pools)
    bodies = b"".join(wiki.values())
    assert b"[[" not in bodies
    links = {match.decode() for match in re.findall(rb"\(/wiki/[a-z]+/([a-z0-9-]+)\)", bodies)}
    assert links == {"renee-castellano"}


def with_bad_items(plan: dict[str, Any]) -> dict[str, Any]:
    """Return the plan with one bad item in each array, as models write them, and without two of the arrays."""
    ill: dict[str, list[Any]] = {
        "pageLinks": [{"fromType": "entity", "fromSlug": "suerte", "toType": "place", "toSlug": "austin"}],
        "unresolvedMentions": [{"alias": "The Ghost", "source_ref": "R99999"}, "just a name"],
        "newPages": [{"type": "place", "title": "Austin"}, None],
        "pageUpdates": [{"pageId": "P99", "sections": "all"}],
        "promotions": [{"mentionId": 7}],
    }
    kept = {name: values for name, values in plan.items() if name not in {"sectionPromotions", "parentSectionUpdates"}}
    return {name: [*values, *ill.get(name, [])] for name, values in kept.items()} | {"thoughts": "Done."}


async def test_bad_item_is_dropped_alone_and_counted(pools: Pools, model: RemoteModel, site: ModelServer) -> None:
    site.by_request = script(with_bad_items)
    await write_and_compile(pools, journal(20), engine_with(pools, model))
    (job,) = await all_jobs(pools)
    figures = job.metrics
    assert (job.status, figures["pages_created"], figures["planner_calls"]) == (JobStatus.SUCCEEDED, len(NAMES), 1)
    assert figures["records_quarantined"] == 0
    reasons = {
        "malformed_link",
        "unknown_memory",
        "not_an_object",
        "page_without_type",
        "unknown_page",
        "unknown_mention",
    }
    assert figures["rejections"].keys() >= reasons


async def test_plan_without_a_good_item_is_malformed_and_not_cached(
    pools: Pools, model: RemoteModel, site: ModelServer, database: str
) -> None:
    good = script()
    ill = {"newPages": [{"type": "place", "title": "Austin"}]}
    site.by_request = lambda ask: Say(ill) if len(site.asks) == 1 else good(ask)
    await write_and_compile(pools, journal(20), engine_with(pools, model))
    (job,) = await all_jobs(pools)
    assert (job.status, job.metrics["records_quarantined"]) == (JobStatus.SUCCEEDED, 0)
    assert job.metrics["batches"] >= 2
    kept = [bytes(row[0]) for row in await fetch(database, "SELECT answer FROM model_answers")]
    assert kept
    assert not any(b"Austin" in one for one in kept)


async def test_uncited_sections_get_no_sources(
    pools: Pools, model: RemoteModel, site: ModelServer, database: str
) -> None:
    site.by_request = script(plan_answers.uncited)
    await write_and_compile(pools, journal(20), engine_with(pools, model))
    assert await fetch(database, "SELECT 1 FROM wiki_section_sources") == []


async def test_useless_answer_is_paid_for(pools: Pools, model: RemoteModel, site: ModelServer) -> None:
    good = script()
    site.by_request = lambda ask: Cut('{"newPages": [') if ask.schema_name == "aggregation_plan" else good(ask)
    await write_and_compile(pools, journal(20), engine_with(pools, model))
    (job,) = await all_jobs(pools)
    assert (job.metrics["aggregation_error"], job.metrics["aggregation_planner_calls"]) == ("OutputTruncated", 1)
    assert job.metrics["cost_by_pass"]["aggregation"] > 0
    async with scoped(pools.background, SCOPE, read_only=True) as connection:
        assert await answers.spent(connection, SCOPE, now=NOW) == pytest.approx(job.metrics["cost_usd"])


async def test_cached_answer_is_deleted_with_each_memory_it_used(
    pools: Pools, model: RemoteModel, site: ModelServer
) -> None:
    await write(pools, journal(1))
    access, costs = PooledAccess(pools.background, SCOPE), Costs(call_deadline_s=60.0)
    planner = ModelPlanner(model, DEFAULT_MODEL_ID, access, costs, CostMeter(costs), Clock())
    draft = Draft(PageKey(PageType.ENTITY, "suerte"), "Suerte", Section("notes", "Notes", "Good masa."), "", ())
    for memory_id in ("m1", "m2"):
        memory = BatchMemory(memory_id, "Suerte makes its own masa.", b"", NOW)
        await planner.write_section(replace(draft, memories=(memory,)))
    assert len(site.asks) == 1
    async with scoped(pools.background, SCOPE) as connection:
        assert await answers.forget(connection, SCOPE, ["m2"]) == 1


async def test_truncated_answer_halves_the_batch(pools: Pools, model: RemoteModel, site: ModelServer) -> None:
    site.then(Cut('{"pageUpdates": ['))
    await write_and_compile(pools, journal(20), engine_with(pools, model))
    (job,) = await all_jobs(pools)
    assert (job.status, job.metrics["records_read"], job.metrics["records_quarantined"]) == (JobStatus.SUCCEEDED, 20, 0)
    assert job.metrics["batches"] >= 2


BROKEN = {
    "prose": Say("I would rather not."),
    "cut": Cut('{"pageUpdates": ['),
    "garbled": Garble(),
    "sources of its own": Say('{"newPages": [{"type": "entity", "title": "Uchi", "source_refs": ["R99999"]}]}'),
}


@pytest.mark.parametrize("broken", BROKEN.values(), ids=BROKEN)
async def test_model_that_always_fails_fails_the_job_and_quarantines_nothing(
    pools: Pools,
    model: RemoteModel,
    site: ModelServer,
    database: str,
    broken: Behaviour,
    caplog: pytest.LogCaptureFixture,
) -> None:
    site.by_request = lambda ask: broken
    clock = Clock()
    await write_and_request(pools, journal(60))
    worker = worker_on(pools, engine_with(pools, model, clock=clock))
    await worker.drain()
    job, later = await all_jobs(pools)
    assert (job.status, job.error.split(":")[0]) == (JobStatus.FAILED, "ModelFailing")
    assert "model_failing" in [one.message for one in caplog.records], "the operator is told"
    assert job.metrics["records_quarantined"] == job.metrics["records_read"] == 0
    assert len(site.asks) <= 10
    assert await fetch(database, "SELECT cursor FROM wiki_compile_cursors WHERE cursor <> ''") == []
    assert await fetch(database, "SELECT 1 FROM memory_ledger") == []
    assert (later.status, later.not_before) == (JobStatus.PENDING, NOW + timedelta(seconds=60))

    clock.move(minutes=6)
    await write(pools, journal(2, first=60))
    await wish(pools, now=clock())
    await worker.drain()
    *_, last = await all_jobs(pools)
    assert last.not_before - clock() == timedelta(seconds=120)
    asked = len(site.asks)
    clock.move(seconds=100)
    await wish(pools, now=clock())
    await worker.drain()
    assert len(site.asks) == asked, "what writes ask for waits for the next try"

    site.by_request = script()
    clock.move(seconds=30)
    await worker.drain()
    *_, last = await all_jobs(pools)
    assert {one.status for one in await all_jobs(pools)} == {JobStatus.FAILED, JobStatus.SUCCEEDED}
    ((read,),) = await fetch(database, "SELECT count(*) FROM memory_ledger WHERE outcome = 'applied'")
    assert read == 62


async def test_job_falls_back_to_no_model_if_asked_to(
    pools: Pools, model: RemoteModel, site: ModelServer, database: str
) -> None:
    site.by_request = lambda ask: Say("no")
    await write_and_request(pools, journal(20))
    engine = engine_with(pools, model)
    patience = replace(engine.settings.patience, extractive_takes_over=True)
    engine = replace(engine, settings=replace(engine.settings, patience=patience))
    await compiled(pools, engine)
    (job,) = await all_jobs(pools)
    assert (job.status, job.metrics["planner"], job.metrics["records_read"]) == (JobStatus.SUCCEEDED, "extractive", 20)
    assert job.metrics["planner_failed"] == f"{DEFAULT_MODEL_ID}: MalformedOutput"
    assert job.metrics["pages_created"] > 0
    planners = await fetch(database, "SELECT DISTINCT options ->> 'planner' FROM compile_batches")
    assert [row[0] for row in planners] == ["extractive"]
    asked = len(site.asks)
    assert (await replay(engine, pools.background, SCOPE)).is_identical
    assert len(site.asks) == asked


async def test_memory_quarantined_by_a_failing_model_is_read_again_when_it_answers(
    pools: Pools, model: RemoteModel, site: ModelServer, database: str
) -> None:
    good, clock = script(), Clock()
    site.by_request = lambda ask: good(ask) if "Cafe Luna" in ask.user else Say("no")
    await write_and_request(pools, journal(1))
    await worker_on(pools, engine_with(pools, model, clock=clock)).drain()
    assert (await all_jobs(pools))[0].metrics["records_quarantined"] == 1
    for behaviour, status in ((lambda ask: Say("no"), JobStatus.FAILED), (good, JobStatus.SUCCEEDED)):
        site.by_request = behaviour
        clock.move(hours=1)
        await write(pools, journal(1, first=int(clock().timestamp()) % 100_000), now=clock())
        await wish(pools, now=clock())
        await worker_on(pools, engine_with(pools, model, clock=clock)).drain()
        assert status in {job.status for job in await all_jobs(pools)}
    outcomes = await fetch(database, "SELECT outcome, count(*) FROM memory_ledger GROUP BY 1")
    assert dict(map(tuple, outcomes)) == {"applied": 3}


async def test_poison_memory_is_quarantined_if_the_model_works(
    pools: Pools, model: RemoteModel, site: ModelServer, database: str
) -> None:
    good = script()
    poison = {f"visit {at}." for at in (3, 4, 5, 6, 11)}
    site.by_request = lambda ask: Say("no") if any(one in ask.user for one in poison) else good(ask)
    await write_and_compile(pools, journal(20), engine_with(pools, model))
    (job,) = await all_jobs(pools)
    assert (job.status, job.metrics["records_quarantined"]) == (JobStatus.SUCCEEDED, len(poison))
    assert job.metrics["quarantined"] == {"MalformedOutput": len(poison)}
    held = await fetch(database, "SELECT memory_id FROM memory_ledger WHERE outcome = 'quarantined' ORDER BY 1")
    assert [row[0] for row in held] == ["m00003", "m00004", "m00005", "m00006", "m00011"]
    assert sum("Cafe Luna" in ask.user and ask.schema_name == "leaf_plan" for ask in site.asks) == 1
    found = await replay(engine_with(pools, model), pools.background, SCOPE)
    assert found.is_identical


@pytest.mark.parametrize("is_model", [True, False], ids=["the model", "the memory"])
async def test_single_memory_is_quarantined_only_if_the_model_works(
    pools: Pools, model: RemoteModel, site: ModelServer, database: str, is_model: bool
) -> None:
    good = script()
    site.by_request = lambda ask: Say("no") if is_model or "visit 0." in ask.user else good(ask)
    await write_and_request(pools, journal(1))
    await worker_on(pools, engine_with(pools, model)).drain()
    job, *later = await all_jobs(pools)
    assert (job.status, len(later)) == ((JobStatus.FAILED, 1) if is_model else (JobStatus.SUCCEEDED, 0))
    assert job.metrics["records_quarantined"] == (0 if is_model else 1)


@pytest.mark.parametrize("trouble", [Throttle(), Break(), HangUp()], ids=lambda one: type(one).__name__)
async def test_unreachable_model_makes_the_job_wait(
    pools: Pools, model: RemoteModel, site: ModelServer, trouble: Behaviour
) -> None:
    site.by_request = lambda ask: trouble
    clock = Clock()
    await write_and_request(pools, journal(20))
    await worker_on(pools, engine_with(pools, model, clock=clock)).work_once()
    (job,) = await all_jobs(pools)
    assert (job.status, job.attempt) == (JobStatus.PENDING, 0)
    assert not await wiki_of(pools)
    site.by_request = script()
    clock.move(hours=1)
    await compiled(pools, engine_with(pools, model, clock=clock))
    (job,) = await all_jobs(pools)
    assert (job.status, job.metrics["records_read"]) == (JobStatus.SUCCEEDED, 20)


async def test_failed_aggregation_fails_no_leaf_work(pools: Pools, model: RemoteModel, site: ModelServer) -> None:
    good = script()
    site.by_request = lambda ask: Cut("{") if ask.schema_name == "aggregation_plan" else good(ask)
    await write_and_compile(pools, journal(20), engine_with(pools, model))
    (job,) = await all_jobs(pools)
    assert (job.status, job.metrics["aggregation_error"]) == (JobStatus.SUCCEEDED, "OutputTruncated")
    assert job.metrics["pages_created"] == len(NAMES)


async def test_job_stops_at_its_cost_ceiling_and_the_next_continues(
    pools: Pools, model: RemoteModel, site: ModelServer
) -> None:
    await write_and_compile(
        pools, journal(120), engine_with(pools, model, costs=Costs(per_job_usd=1e-9, call_deadline_s=60.0))
    )
    found = await all_jobs(pools)
    assert len(found) > 2
    assert all(job.metrics["planner_calls"] + job.metrics["aggregation_planner_calls"] <= 1 for job in found)
    assert {job.metrics["cap_hit"] for job in found[:-1]} == {"cost"}
    questions = [(one.system, one.user) for one in site.asks]
    assert len(questions) == len(set(questions)), "what was paid for is kept, also when another call was stopped"
    assert sum(job.metrics["records_read"] for job in found) == 120


async def test_tenants_cost_ceiling_holds_until_tomorrow(pools: Pools, model: RemoteModel, site: ModelServer) -> None:
    await write(pools, journal(20))
    async with scoped(pools.background, SCOPE) as connection:
        await answers.spend(connection, SCOPE, model_id="some", cost_usd=1.0, now=NOW)
    await wish(pools)
    clock, costs = Clock(), Costs(per_tenant_day_usd=1.0, call_deadline_s=60.0)
    await worker_on(pools, engine_with(pools, model, costs=costs, clock=clock)).work_once()
    (job,) = await all_jobs(pools)
    assert (job.status, job.not_before.date(), site.asks) == (JobStatus.PENDING, (NOW + timedelta(days=1)).date(), [])
    clock.move(days=1)
    await compiled(pools, engine_with(pools, model, costs=costs, clock=clock))
    (job,) = await all_jobs(pools)
    assert job.status is JobStatus.SUCCEEDED
