"""Hubs over several jobs: capped plans, more pages than one aggregation reads, postponed aggregations."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta
from typing import Any

import orjson
import pytest

from compiler.job.compilation import Engine
from compiler.operations import acts
from compiler.operations.replay import replay
from compiler.operations.upkeep import backfill
from compiler.plan.batch import AggregationView
from compiler.plan.contract import PageType
from compiler.planners.planner import ExtractivePlanner, Proposed
from compiler.settings import CompileSettings, Costs
from models.language.remote import RemoteModel
from store.compile.jobs import JobStatus
from store.content.memories import NewMemory
from store.db.postgres import Pools, scoped
from store.wiki import browse
from tests.stand_ins.model_script import Throttle
from tests.stand_ins.model_server import ModelServer
from tests.support.compiler.city_places import AUSTIN, TORONTO, about_places, places, trip
from tests.support.compiler.compiling import (
    HOUSEMATE,
    NOW,
    SCOPE,
    Clock,
    again,
    all_jobs,
    capped,
    compiled,
    compiled_in_jobs,
    engine_on,
    fetch,
    wiki_of,
    wish,
    worker_on,
    write,
    write_and_compile,
    write_and_request,
)
from tests.support.compiler.model_engines import engine_with


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
async def test_hubs_do_not_depend_on_the_caps_that_cut_a_job(pools: Pools, caps: dict[str, int]) -> None:
    """Also where the cap of pages is reached among the hubs themselves."""
    page_size = caps.get("record_page_size", 50)
    await write(pools, trip(), scope=HOUSEMATE)
    await wish(pools, scope=HOUSEMATE)
    await compiled(pools, engine_on(pools, settings=capped(record_page_size=page_size)), scope=HOUSEMATE)
    whole = shape(await wiki_of(pools, scope=HOUSEMATE))
    assert {"page /wiki/topic/summer-trip", "page /wiki/topic/barbecue"} <= whole
    await write_and_request(pools, trip())
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
    """Notes which pages its aggregations were shown that are about things. A paid one has a name like a model's."""

    def __init__(self, *, is_paid: bool) -> None:
        super().__init__()
        self.shown: list[set[str]] = []
        self.is_paid = is_paid

    @property
    def name(self) -> str:
        return "paid" if self.is_paid else super().name

    async def plan_aggregation(self, view: AggregationView) -> Proposed:
        self.shown.append({page.key.slug for page in view.pages if page.key.type is PageType.ENTITY})
        return await super().plan_aggregation(view)


LISTED = (
    "SELECT c.slug FROM wiki_section_children w JOIN wiki_pages c ON c.tenant_id = w.tenant_id AND c.page_id = w.child_page_id"
    " WHERE c.type = 'entity' ORDER BY 1"
)


def looking(pools: Pools, planner: Counting, *, clock: Clock | None = None) -> Engine:
    """Return an engine whose aggregations see eight pages each."""
    settings = capped(**{"max_aggregation_pages" if planner.is_paid else "max_free_aggregation_pages": 8})
    return engine_on(pools, settings=settings, clock=clock, planner=planner)


@pytest.mark.parametrize("is_paid", [True, False], ids=["paid", "free"])
async def test_pages_over_the_limit_are_aggregated_next_or_by_the_next_job(
    pools: Pools, database: str, is_paid: bool
) -> None:
    planner = Counting(is_paid=is_paid)
    engine = looking(pools, planner)
    await write_and_compile(pools, town(), engine)
    every = {f"{name} {kind}".lower().replace(" ", "-") for kind in KINDS for name in PLACES}
    assert max(map(len, planner.shown)) <= 8
    assert set.union(*planner.shown) == every
    assert {row["slug"] for row in await fetch(database, LISTED)} == every
    found = await all_jobs(pools)
    assert len(found) == (len(planner.shown) if is_paid else 1)
    assert [job.metrics["cap_hit"] for job in found] == ["aggregation_pages"] * (len(found) - 1) + [""]
    assert {(job.status, job.metrics["aggregation_done"]) for job in found} == {(JobStatus.SUCCEEDED, True)}
    again = await replay(replace(engine, settings=CompileSettings()), pools.background, SCOPE)
    assert (again.differences, again.unreplayable) == ((), 0)


