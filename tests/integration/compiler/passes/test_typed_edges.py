"""Typed edges that memories state: compiled, ended, forgotten, stated by hand, and followed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import permutations
from typing import Any
from unicodedata import normalize

import pytest

from compiler.decay.supersede import SupersessionCause, restore, supersede
from compiler.operations import acts, upkeep
from compiler.operations.replay import replay
from compiler.plan.contract import LinkOrigin
from compiler.plan.edge_types import TypedEdge
from compiler.plan.upkeep import ActRefused
from store.content.memories import NewMemory
from store.content.supersessions import SupersessionReason
from store.content.tiers import AuthorityTier
from store.db.postgres import Pools, scoped
from store.wiki import browse, edges
from store.wiki.browse import PageRow
from store.wiki.edges import Direction, EdgePattern, EdgeTimes, GraphPath
from tests.support.compiler.city_places import places
from tests.support.compiler.compiling import NOW, SCOPE, again, engine_on, forget, wiki_of, write_and_compile

WORK = EdgePattern(("works_at",))
THERE = EdgePattern(("located_in",))


def said(*texts: str, first: int = 0) -> list[NewMemory]:
    """Return memories of these texts, an hour apart, with the people and things that they name."""
    named = {"people": ["Maria Reis", "Tom Ortega"], "organizations": ["Helios Labs", "Tagus Choir"]}
    return [
        NewMemory(
            text,
            f"m-{number}",
            NOW - timedelta(days=100) + timedelta(hours=number),
            metadata={kind: [name for name in names if name in text] for kind, names in named.items()},
        )
        for number, text in enumerate(texts, start=first)
    ]


BASE = (
    "Maria Reis works at Helios Labs since May 2021.",
    "Tom Ortega is an engineer at Helios Labs.",
    "Maria Reis had lunch with Tom Ortega at Helios Labs.",
)


async def page(pools: Pools, slug: str) -> PageRow:
    async with scoped(pools.background, SCOPE) as connection:
        row = await browse.page_by_key(connection, SCOPE, "entity", slug)
    assert row is not None
    return row


async def paths(pools: Pools, slug: str, *steps: EdgePattern, as_of: datetime | None = None) -> list[GraphPath]:
    start = await page(pools, slug)
    async with scoped(pools.background, SCOPE) as connection:
        return list((await edges.walk(connection, SCOPE, start.page_id, steps, when=EdgeTimes(as_of))).paths)


def ends(found: Sequence[GraphPath]) -> list[str]:
    return [path.pages[-1].title for path in found]


async def every_edge(pools: Pools) -> list[tuple[Any, ...]]:
    async with scoped(pools.background, SCOPE) as connection:
        found = (await edges.walk(connection, SCOPE, None, [EdgePattern()])).paths
    return [
        (one.pages[0].slug, one.edges[0].type, one.pages[1].slug, one.edges[0].valid_from, one.edges[0].valid_until,
         one.edges[0].memory_ids)
        for one in found
    ]  # fmt: skip


async def test_stated_edges_are_written_beside_the_untyped_links(pools: Pools) -> None:
    await write_and_compile(pools, said(*BASE), engine_on(pools))
    assert await every_edge(pools) == [
        ("maria-reis", "works_at", "helios-labs", datetime(2021, 5, 1, tzinfo=UTC), None, ("m-0",)),
        ("tom-ortega", "works_at", "helios-labs", None, None, ("m-1",)),
    ]
    wiki = await wiki_of(pools)
    assert any("co_mention" in name for name in wiki if name.startswith("link "))
    assert (await replay(engine_on(pools), pools.background, SCOPE)).differences == ()


async def test_backfill_finds_the_edges_of_texts_with_accents_stored_apart(pools: Pools) -> None:
    """A name is compared letter by letter, as in a compile: a mark after its letter counts as one with it."""
    texts = ("Zoë Müller works at Café Helios since May 2021.", "Zoë Müller likes the view from Café Helios.")
    named = {"people": ["Zoë Müller"], "organizations": ["Café Helios"]}
    memories = [NewMemory(normalize("NFD", text), f"m-{at}", NOW, metadata=named) for at, text in enumerate(texts)]
    await write_and_compile(pools, memories, engine_on(pools))
    stated = await every_edge(pools)
    assert [edge[1] for edge in stated] == ["works_at"]
    async with scoped(pools.background, SCOPE) as connection:
        await upkeep.rollback(connection, SCOPE, origin=LinkOrigin.DETERMINISTIC, prefix="deterministic:edge:", now=NOW)
    assert await every_edge(pools) == []
    async with scoped(pools.background, SCOPE) as connection:
        await upkeep.backfill(connection, SCOPE, now=NOW)
    assert await every_edge(pools) == stated


async def test_place_of_a_memory_lies_in_its_city(pools: Pools) -> None:
    await write_and_compile(pools, places(), engine_on(pools))
    assert ends(await paths(pools, "casa-lola", THERE)) == ["Austin"]


async def test_past_statement_ends_the_edge_and_a_later_one_reopens_it(pools: Pools) -> None:
    await write_and_compile(pools, said("Tom Ortega is an engineer at Helios Labs.", *BASE[2:]), engine_on(pools))
    (open_edge,) = await paths(pools, "tom-ortega", WORK)
    assert open_edge.edges[0].valid_until is None
    await write_and_compile(pools, said("Tom Ortega used to work at Helios Labs.", first=10), engine_on(pools))
    (ended,) = await paths(pools, "tom-ortega", WORK)
    left = ended.edges[0].valid_until
    assert left == NOW - timedelta(days=100) + timedelta(hours=10)
    assert await paths(pools, "tom-ortega", WORK, as_of=left) == []
    assert ends(await paths(pools, "tom-ortega", WORK, as_of=left - timedelta(hours=1))) == ["Helios Labs"]
    await forget(pools, "m-10")
    await again(pools)
    (resumed,) = await paths(pools, "tom-ortega", WORK)
    assert resumed.edges[0].valid_until is None


async def test_forgetting_a_memory_deletes_its_edge(pools: Pools) -> None:
    await write_and_compile(pools, said(*BASE), engine_on(pools))
    await forget(pools, "m-0")
    await again(pools)
    assert [one[:3] for one in await every_edge(pools)] == [("tom-ortega", "works_at", "helios-labs")]


@pytest.mark.parametrize("order", list(permutations(range(3)))[1::2], ids=str)
async def test_edges_do_not_depend_on_the_order_of_arrival(pools: Pools, order: tuple[int, ...]) -> None:
    memories = said(*BASE)
    for place in order:
        await write_and_compile(pools, [memories[place]], engine_on(pools))
    assert [(*one[:3], one[5]) for one in await every_edge(pools)] == [
        ("maria-reis", "works_at", "helios-labs", ("m-0",)),
        ("tom-ortega", "works_at", "helios-labs", ("m-1",)),
    ]


def worked(*steps: str) -> list[NewMemory]:
    """Return memories of where Maria Reis works, an hour apart."""
    named = {"people": ["Maria Reis"], "organizations": ["Helios Labs", "Nordwind"]}
    texts = [*steps, "Maria Reis had lunch at Helios Labs.", "Maria Reis wrote to Helios Labs and Nordwind."]
    return [
        replace(one, metadata={kind: [name for name in names if name in one.text] for kind, names in named.items()})
        for one in said(*texts)
    ]


MOVED = (
    "Maria Reis works at Helios Labs.",
    "Maria Reis works at Nordwind.",
)


async def jobs(pools: Pools, known_at: datetime | None = None) -> list[tuple[str, datetime | None]]:
    start = await page(pools, "maria-reis")
    async with scoped(pools.background, SCOPE) as connection:
        found = (await edges.walk(connection, SCOPE, start.page_id, [WORK], when=EdgeTimes(None, known_at))).paths
    return [(path.pages[-1].title, path.edges[0].valid_until) for path in found]


@pytest.mark.parametrize("order", list(permutations(range(4)))[::5], ids=str)
async def test_later_statement_of_another_object_closes_the_edge(pools: Pools, order: tuple[int, ...]) -> None:
    memories = worked(*MOVED)
    for place in order:
        await write_and_compile(pools, [memories[place]], engine_on(pools))
    assert await jobs(pools) == [("Helios Labs", memories[1].occurred_at), ("Nordwind", None)]
    assert (await replay(engine_on(pools), pools.background, SCOPE)).differences == ()
    await forget(pools, "m-1")
    await again(pools)
    assert await jobs(pools) == [("Helios Labs", None)]


async def test_second_job_closes_nothing(pools: Pools) -> None:
    memories = worked(MOVED[0], "Maria Reis works at Nordwind on weekends.")
    await write_and_compile(pools, memories, engine_on(pools))
    assert await jobs(pools) == [("Helios Labs", None), ("Nordwind", None)]


async def test_change_of_job_in_one_sentence_ends_one_edge_and_begins_another(pools: Pools) -> None:
    memories = worked(MOVED[0], "Maria Reis left Helios Labs to work at Nordwind.")
    await write_and_compile(pools, memories, engine_on(pools))
    assert await jobs(pools) == [("Helios Labs", memories[1].occurred_at), ("Nordwind", None)]


async def test_edge_ends_with_its_superseded_memory_and_returns_with_it(pools: Pools) -> None:
    memories = worked(MOVED[0], "Maria Reis has a new office with a view of Nordwind.")
    await write_and_compile(pools, memories, engine_on(pools))
    assert await jobs(pools) == [("Helios Labs", None)]
    cause = SupersessionCause(SupersessionReason.CONTRADICTED, most_trusted=AuthorityTier.USER)
    later = NOW + timedelta(days=1)
    async with scoped(pools.background, SCOPE) as connection:
        await supersede(connection, SCOPE, "m-1", ["m-0"], cause, now=later)
    closed = [("Helios Labs", memories[1].occurred_at)]
    assert await jobs(pools) == closed
    await again(pools)
    assert await jobs(pools) == closed
    assert (await replay(engine_on(pools), pools.background, SCOPE)).differences == ()
    assert await jobs(pools, later - timedelta(hours=1)) == [("Helios Labs", None)]
    async with scoped(pools.background, SCOPE) as connection:
        await restore(connection, SCOPE, "m-0", now=later + timedelta(hours=1))
    assert await jobs(pools) == [("Helios Labs", None)]
    await again(pools)
    assert await jobs(pools) == [("Helios Labs", None)]


async def test_operator_states_ends_and_deletes_an_edge(pools: Pools) -> None:
    await write_and_compile(pools, said(*BASE), engine_on(pools))
    both = (await page(pools, "maria-reis"), await page(pools, "tom-ortega"))
    async with scoped(pools.background, SCOPE) as connection:
        await acts.write_edge(connection, SCOPE, both, TypedEdge("married_to"), now=NOW)
    (found,) = await paths(pools, "maria-reis", EdgePattern(("married_to",)))
    assert found.edges[0].origins == ("manual",)
    async with scoped(pools.background, SCOPE) as connection:
        await acts.write_edge(connection, SCOPE, both, TypedEdge("married_to", valid_until=NOW), now=NOW)
    (found,) = await paths(pools, "maria-reis", EdgePattern(("married_to",)))
    assert found.edges[0].valid_until == NOW
    async with scoped(pools.background, SCOPE) as connection:
        assert await acts.drop_edge(connection, SCOPE, both, TypedEdge("married_to"), now=NOW)
        assert not await acts.drop_edge(connection, SCOPE, both, TypedEdge("married_to"), now=NOW)
    assert await paths(pools, "maria-reis", EdgePattern(("married_to",))) == []
    async with scoped(pools.background, SCOPE) as connection:
        with pytest.raises(ActRefused, match="not a known type"):
            await acts.write_edge(connection, SCOPE, both, TypedEdge("adores"), now=NOW)
        with pytest.raises(ActRefused, match="the page itself"):
            await acts.write_edge(connection, SCOPE, (both[0], both[0]), TypedEdge("owns"), now=NOW)


async def test_patterns_and_shortest_paths_follow_types_and_directions(pools: Pools) -> None:
    await write_and_compile(pools, said(*BASE), engine_on(pools))
    back = EdgePattern(("works_at",), Direction.IN)
    assert ends(await paths(pools, "maria-reis", WORK, back)) == ["Tom Ortega"]
    assert await paths(pools, "maria-reis", WORK, WORK) == []
    maria, tom = await page(pools, "maria-reis"), await page(pools, "tom-ortega")
    async with scoped(pools.background, SCOPE) as connection:
        any_way = EdgePattern((), Direction.BOTH)
        (found,) = (await edges.shortest(connection, SCOPE, (maria.page_id, tom.page_id), any_way)).paths
    assert [one.title for one in found.pages] == ["Maria Reis", "Helios Labs", "Tom Ortega"]
