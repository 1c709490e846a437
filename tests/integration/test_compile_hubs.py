"""Hubs of what several jobs read: plans that caps cut, more pages than one aggregation may see, aggregations put off."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest

from compiler.plan.batch import AggregationView
from compiler.plan.contract import PageType
from compiler.planner import ExtractivePlanner, Proposed
from compiler.replay import replay
from compiler.settings import Costs
from models.remote import RemoteModel
from store.jobs import JobStatus
from store.memories import NewMemory
from store.postgres import Pools
from tests.integration.compiling import (
    HOUSEMATE,
    NOW,
    SCOPE,
    Clock,
    all_jobs,
    capped,
    compiled,
    engine_on,
    fetch,
    wiki_of,
    wish,
    worker_on,
    write,
)
from tests.integration.test_compile_misbehaviour import AUSTIN, TORONTO, hub, leaf, places
from tests.integration.test_compile_models import engine_with, model, script, site  # noqa: F401  # fixtures
from tests.stand_ins.model_script import Ask, Behaviour, Say, Throttle
from tests.stand_ins.model_server import ModelServer


def trip() -> list[NewMemory]:
    """Return memories of places of one journey, all with one tag: their hubs are told by metadata alone."""
    told = {"journal_id": "j1", "journal_title": "Summer trip", "tags": ["bbq"]}
    return [replace(one, metadata={"place": {"name": one.metadata["place"]["name"]}, **told}) for one in places()]


def shape(wiki: dict[str, bytes]) -> set[str]:
    """Return what stands in a wiki, ids of memories aside: its pages and links."""
    return {name for name in wiki if name.startswith(("page ", "link "))}


@pytest.mark.parametrize(
    "caps",
    [
        {"max_new_pages_per_job": 2},
        {"max_new_pages_per_job": 3},
        {"max_new_pages_per_job": 9},
        {"max_new_pages_per_job": 4, "record_page_size": 4},
        {"max_new_pages_per_job": 8, "record_page_size": 6},
    ],
    ids=str,
)
async def test_hubs_are_made_of_what_a_job_read_whichever_caps_cut_it(pools: Pools, caps: dict[str, int]) -> None:
    """Also where the cap of pages is reached among the hubs themselves."""
    page_size = caps.get("record_page_size", 50)
    await write(pools, trip(), scope=HOUSEMATE)
    await wish(pools, scope=HOUSEMATE)
    await compiled(pools, engine_on(pools, settings=capped(record_page_size=page_size)), scope=HOUSEMATE)
    whole = shape(await wiki_of(pools, scope=HOUSEMATE))
    assert {"page /wiki/topic/summer-trip", "page /wiki/topic/bbq"} <= whole
    await write(pools, trip())
    await wish(pools)
    engine = engine_on(pools, settings=capped(**caps))
    await compiled(pools, engine)
    assert len(await all_jobs(pools)) > 1
    assert shape(await wiki_of(pools)) == whole
    found = await replay(engine, pools.background, SCOPE)
    assert (found.differences, found.unreplayable) == ((), 0)


CITIES = ("Lisbon", "Osaka", "Quito")
PLACES = ("Amber", "Birch", "Cedar", "Delta", "Ember", "Fjord")
KINDS = ("House", "Garden", "Cellar")


def town() -> list[NewMemory]:
    """Return two memories of each of six places in three cities, a city after another."""
    return [
        NewMemory(
            f"{name} {kind} in {city} had a long line at door {at}.",
            f"{city}-{name}-{at}".lower(),
            NOW - timedelta(hours=100 * first + 10 * number + at),
            metadata={"place": {"name": f"{name} {kind}", "city": city}},
        )
        for first, (city, kind) in enumerate(zip(CITIES, KINDS, strict=True))
        for number, name in enumerate(PLACES)
        for at in range(2)
    ]


class Counting(ExtractivePlanner):
    """Notes which pages its aggregations were shown that are about things."""

    def __init__(self) -> None:
        super().__init__()
        self.shown: list[set[str]] = []

    async def plan_aggregation(self, view: AggregationView) -> Proposed:
        self.shown.append({page.key.slug for page in view.pages if page.key.type is PageType.ENTITY})
        return await super().plan_aggregation(view)


LISTED = (
    "SELECT c.slug FROM wiki_section_children w JOIN wiki_pages c ON c.page_id = w.child_page_id"
    " WHERE c.type = 'entity' ORDER BY 1"
)


async def test_pages_beyond_what_an_aggregation_may_see_are_the_next_jobs(pools: Pools, database: str) -> None:
    planner = Counting()
    engine = engine_on(pools, planner=planner, settings=capped(max_aggregation_pages=8))
    await write(pools, town())
    await wish(pools)
    await compiled(pools, engine)
    every = {f"{name} {kind}".lower().replace(" ", "-") for kind in KINDS for name in PLACES}
    assert max(map(len, planner.shown)) <= 8
    assert set.union(*planner.shown) == every
    assert {row["slug"] for row in await fetch(database, LISTED)} == every
    found = await all_jobs(pools)
    assert [job.metrics["cap_hit"] for job in found] == ["aggregation_pages"] * (len(found) - 1) + [""]
    assert {job.status for job in found} == {JobStatus.SUCCEEDED}
    again = await replay(engine, pools.background, SCOPE)
    assert (again.differences, again.unreplayable) == ((), 0)


async def test_a_worker_that_dies_behind_an_aggregation_leaves_the_rest_to_the_next_job(
    pools: Pools, database: str
) -> None:
    clock, settings, applied = Clock(), capped(max_aggregation_pages=8), list[str]()

    def dies(at: str) -> None:
        applied.append(at)
        if at == "applied" and "aggregation_planned" in applied:
            applied.clear()
            raise asyncio.CancelledError

    engine = engine_on(pools, clock=clock, settings=settings)
    await write(pools, town())
    await wish(pools)
    assert not await worker_on(pools, replace(engine, checkpoint=dies)).drain_scope(SCOPE)
    clock.move(minutes=2)  # its lease runs out
    assert await worker_on(pools, engine, holder="two").drain_scope(SCOPE)
    assert len(await fetch(database, LISTED)) == len(PLACES) * len(CITIES)


def about_places(ask: Ask) -> Behaviour:
    """Plan pages for the places and the hub of Austin."""
    if ask.schema_name == "leaf_plan":
        return Say(leaf(ask))
    return Say(hub(ask, AUSTIN)) if ask.schema_name == "aggregation_plan" else Say("Written.")


async def test_a_throttled_aggregation_is_done_later(
    pools: Pools,
    model: RemoteModel,  # noqa: F811  # the fixture
    site: ModelServer,  # noqa: F811  # the fixture
) -> None:
    site.by_request = lambda ask: Throttle() if ask.schema_name == "aggregation_plan" else about_places(ask)
    clock = Clock()
    engine = engine_with(pools, model, clock=clock)
    await write(pools, places())
    await wish(pools)
    await worker_on(pools, engine).drain_scope(SCOPE)
    (job,) = await all_jobs(pools)
    assert (job.status, job.attempt) == (JobStatus.PENDING, 0)
    assert job.metrics["pages_created"] == len((*AUSTIN, *TORONTO)), "the leaf work stands"
    site.by_request = about_places
    clock.move(hours=1)
    await compiled(pools, engine)
    (job,) = await all_jobs(pools)
    assert (job.status, job.metrics["aggregation_done"]) == (JobStatus.SUCCEEDED, True)
    assert "page /wiki/topic/austin" in await wiki_of(pools)


async def test_an_aggregation_beyond_a_jobs_ceiling_is_the_next_ones(
    pools: Pools,
    model: RemoteModel,  # noqa: F811  # the fixture
    site: ModelServer,  # noqa: F811  # the fixture
) -> None:
    site.by_request = about_places
    await write(pools, places())
    await wish(pools)
    await compiled(pools, engine_with(pools, model, costs=Costs(per_job_usd=1e-9, call_deadline_s=60.0)))
    found = await all_jobs(pools)
    assert [(job.status, job.metrics["aggregation_error"]) for job in found] == [(JobStatus.SUCCEEDED, "")] * 2
    assert [job.metrics["aggregation_planner_calls"] for job in found] == [0, 1]
    assert "page /wiki/topic/austin" in await wiki_of(pools)