TOLD = (
    "SELECT f.slug AS leaf, t.slug AS hub, e.ref FROM wiki_link_evidence e JOIN wiki_page_links l USING (tenant_id, link_id)"
    " JOIN wiki_pages f ON f.tenant_id = l.tenant_id AND f.page_id = l.from_page_id"
    " JOIN wiki_pages t ON t.tenant_id = l.tenant_id AND t.page_id = l.to_page_id"
    " WHERE e.origin = 'deterministic' ORDER BY 1, 2, 3"
)


async def test_new_children_of_a_hub_link_it_to_pages_of_earlier_jobs(pools: Pools, database: str) -> None:
    """Of two pages that the first job made, one becomes a child as the second makes the hub, one joins with the third."""
    told = {"journal_id": "j1", "journal_title": "Summer trip"}
    noted = [
        replace(
            one,
            text=one.text.replace(" in Lisbon", ""),
            metadata={"place": {"name": one.metadata["place"]["name"]}, **told},
        )
        for one in town()[:8]
    ]
    amber, birch, cedar, delta = (noted[at : at + 2] for at in (0, 2, 4, 6))
    later = [replace(one, memory_id=f"{one.memory_id}-2", text=f"Again {one.text}") for one in (amber[0], *delta)]
    clock = Clock()
    engine = engine_on(pools, clock=clock)
    for some in ([*amber, *delta], [later[0], *birch, *cedar], later[1:]):
        await write(pools, some, now=clock())
        await wish(pools, now=clock())
        await compiled(pools, engine)
        clock.move(minutes=6)
    written = {(row["leaf"], row["hub"], row["ref"]) for row in await fetch(database, TOLD)}
    every = [*amber, *birch, *cedar, *delta, *later]
    assert written == {(f"{one.memory_id.split('-')[1]}-house", "summer-trip", one.memory_id) for one in every}
    async with scoped(pools.background, SCOPE) as connection:
        filled = await backfill(connection, SCOPE, now=clock())
    assert (filled.memories, filled.deterministic) == (len(every), 0), "nothing is left to a backfill"
    found = await replay(engine, pools.background, SCOPE)
    assert (found.differences, found.unreplayable) == ((), 0)


SCORES = (
    "SELECT p.slug, p.hubness_score AS score, p.type,"
    " (SELECT count(*) FROM wiki_page_links l WHERE l.tenant_id = p.tenant_id AND l.to_page_id = p.page_id"
    " AND l.kind = 'reference' AND l.edge_type = '') AS links,"
    " (SELECT count(*) FROM wiki_pages c WHERE c.tenant_id = p.tenant_id AND c.parent_page_id = p.page_id) AS children,"
    " ARRAY(SELECT (s.aggregation ->> 'supporting_record_count')::int FROM wiki_page_sections s"
    " WHERE s.tenant_id = p.tenant_id AND s.page_id = p.page_id AND s.aggregation IS NOT NULL) AS records FROM wiki_pages p"
)


async def test_score_counts_the_links_of_its_own_job(pools: Pools, database: str) -> None:
    """Also links of a page that is on no list of the hub, and tens of records, never begun ones."""
    lisbon = [one for one in town() if one.memory_id.startswith("lisbon-")]
    more = [replace(one, memory_id=f"{one.memory_id}-2", text=f"Again {one.text}") for one in lisbon[::2]]
    guest = [
        NewMemory(f"Renee Castellano {said} that day.", f"renee-{said}", NOW, metadata={"place": {"city": "Lisbon"}})
        for said in ("danced", "slept")
    ]
    await write_and_request(pools, [*town(), *more, *guest])
    engine = engine_on(pools)
    await compiled(pools, engine)
    found = await fetch(database, SCORES)
    assert len([row for row in found if row["type"] == "topic" and row["score"] >= len(PLACES)]) == len(CITIES)
    for row in found:
        mean = sum(row["records"]) // (10 * len(row["records"])) if row["records"] else 0
        assert row["score"] == row["links"] + 2 * row["children"] + mean, row["slug"]
    assert any(18 <= sum(row["records"]) < 20 for row in found), "records have a share in a score"
    assert (await replay(engine, pools.background, SCOPE)).is_identical


