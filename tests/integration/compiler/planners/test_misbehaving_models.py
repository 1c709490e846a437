"""A model that misbehaves about hubs, or answers late: no job dies of it, nothing unproven stands, and the metrics name it."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from compiler.job import metrics
from compiler.job.compilation import Engine
from compiler.operations.preview import preview
from compiler.operations.replay import replay
from compiler.passes import forgetting
from compiler.plan.batch import LeafBatch
from compiler.plan.judging import promotion
from compiler.planners.planner import ExtractivePlanner, Proposed
from compiler.settings import Caps, Costs
from compiler.state.access import PooledAccess
from models.language.remote import RemoteModel
from sidecar.rpc.messages import compile_messages
from sidecar.services.tenants import Tenants
from store.compile import jobs, scopes
from store.compile.jobs import JobOptions, JobStatus, Trigger
from store.content import memories
from store.db.postgres import Pools, scoped
from store.tenancy import tenants
from tests.stand_ins import plan_answers
from tests.stand_ins.model_script import Ask, Behaviour, Gate, Late, Say
from tests.stand_ins.model_server import ModelServer
from tests.support.compiler.city_places import AUSTIN, TORONTO, hub, leaf, places
from tests.support.compiler.compiling import (
    HOUSEMATE,
    NOW,
    SCOPE,
    Clock,
    OtherListing,
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

KEYS = frozenset(metrics.empty())


async def compiled_with(pools: Pools, engine: Engine) -> dict[str, Any]:
    """Compile the places, and return the metrics of the one job, which ended well."""
    await write_and_compile(pools, places(), engine)
    (job,) = await all_jobs(pools)
    assert job.status is JobStatus.SUCCEEDED, job.error
    assert not job.metrics["aggregation_error"]
    assert job.metrics.keys() >= KEYS
    return job.metrics


async def children_of(database: str, slug: str) -> dict[str, set[str]]:
    """Return the pages under each section of a topic."""
    rows = await fetch(
        database,
        "SELECT s.section_slug, c.slug FROM wiki_section_children w JOIN wiki_page_sections s USING (tenant_id, section_id)"
        " JOIN wiki_pages p ON p.tenant_id = s.tenant_id AND p.page_id = s.page_id"
        " JOIN wiki_pages c ON c.tenant_id = s.tenant_id AND c.page_id = w.child_page_id WHERE p.slug = $1",
        slug,
    )
    found: dict[str, set[str]] = {}
    for row in rows:
        found.setdefault(row["section_slug"], set()).add(row["slug"])
    return found


EXPECTED = {"casa-lola", "lime-yard", "suerte", "haus-hof"}


@pytest.mark.parametrize("ill", ["one child under two sections", "a hub across cities"])
async def test_badly_planned_hub_lists_each_of_its_own_pages_once(
    pools: Pools,
    database: str,
    model: RemoteModel,
    site: ModelServer,
    ill: str,
) -> None:
    def answer(ask: Ask) -> Behaviour:
        if ask.schema_name != "aggregation_plan":
            return Say(leaf(ask)) if ask.schema_name == "leaf_plan" else Say("Written.")
        plan = hub(ask, AUSTIN)
        if ill == "one child under two sections":
            return Say(plan_answers.one_child_under_two_sections(plan))
        return Say(plan_answers.across_cities(plan, [("entity", "bar-isabel"), ("entity", "pai-kitchen")]))

    site.by_request = answer
    figures = await compiled_with(pools, engine_with(pools, model))
    assert await children_of(database, "austin") == {"places": EXPECTED}
    rejections = figures["rejections"]
    if ill == "one child under two sections":
        assert rejections["child_claimed"] == len(AUSTIN)
    else:
        assert rejections["child_without_evidence"] == len(TORONTO)
    unproven = "SELECT 1 FROM wiki_page_sections s WHERE NOT EXISTS (SELECT 1 FROM wiki_section_sources w"
    assert await fetch(database, f"{unproven} WHERE w.tenant_id = s.tenant_id AND w.section_id = s.section_id)") == []


async def test_list_without_citations_of_a_model_cites_the_memories_that_prove_its_members(
    pools: Pools, database: str, model: RemoteModel, site: ModelServer
) -> None:
    def answer(ask: Ask) -> Behaviour:
        if ask.schema_name != "aggregation_plan":
            return Say(leaf(ask)) if ask.schema_name == "leaf_plan" else Say("Written.")
        plan = hub(ask, AUSTIN)
        lists = [{**one, "source_refs": []} for one in plan["parentSectionUpdates"]]
        return Say({**plan, "parentSectionUpdates": lists})

    site.by_request = answer
    await compiled_with(pools, engine_with(pools, model))
    assert await children_of(database, "austin") == {"places": EXPECTED}
    cited = (
        "SELECT DISTINCT w.source_ref FROM wiki_section_sources w JOIN wiki_page_sections s USING (tenant_id, section_id)"
        " WHERE s.section_slug = 'places' AND w.subject = 'section'"
    )
    joined = "wiki_section_sources w JOIN wiki_pages p USING (tenant_id, page_id)"
    of_members = f"SELECT DISTINCT w.source_ref FROM {joined} WHERE p.slug = ANY($1)"
    found = {row[0] for row in await fetch(database, cited)}
    assert found
    assert found <= {row[0] for row in await fetch(database, of_members, sorted(EXPECTED))}


async def test_each_signal_of_the_score_is_observed_end_to_end(pools: Pools, database: str) -> None:
    """From metadata to the kept aggregation: pages, records, days and tags; and a long list asks to be read elsewhere."""
    told = []
    for number, one in enumerate(places()):
        tags = ["food", "loud"] if number % 2 else ["food"]
        told.append(replace(one, metadata={**one.metadata, "tags": tags}, occurred_at=NOW - timedelta(days=3 * number)))
    await write_and_compile(pools, told, engine_on(pools))
    (kept,) = await fetch(
        database,
        "SELECT s.aggregation, s.body_md FROM wiki_page_sections s JOIN wiki_pages p USING (tenant_id, page_id)"
        " WHERE p.slug = 'austin' AND s.aggregation IS NOT NULL",
    )
    found = json.loads(kept["aggregation"])
    assert len(found["linked_page_ids"]) == len(AUSTIN)
    assert found["supporting_record_count"] == 2 * len(AUSTIN)
    assert found["first_source_at"] < found["last_source_at"]
    assert found["observed_tags"]
    signals = promotion.Signals(
        linked_pages=len(AUSTIN),
        supporting_records=2 * len(AUSTIN),
        spread_days=21.0,
        tag_overlap=1.0,
        body_chars=len(kept["body_md"]),
    )
    assert found["promotion_score"] == pytest.approx(promotion.score(signals))
    for name in ("linked_pages", "supporting_records", "spread_days", "tag_overlap"):
        without = replace(signals, **{name: 0})
        assert promotion.score(without) < promotion.score(signals), name


async def test_late_answer_makes_the_job_wait(
    pools: Pools,
    model: RemoteModel,
    site: ModelServer,
) -> None:
    gate, clock = Gate(), Clock()
    site.by_request = lambda ask: Late(gate, Say("too late"))
    await write_and_request(pools, journal(6))
    hasty = engine_with(pools, model, costs=Costs(call_deadline_s=2.0), clock=clock)
    await worker_on(pools, hasty).work_once()
    gate.open()
    (job,) = await all_jobs(pools)
    assert (job.status, job.attempt, await wiki_of(pools)) == (JobStatus.PENDING, 0, {})
    assert "ModelTimeout" in job.error
    assert job.metrics.keys() >= KEYS
    async with scoped(pools.background, SCOPE, read_only=True) as connection:
        row = await scopes.read(connection, SCOPE)
    assert row is not None
    assert row.cursor == ""
    site.by_request = script()
    clock.move(hours=1)
    await compiled(pools, engine_with(pools, model, clock=clock))
    (job,) = await all_jobs(pools)
    assert (job.status, job.metrics["records_read"]) == (JobStatus.SUCCEEDED, 6)


async def test_late_answer_for_a_forgotten_memory_is_not_cached(
    pools: Pools,
    database: str,
    model: RemoteModel,
    site: ModelServer,
) -> None:
    """An operator's preview holds no lease: while its model thinks, a worker rebuilds what the memory fed, and lets go of it."""
    gate, clock = Gate(), Clock(NOW + timedelta(minutes=6))
    site.by_request = lambda ask: Late(gate, Say(plan_answers.leaf(newPages=[], pageUpdates=[])))
    await write(pools, journal(4))
    access = PooledAccess(pools.background, SCOPE)
    looking = asyncio.create_task(preview(engine_with(pools, model), access))
    assert await asyncio.to_thread(gate.arrived.wait, 60)
    async with scoped(pools.background, SCOPE) as connection:
        await memories.forget_all(connection, SCOPE, ["m00002"])
        await forgetting.forget(connection, SCOPE, ["m00002"], now=NOW)
    await wish(pools, now=clock())
    await compiled(pools, engine_on(pools, clock=clock))
    gate.open()
    assert (await looking).memory_count == 4
    assert await fetch(database, "SELECT 1 FROM model_answers") == []
    site.by_request = lambda ask: Say(plan_answers.leaf(newPages=[], pageUpdates=[]))
    await write(pools, journal(2, first=4))
    await preview(engine_with(pools, model), access)
    assert len(await fetch(database, "SELECT 1 FROM model_answers")) == 1, "what saw no forgotten memory is kept"


