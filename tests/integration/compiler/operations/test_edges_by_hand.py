"""Edges stated by operators survive a rebuild, or are reported while a page is missing."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from compiler.operations import acts, lint, upkeep
from compiler.operations.replay import replay
from compiler.operations.upkeep import ResetMode
from compiler.plan.edge_types import TypedEdge
from store.compile import scopes
from store.content.memories import NewMemory
from store.db.postgres import Pools, scoped
from store.wiki import browse, edges, kept_edges
from store.wiki.browse import PageRow
from store.wiki.edges import EdgePattern
from tests.support.compiler.compiling import (
    NOW,
    SCOPE,
    Clock,
    all_jobs,
    compiled,
    engine_on,
    forget,
    wiki_of,
    wish,
    worker_on,
    write,
    write_and_compile,
)

NAMED = {"people": ["Maria Reis", "Tom Ortega"], "organizations": ["Helios Labs", "Tagus Choir"]}
TEXTS = (
    "Maria Reis works at Helios Labs since May 2021.",
    "Tom Ortega is an engineer at Helios Labs.",
    "Maria Reis had lunch with Tom Ortega at Helios Labs.",
    "Maria Reis sang with the Tagus Choir.",
    "Tom Ortega heard the Tagus Choir in Faro.",
)
MAY = datetime(2021, 5, 1, tzinfo=UTC)
SINGS = TypedEdge("member_of", datetime(2019, 1, 1, tzinfo=UTC), datetime(2030, 1, 1, tzinfo=UTC), confidence=0.7)


def said(*texts: str, first: int = 0) -> list[NewMemory]:
    """Return memories of these texts, an hour apart, with the people and things that they name."""
    return [
        NewMemory(
            text,
            f"m-{number}",
            NOW - timedelta(days=100) + timedelta(hours=number),
            metadata={kind: [name for name in names if name in text] for kind, names in NAMED.items()},
        )
        for number, text in enumerate(texts, start=first)
    ]


class Rebuilt:
    """A wiki that is rebuilt from its memories again and again."""

    def __init__(self, pools: Pools) -> None:
        self.pools = pools
        self.clock = Clock()

    async def reset(self, mode: ResetMode = ResetMode.FULL) -> None:
        async with scoped(self.pools.background, SCOPE) as connection:
            await upkeep.reset(connection, SCOPE, mode=mode, now=self.clock())

    async def compile(self) -> dict[str, Any]:
        """Compile what there is to read, and return the last job's metrics."""
        self.clock.move(minutes=6)
        await wish(self.pools, now=self.clock())
        await compiled(self.pools, engine_on(self.pools, clock=self.clock))
        return (await all_jobs(self.pools))[-1].metrics

    async def page(self, slug: str) -> PageRow:
        async with scoped(self.pools.background, SCOPE) as connection:
            row = await browse.page_by_key(connection, SCOPE, "entity", slug)
        assert row is not None
        return row

    async def state(self, source: str, target: str, edge: TypedEdge) -> None:
        ends = (await self.page(source), await self.page(target))
        async with scoped(self.pools.background, SCOPE) as connection:
            await acts.write_edge(connection, SCOPE, ends, edge, now=self.clock())

    async def take_back(self, source: str, target: str, edge: TypedEdge) -> bool:
        ends = (await self.page(source), await self.page(target))
        async with scoped(self.pools.background, SCOPE) as connection:
            return await acts.drop_edge(connection, SCOPE, ends, edge, now=self.clock())

    async def take_back_waiting(self, named: tuple[str, str], edge: TypedEdge) -> bool:
        async with scoped(self.pools.background, SCOPE) as connection:
            return await acts.drop_waiting_edge(connection, SCOPE, named, edge, now=self.clock())

    async def edges(self) -> dict[tuple[str, str, str], tuple[Any, ...]]:
        async with scoped(self.pools.background, SCOPE) as connection:
            found = (await edges.walk(connection, SCOPE, None, [EdgePattern()])).paths
        return {
            (path.pages[0].slug, one.type, path.pages[1].slug): (
                one.valid_from, one.valid_until, dict(one.properties), one.memory_ids, one.origins,
            )
            for path in found
            for one in path.edges
        }  # fmt: skip

    async def waiting(self) -> list[str]:
        async with scoped(self.pools.background, SCOPE) as connection:
            found = await lint.look(connection, SCOPE, now=self.clock())
        return [one.subject for one in found.findings if one.kind == "waiting_edge"]

    async def is_replayed(self) -> bool:
        found = await replay(engine_on(self.pools, clock=self.clock), self.pools.background, SCOPE)
        return (found.differences, found.unreplayable) == ((), 0) and found.is_identical