async def test_scores_stay_true_after_an_operators_act(pools: Pools, database: str) -> None:
    await write_and_request(pools, town())
    engine = engine_on(pools)
    await compiled(pools, engine)
    before = {row["slug"]: row["score"] for row in await fetch(database, SCORES) if row["type"] == "entity"}
    for act, at in ((acts.archive_page, 0), (acts.delete_page, 1)):
        async with scoped(pools.background, SCOPE) as connection:
            row = await browse.page_by_key(connection, SCOPE, "entity", sorted(before)[at])
            assert row is not None
            await act(connection, SCOPE, row, now=NOW)
    gone = await fetch(database, "SELECT page_id FROM wiki_pages WHERE status = 'archived'")
    assert len(gone) == 1
    for row in await fetch(database, SCORES):
        inbound = await fetch(
            database,
            "SELECT count(*) FROM wiki_page_links l JOIN wiki_pages f"
            " ON f.tenant_id = l.tenant_id AND f.page_id = l.from_page_id JOIN wiki_pages t"
            " ON t.tenant_id = l.tenant_id AND t.page_id = l.to_page_id WHERE f.status = 'active' AND l.edge_type = ''"
            " AND l.kind = 'reference' AND t.type = $1 AND t.slug = $2",
            row["type"],
            row["slug"],
        )
        mean = sum(row["records"]) // (10 * len(row["records"])) if row["records"] else 0
        assert row["slug"] == min(before) or row["score"] == inbound[0][0] + 2 * row["children"] + mean, row["slug"]
    assert (await replay(engine, pools.background, SCOPE)).is_identical


@pytest.mark.parametrize("is_paid", [True, False], ids=["paid", "free"])
async def test_worker_that_dies_after_an_aggregation_leaves_the_rest_to_the_next(
    pools: Pools, database: str, is_paid: bool
) -> None:
    clock, applied = Clock(), list[str]()

    def dies(at: str) -> None:
        applied.append(at)
        if at == "applied" and "aggregation_planned" in applied:
            applied.clear()
            raise asyncio.CancelledError

    planner = Counting(is_paid=is_paid)
    engine = looking(pools, planner, clock=clock)
    await write_and_request(pools, town())
    assert not await worker_on(pools, replace(engine, checkpoint=dies)).drain_scope(SCOPE)
    assert len(planner.shown) == 1
    clock.move(minutes=2)  # its lease runs out
    assert await worker_on(pools, engine, holder="two").drain_scope(SCOPE)
    assert len(set.union(*planner.shown)) == len(PLACES) * len(CITIES)
    assert len(await fetch(database, LISTED)) == len(PLACES) * len(CITIES)


async def test_throttled_aggregation_is_done_later(
    pools: Pools,
    model: RemoteModel,
    site: ModelServer,
) -> None:
    site.by_request = lambda ask: Throttle() if ask.schema_name == "aggregation_plan" else about_places(ask)
    clock = Clock()
    engine = engine_with(pools, model, clock=clock)
    await write_and_request(pools, places())
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


async def test_aggregation_above_the_cost_ceiling_is_left_to_the_next_job(
    pools: Pools,
    model: RemoteModel,
    site: ModelServer,
) -> None:
    site.by_request = about_places
    await write_and_compile(
        pools, places(), engine_with(pools, model, costs=Costs(per_job_usd=1e-9, call_deadline_s=60.0))
    )
    found = await all_jobs(pools)
    assert [(job.status, job.metrics["aggregation_error"]) for job in found] == [(JobStatus.SUCCEEDED, "")] * 2
    assert [job.metrics["aggregation_planner_calls"] for job in found] == [0, 1]
    assert "page /wiki/topic/austin" in await wiki_of(pools)


def orchard() -> list[NewMemory]:
    """Return two memories of each of five places in one city, first all places once; three are tagged with a theme."""
    return [
        NewMemory(
            f"{name} House had a long line at door {at}.",
            f"{at}-{name}".lower(),
            NOW - timedelta(hours=100 - 10 * at - number),
            metadata={"place": {"name": f"{name} House", "city": "Tavira"}, "tags": ["pottery"] if number < 3 else []},
        )
        for at in range(2)
        for number, name in enumerate(PLACES[:5])
    ]