async def test_late_answer_for_a_deleted_tenant_is_not_cached(
    pools: Pools, database: str, model: RemoteModel, site: ModelServer
) -> None:
    """The notes of the deletion outlast it: else the answer would hold words of a tenant of which nothing is left."""
    gate, clock = Gate(), Clock(NOW + timedelta(minutes=6))
    site.by_request = lambda ask: Late(gate, Say(plan_answers.leaf(newPages=[], pageUpdates=[])))
    await write(pools, journal(4))
    looking = asyncio.create_task(preview(engine_with(pools, model), PooledAccess(pools.background, SCOPE)))
    assert await asyncio.to_thread(gate.arrived.wait, 60)
    async with scoped(pools.background, SCOPE) as connection:
        await tenants.revoke_tokens(connection, SCOPE.tenant_id, not_before=NOW - timedelta(minutes=5))
    assert (await Tenants(pools, now=clock).deletion.delete(SCOPE.tenant_id)).is_complete
    gate.open()
    await looking
    assert await fetch(database, "SELECT 1 FROM model_answers") == []


async def test_job_that_fell_back_writes_the_wiki_of_a_job_without_a_model(
    pools: Pools, model: RemoteModel, site: ModelServer
) -> None:
    site.by_request = lambda ask: Say("no")
    told, caps = [*journal(12), *places()], replace(Caps(), max_aggregation_pages=3)
    engine = engine_with(pools, model)
    patience = replace(engine.settings.patience, extractive_takes_over=True)
    settings = replace(engine.settings, patience=patience, caps=caps)
    for scope, one in ((SCOPE, replace(engine, settings=settings)), (HOUSEMATE, engine_on(pools, settings=settings))):
        await write(pools, told, scope=scope)
        await wish(pools, scope=scope)
        await compiled(pools, one, scope=scope)
        (job,) = await all_jobs(pools, scope=scope)
        assert (job.metrics["planner"], job.metrics["cap_hit"]) == ("extractive", "")
        assert (await replay(one, pools.background, scope)).is_identical
    assert await wiki_of(pools) == await wiki_of(pools, scope=HOUSEMATE)