@pytest.fixture
async def wiki(pools: Pools) -> Rebuilt:
    """A compiled wiki, whose one edge that a memory states with a beginning is closed by hand, beside one stated by hand."""
    made = Rebuilt(pools)
    await write_and_compile(pools, said(*TEXTS), engine_on(pools))
    await made.state("maria-reis", "helios-labs", TypedEdge("works_at", MAY, datetime(2024, 6, 1, tzinfo=UTC)))
    await made.state("maria-reis", "tagus-choir", SINGS)
    return made


STATED = ("maria-reis", "member_of", "tagus-choir")
CLOSED = ("maria-reis", "works_at", "helios-labs")


@pytest.mark.parametrize("mode", list(ResetMode))
async def test_stated_and_closed_edges_survive_rebuilds_with_all_they_say(wiki: Rebuilt, mode: ResetMode) -> None:
    before, links = (
        await wiki.edges(),
        {one: body for one, body in (await wiki_of(wiki.pools)).items() if " edge:" in one},
    )
    assert before[STATED] == (SINGS.valid_from, SINGS.valid_until, {"confidence": 0.7}, (), ("manual",))
    assert before[CLOSED] == (MAY, datetime(2024, 6, 1, tzinfo=UTC), {}, ("m-0",), ("deterministic", "manual"))
    for _ in range(2):
        await wiki.reset(mode)
        metrics = await wiki.compile()
        assert metrics["edges_put_back"] == (2 if mode is ResetMode.FULL else 0)
        assert metrics["edges_waiting"] == 0
        assert await wiki.edges() == before
        assert links.items() <= (await wiki_of(wiki.pools)).items()
        assert await wiki.is_replayed()
    assert (await wiki.compile())["edges_put_back"] == 0


async def test_edge_without_its_page_is_reported_and_restored_with_the_page(wiki: Rebuilt) -> None:
    quiet = said("Maria Reis sang all evening.", "Tom Ortega heard her in Faro.", first=3)
    await write(wiki.pools, quiet)
    await wiki.compile()
    await wiki.reset()
    metrics = await wiki.compile()
    assert (metrics["edges_put_back"], metrics["edges_waiting"]) == (1, 1)
    assert await wiki.waiting() == ["/wiki/entity/maria-reis member_of /wiki/entity/tagus-choir"]
    assert STATED not in await wiki.edges()
    assert await wiki.is_replayed()
    await wiki.reset()
    assert (await wiki.compile())["edges_waiting"] == 1
    await write(wiki.pools, said(*TEXTS[3:], first=10))
    metrics = await wiki.compile()
    assert (metrics["edges_put_back"], metrics["edges_waiting"]) == (1, 0)
    assert (await wiki.edges())[STATED][:3] == (SINGS.valid_from, SINGS.valid_until, {"confidence": 0.7})
    assert await wiki.waiting() == []
    assert await wiki.is_replayed()


@pytest.mark.parametrize("named", ["tagus-choir", "/wiki/entity/tagus-choir", "entity/tagus-choir", "tagus choir"])
async def test_edge_that_waits_is_taken_back(wiki: Rebuilt, named: str) -> None:
    await wiki.reset()
    assert not await wiki.take_back_waiting(("maria-reis", named), replace(SINGS, valid_from=None))
    assert await wiki.take_back_waiting(("maria-reis", named), SINGS)
    assert not await wiki.take_back_waiting(("maria-reis", named), SINGS)
    await wiki.compile()
    found = await wiki.edges()
    assert STATED not in found
    assert found[CLOSED][1] == datetime(2024, 6, 1, tzinfo=UTC)


async def test_edge_taken_back_before_a_rebuild_stays_away(wiki: Rebuilt) -> None:
    assert await wiki.take_back("maria-reis", "tagus-choir", SINGS)
    await wiki.reset()
    await wiki.compile()
    assert STATED not in await wiki.edges()