def lists(wiki: dict[str, bytes]) -> dict[tuple[str, str], tuple[list[Any], list[Any]]]:
    """Return the children and the cited memories of each list in a wiki."""
    found = {}
    for name, body in wiki.items():
        page = orjson.loads(body) if name.startswith("page ") else {"sections": ()}
        for one in page["sections"]:
            if one["aggregation"] is not None:
                found[name, one["slug"]] = (one["children"], sorted(source["memory_id"] for source in one["sources"]))
    return found


async def test_hubs_list_and_cite_the_same_in_one_job_and_in_many(pools: Pools) -> None:
    await write(pools, orchard(), scope=HOUSEMATE)
    await wish(pools, scope=HOUSEMATE)
    await compiled(pools, engine_on(pools), scope=HOUSEMATE)
    whole = lists(await wiki_of(pools, scope=HOUSEMATE))
    cited = {name: len(memories) for (name, _), (_, memories) in whole.items()}
    assert cited == {"page /wiki/topic/tavira": 10, "page /wiki/topic/pottery": 6}
    for at, entry in enumerate(orchard()):
        await write(pools, [entry])
        await again(pools, minutes=10 * at + 10)
    assert lists(await wiki_of(pools)) == whole


async def test_a_hub_that_is_made_before_its_names_page_has_what_was_said_of_it_before(pools: Pools) -> None:
    """A name of one memory is held; the hub of that name takes the sentence once the name is read again."""
    said = (
        NewMemory("The ferry to Tavira leaves at noon from the old pier.", "early", NOW - timedelta(hours=200)),
        *orchard(),
        NewMemory("The market of Tavira sells figs and almonds in May.", "late", NOW - timedelta(hours=2)),
    )
    for at, entry in enumerate(said):
        await write(pools, [entry])
        await again(pools, minutes=10 * at + 10)
    page = orjson.loads((await wiki_of(pools))["page /wiki/topic/tavira"])
    assert {"early", "late"} <= {one["memory_id"] for section in page["sections"] for one in section["sources"]}


async def test_links_to_a_hub_do_not_depend_on_when_it_was_made(pools: Pools) -> None:
    """A person was met in the city, at places without a page, before it had a hub."""
    met = ("Odile drank tea at the pier.", "Odile sold a painting at the fair.")
    earlier = [
        NewMemory(
            text,
            f"met{at}",
            NOW - timedelta(days=9 - at),
            metadata={"place": {"name": f"Stall {at}", "city": "Tavira"}},
        )
        for at, text in enumerate(met)
    ]
    whole = await compiled_in_jobs(pools, [[*earlier, *orchard()]], Clock(), scope=HOUSEMATE)
    split = await compiled_in_jobs(pools, [earlier, orchard()], Clock())
    wanted = "link /wiki/entity/odile reference /wiki/topic/tavira deterministic deterministic:city:tavira met0"
    assert wanted in whole
    assert {one for one in split if one.startswith("link ")} == {one for one in whole if one.startswith("link ")}
    assert (await replay(engine_on(pools), pools.background, SCOPE)).is_identical
    async with scoped(pools.background, SCOPE) as connection:
        done = await backfill(connection, SCOPE, now=NOW)
    assert (done.deterministic, done.co_mention) == (0, 0)


async def test_decisions_of_a_year_are_listed_on_one_page_whatever_jobs_they_come_in(pools: Pools) -> None:
    texts = (
        "We decided to rent the smaller boat for the summer.",
        "I'll go with the green tiles for the hallway.",
        "We decided to repaint the old kitchen door in June.",
    )
    entries = [NewMemory(text, f"m{at}", NOW - timedelta(hours=9 - at)) for at, text in enumerate(texts)]
    entries.append(NewMemory("We decided to sell the old boat trailer.", "old", NOW - timedelta(days=800)))
    for minutes, entry in enumerate(entries):
        await write(pools, [entry])
        await again(pools, minutes=10 * minutes + 10)
    async with scoped(pools.background, SCOPE, read_only=True) as connection:
        row = await browse.page_by_key(connection, SCOPE, "topic", f"decisions-in-{NOW:%Y}")
        assert row is not None
        (section,) = (await browse.whole(connection, SCOPE, row)).sections
    assert section.body_md.count("\n") == 2
    assert "trailer" not in section.body_md