class Failing(ExtractivePlanner):
    """A planner that never gets anywhere."""

    async def plan_leaf(self, batch: LeafBatch) -> Proposed:
        raise OSError("no space left on device")


@pytest.mark.parametrize("ending", ["failed", "skipped", "cancelled", "refused"])
async def test_every_finished_job_has_every_metric(pools: Pools, database: str, ending: str) -> None:
    await write(pools, journal(6))
    options = JobOptions(may_archive_many=True) if ending == "refused" else None
    ticket = await wish(pools, trigger=Trigger.ADMIN, options=options)
    assert ticket.job_id is not None
    clock = Clock()
    engine = engine_on(pools, clock=clock)
    if ending == "failed":
        engine = engine_on(pools, clock=clock, planner=Failing())
    elif ending == "skipped":
        await fetch(database, "UPDATE tenants SET wiki_compile_enabled = false")
    elif ending == "refused":
        engine = engine_on(pools, clock=clock, substrate=OtherListing(pools.background))
    else:
        async with scoped(pools.background, SCOPE) as connection:
            await jobs.cancel(connection, SCOPE, ticket.job_id, now=NOW)
    for _ in range(8):
        await worker_on(pools, engine).drain_scope(SCOPE)
        clock.move(hours=2)
    (job,) = await all_jobs(pools)
    wanted = {"refused": JobStatus.FAILED}.get(ending) or JobStatus(ending)
    assert job.status is wanted
    assert set(compile_messages.job(job).metrics) >= KEYS
    assert job.metrics.keys() >= KEYS or ending == "cancelled", "it never began"
