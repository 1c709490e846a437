"""What leads to a hub when its last list ends, what an operator did before, and the hub that returns with its members."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import orjson
import pytest

from compiler.operations import acts, lint
from compiler.operations.replay import replay
from compiler.plan.batch import AggregationView
from compiler.plan.contract import PageKey, PageType
from compiler.plan.edge_types import TypedEdge
from compiler.plan.proposal import ProposedPage, Rollup
from compiler.planners.planner import ExtractivePlanner, Proposed
from store.content.memories import NewMemory
from store.db.postgres import Pools, scoped
from store.wiki import browse
from store.wiki.browse import PageRow
from tests.integration.compiler.passes.test_too_few_memories import rebuilt, told
from tests.support.compiler.compiling import (
    HOUSEMATE,
    NOW,
    SCOPE,
    Clock,
    compiled,
    compiled_in_jobs,
    engine_on,
    wish,
    write,
)
from tests.support.compiler.crashes.crash_world import PLACES

HUB = "page /wiki/topic/tavira"
OTHER = PageKey(PageType.TOPIC, "tavira-journeys")
MEMBERS = ("amber-house", "birch-garden", "cedar-cellar")


def placed(slug: str, city: str, *, said: str = "had a long line at noon") -> list[NewMemory]:
    """Return two memories of a place, whose metadata alone has the city."""
    name, at = slug.replace("-", " ").title(), MEMBERS.index(slug)
    texts = (f"{name} {said}.", f"We walked past {name} on Friday and {name} was closed.")
    told = {"place": {"name": name, "city": city}}
    return [NewMemory(text, f"{slug}-{one}", NOW.replace(hour=at), metadata=told) for one, text in enumerate(texts)]


ENTRIES = [one for slug in MEMBERS for one in placed(slug, "Tavira")]
MOVED = placed("cedar-cellar", "Faro", said="had a short queue")


def links(wiki: dict[str, bytes]) -> set[str]:
    return {name for name in wiki if name.startswith("link ")}


async def row_of(pools: Pools, key_type: str, slug: str) -> PageRow:
    async with scoped(pools.background, SCOPE, read_only=True) as connection:
        row = await browse.page_by_key(connection, SCOPE, key_type, slug)
    assert row is not None
    return row


class Traveller(ExtractivePlanner):
    """Makes a second hub, which lists two members and the first hub."""

    async def plan_aggregation(self, view: AggregationView) -> Proposed:
        found = await super().plan_aggregation(view)
        listed = (*(PageKey(PageType.ENTITY, one) for one in MEMBERS[:2]), PageKey(PageType.TOPIC, "tavira"))
        made = ProposedPage(OTHER.type, "Tavira journeys", slug=OTHER.slug)
        plan = found.proposal
        rollups = (*plan.rollups, Rollup(OTHER, "stops", "Stops", listed))
        return replace(found, proposal=replace(plan, new_pages=(*plan.new_pages, made), rollups=rollups))


async def test_list_with_an_ended_hub_is_rendered_without_it(pools: Pools) -> None:
    clock = Clock()
    await compiled_in_jobs(pools, [ENTRIES], clock)
    await write(pools, placed("amber-house", "Tavira", said="had no line at noon"))
    clock.move(minutes=6)
    await wish(pools, now=clock())
    await compiled(pools, engine_on(pools, planner=Traveller(), clock=clock))
    wiki = await compiled_in_jobs(pools, [MOVED], clock)
    assert HUB not in wiki
    assert b"stops" in wiki[f"page {OTHER.path}"]
    assert b"/wiki/topic/tavira)" not in wiki[f"page {OTHER.path}"]
    async with scoped(pools.background, SCOPE, read_only=True) as connection:
        assert not (await lint.look(connection, SCOPE, now=clock())).counts


async def test_hub_that_an_edge_by_hand_has_stays_without_lists(pools: Pools) -> None:
    clock = Clock()
    await compiled_in_jobs(pools, [ENTRIES], clock)
    ends = (await row_of(pools, "entity", "amber-house"), await row_of(pools, "topic", "tavira"))
    async with scoped(pools.background, SCOPE) as connection:
        await acts.write_edge(connection, SCOPE, ends, TypedEdge("located_in"), now=clock())
    wiki = await compiled_in_jobs(pools, [MOVED], clock)
    assert HUB in wiki
    assert "link /wiki/entity/amber-house reference /wiki/topic/tavira located_in  manual edge:located_in " in wiki
    assert not any("rolled_up" in name for name in wiki)


@pytest.mark.parametrize("is_merged", [False, True], ids=["archived", "merged"])
async def test_log_replays_if_a_hub_ends_because_of_an_operators_act(pools: Pools, is_merged: bool) -> None:
    clock = Clock()
    await compiled_in_jobs(pools, [ENTRIES], clock)
    gone, other = await row_of(pools, "entity", MEMBERS[0]), await row_of(pools, "entity", MEMBERS[1])
    async with scoped(pools.background, SCOPE) as connection:
        if is_merged:
            await acts.merge_pages(connection, SCOPE, gone, other, now=clock())
        else:
            await acts.archive_page(connection, SCOPE, gone, now=clock())
    assert HUB not in await compiled_in_jobs(pools, [[]], clock)
    found = await replay(engine_on(pools), pools.background, SCOPE)
    assert (found.differences, found.unreplayable) == ((), 0)


async def test_hub_made_after_its_members_has_the_edges_of_one_made_with_them(pools: Pools) -> None:
    """Whether its members came in several jobs, or it ended and came back."""
    whole = await compiled_in_jobs(pools, [ENTRIES], Clock(), scope=HOUSEMATE)
    clock = Clock()
    parts = [placed(slug, "Tavira") for slug in MEMBERS]
    assert links(await compiled_in_jobs(pools, parts, clock)) == links(whole)
    assert not links(await compiled_in_jobs(pools, [MOVED], clock))
    assert links(await compiled_in_jobs(pools, [placed("cedar-cellar", "Tavira")], clock)) == links(whole)


async def test_hub_whose_members_all_move_to_another_list_stays(pools: Pools) -> None:
    typed = [
        NewMemory(
            f"{slug.replace('-', ' ').title()} served soup until late.",
            f"{slug}-typed",
            NOW.replace(hour=9 + at),
            metadata={"place": {"name": slug.replace("-", " ").title(), "city": "Tavira", "types": ["restaurant"]}},
        )
        for at, slug in enumerate(MEMBERS)
    ]
    before = await compiled_in_jobs(pools, [ENTRIES], Clock())
    assert HUB in before
    moved = await compiled_in_jobs(pools, [typed], Clock())
    whole = await compiled_in_jobs(pools, [[*ENTRIES, *typed]], Clock(), scope=HOUSEMATE)
    lists = [[one for one in orjson.loads(wiki[HUB])["sections"] if one["children"]] for wiki in (moved, whole)]
    assert [one["slug"] for one in lists[0]] == ["restaurants"]
    assert lists[0] == lists[1]


def meals(city: str, *, kinds: tuple[str, ...] = ("", "restaurant")) -> list[NewMemory]:
    """Return 56 memories of meals at fourteen places, every other of which is a restaurant; of `kinds` alone."""
    every = []
    for at in range(56):
        place, kind = PLACES[at % len(PLACES)], ("", "restaurant")[at % 2]
        metadata = {"place": {"name": place, "city": city, "types": [kind] if kind else []}, "tags": ["meals"]}
        text = f"{place} was full on day {at}, and {place} in {city} had table {at * 7 % 31} for us."
        every.append(NewMemory(text, f"meal-{at:02}", NOW - timedelta(days=90 - at), metadata=metadata))
    return [one for at, one in enumerate(every) if ("", "restaurant")[at % 2] in kinds]


@pytest.mark.parametrize("kinds", [("", "restaurant"), ("",)], ids=["all", "places"])
async def test_promoted_list_whose_members_move_is_no_list_of_the_hub_again(
    pools: Pools, kinds: tuple[str, ...]
) -> None:
    clock = Clock()
    before = await compiled_in_jobs(pools, [meals("Tavira")], clock)
    assert {f"{HUB}-places", f"{HUB}-restaurants"} < before.keys()
    moved = await compiled_in_jobs(pools, [meals("Faro", kinds=kinds)], clock)
    assert f"{HUB}-places" not in moved
    assert (HUB in moved, f"{HUB}-restaurants" in moved) == ((False, False) if len(kinds) == 2 else (True, True))
    sections = orjson.loads(moved[HUB])["sections"] if HUB in moved else []
    assert not any(one["children"] for one in sections)
    assert not any(PLACES[0] in one["body_md"] for one in sections)
    assert told(moved) ^ told(await rebuilt(pools, clock)) == set()