async def test_later_statement_than_the_kept_one_stays(wiki: Rebuilt) -> None:
    await wiki.reset()
    # A job that is stopped before its end leaves the pages without what was kept.
    engine = engine_on(wiki.pools, clock=wiki.clock)
    wiki.clock.move(minutes=6)
    await wish(wiki.pools, now=wiki.clock())

    def stop(place: str) -> None:
        if place == "edges_put_back":
            raise OSError(place)

    assert not await worker_on(wiki.pools, replace(engine, checkpoint=stop)).drain_scope(SCOPE)
    assert STATED not in await wiki.edges()
    await wiki.state("maria-reis", "tagus-choir", replace(SINGS, confidence=0.4))
    assert await wiki.take_back("maria-reis", "helios-labs", TypedEdge("works_at", MAY))
    assert (await wiki.compile())["edges_put_back"] == 0
    found = await wiki.edges()
    assert found[STATED][2] == {"confidence": 0.4}
    assert found[CLOSED][1] is None
    assert await wiki.is_replayed()


async def test_edges_follow_their_page_into_the_one_it_is_merged_with(wiki: Rebuilt) -> None:
    gone, into = await wiki.page("tagus-choir"), await wiki.page("helios-labs")
    async with scoped(wiki.pools.background, SCOPE) as connection:
        await scopes.lock(connection, SCOPE, now=NOW)
        await acts.rename_page(connection, SCOPE, await wiki.page("maria-reis"), "Maria R.", now=NOW)
        await acts.merge_pages(connection, SCOPE, gone, into, now=NOW)
    moved = ("maria-reis", "member_of", "helios-labs")
    before = (await wiki.edges())[moved]
    for _ in range(2):
        await wiki.reset()
        assert (await wiki.compile())["edges_waiting"] == 0
        assert (await wiki.edges())[moved] == before


@pytest.mark.parametrize(("forgotten", "is_kept"), [(("m-3",), True), (("m-3", "m-4"), False)])
async def test_kept_edge_is_forgotten_with_the_memories_of_one_of_its_pages(
    wiki: Rebuilt, forgotten: tuple[str, ...], is_kept: bool
) -> None:
    await wiki.reset()
    await forget(wiki.pools, *forgotten)
    async with scoped(wiki.pools.background, SCOPE) as connection:
        kept = await kept_edges.listed(connection, SCOPE)
    assert {one.edge_type for one in kept} == ({"works_at", "member_of"} if is_kept else {"works_at"})
    await wiki.compile()
    assert (STATED in await wiki.edges()) is False, "one memory is no page"
    assert len(await wiki.waiting()) == is_kept


async def test_deleting_a_page_by_hand_deletes_its_kept_edges(wiki: Rebuilt) -> None:
    await write(wiki.pools, said("Maria Reis sang all evening.", "Tom Ortega heard her in Faro.", first=3))
    await wiki.reset()
    await wiki.compile()
    assert len(await wiki.waiting()) == 1
    async with scoped(wiki.pools.background, SCOPE) as connection:
        await acts.delete_page(connection, SCOPE, await wiki.page("maria-reis"), now=NOW)
    assert await wiki.waiting() == []


FIRST = (
    "Renee Castellano rowed across the lake to Velmar before breakfast.",
    "The baker of Velmar sells a very dark loaf with seeds.",
    "We saw Renee Castellano paint a red boat.",
)
THEN = (
    "They danced in the rain at Velmar Castle until midnight.",
    "The tower of Velmar Castle is closed for repairs until June.",
)


async def test_page_that_is_folded_into_another_leaves_it_its_edges(pools: Pools) -> None:
    wiki = Rebuilt(pools)
    await write(pools, said(*FIRST))
    await wiki.compile()
    await wiki.state("renee-castellano", "velmar", TypedEdge("located_in"))
    await write(pools, said(*THEN, THEN[0], first=3))
    await wiki.compile()
    assert set(await wiki.edges()) == {("renee-castellano", "located_in", "velmar-castle")}
    await wiki.reset()
    await wiki.compile()
    assert set(await wiki.edges()) == {("renee-castellano", "located_in", "velmar-castle")}
    assert await wiki.is_replayed()
