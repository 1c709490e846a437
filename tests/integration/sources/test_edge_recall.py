"""The wiki source follows typed edges from the pages that a message names, and tells the way."""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import UUID

import pytest

from compiler.plan.edge_types import TypedEdge
from sidecar.context.ports import SourceAnswer, SourceLimits, SourceQuery
from sidecar.services.wiki.edges import PageEdges
from sidecar.sources.wiki import WikiSource
from sidecar.turn.message.reading import read
from store.db.postgres import Pools, scoped
from store.scope import Scope
from store.tenancy import tenants
from store.wiki import pages
from store.wiki.pages import NewPage, NewSection, page_uuid

SCOPE, OTHER_OWNER = Scope(UUID(int=1), UUID(int=11)), Scope(UUID(int=1), UUID(int=12))
NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
LIMITS = SourceLimits(top_k=40, lead_lines=3)
PAGES = {
    "ana-reis": ("Ana Reis", "She has been on the night shift for years."),
    "helios": ("Helios", "The roof needs repair."),
    "porto": ("Porto", "Rain is expected."),
    "nordlicht": ("Nordlicht", "Its lamps were replaced."),
    "bruno": ("Bruno Dias", "He bakes on Sundays."),
}


@pytest.fixture(autouse=True)
async def wiki(pools: Pools) -> None:
    for scope in (SCOPE, OTHER_OWNER):
        async with scoped(pools.background, scope) as connection:
            await tenants.ensure_tenant(connection, scope.tenant_id, now=NOW)
            for slug, (title, text) in PAGES.items():
                page = NewPage("entity", slug, title, text, (NewSection("more", "More", text),), (title,))
                await pages.put_page(connection, scope, page, now=NOW)
    await state(pools, "Ana Reis", "Helios", TypedEdge("works_at", valid_from=day(2022)))
    await state(pools, "Ana Reis", "Nordlicht", TypedEdge("works_at", valid_from=day(2015), valid_until=day(2021)))
    await state(pools, "Helios", "Porto", TypedEdge("located_in"))
    await state(pools, "Bruno Dias", "Ana Reis", TypedEdge("married_to"))


def day(year: int) -> datetime:
    return datetime(year, 1, 1, tzinfo=UTC)


async def state(pools: Pools, source: str, target: str, edge: TypedEdge, *, scope: Scope = SCOPE) -> None:
    await PageEdges(pools, now=lambda: NOW).write(scope, source, target, edge)


async def found(pools: Pools, message: str, *, scope: Scope = SCOPE) -> SourceAnswer:
    reading = read(message, today=NOW.date())
    query = SourceQuery(message, reading.words, "", "", "", "", "", NOW, reading)
    return await WikiSource(pools.turn).find(query, scope, LIMITS)


def ways(answer: SourceAnswer) -> dict[str, str]:
    """Return the way to each page that has one, by title."""
    return {item.header: ref.label for item in answer.items for ref in item.provenance if ref.kind == "path"}


async def test_page_at_the_end_of_an_edge_has_its_path(pools: Pools) -> None:
    answer = await found(pools, "In which city is the company that Ana Reis works for?")
    assert ways(answer)["Porto"] == "Ana Reis → works_at → Helios → located_in → Porto"
    assert ways(answer)["Helios"] == "Ana Reis → works_at → Helios"
    assert answer.candidates is not None
    told = dict(zip(answer.candidates.ids, answer.candidates.walked, strict=True))
    porto = next(item for item in answer.items if item.header == "Porto")
    walked = told[porto.id]
    assert walked is not None
    assert (walked.hops, walked.asked, walked.met, walked.evidence) == (2, 1.0, 1.0, 1)
    assert walked.coverage == 1.0


async def test_path_names_the_pages_that_it_passes(pools: Pools) -> None:
    answer = await found(pools, "In which city is the company that Ana Reis works for?")
    porto = next(item for item in answer.items if item.header == "Porto")
    steps = {ref.ref for ref in porto.provenance if ref.kind == "step"}
    assert steps == {str(page_uuid(SCOPE, "entity", slug)) for slug in ("ana-reis", "helios")}


async def test_edges_are_followed_in_both_directions_and_other_languages(pools: Pools) -> None:
    answer = await found(pools, "Wo arbeitet die Frau von Bruno Dias?")
    assert ways(answer)["Helios"] == "Bruno Dias → married_to → Ana Reis → works_at → Helios"
    answer = await found(pools, "Quem trabalha numa empresa que fica em Porto?")
    assert ways(answer)["Ana Reis"] == "Porto ← located_in ← Helios ← works_at ← Ana Reis"


@pytest.mark.parametrize(
    ("message", "firm"),
    [
        ("Where does Ana Reis work?", "Helios"),
        ("Where did Ana Reis work in 2018?", "Nordlicht"),
        ("Where did Ana Reis work in March 2023?", "Helios"),
    ],
)
async def test_edge_must_have_held_in_the_period_that_the_message_names(pools: Pools, message: str, firm: str) -> None:
    assert {"Helios", "Nordlicht"} & ways(await found(pools, message)).keys() == {firm}


async def test_ended_edges_are_followed_if_the_message_asks_for_the_past(pools: Pools) -> None:
    assert "Nordlicht" in ways(await found(pools, "Where did Ana Reis work before?"))


async def test_no_edge_is_followed_without_a_word_for_its_type(pools: Pools) -> None:
    assert ways(await found(pools, "How is Ana Reis?")) == {}


async def test_name_within_a_longer_name_begins_no_walk(pools: Pools) -> None:
    async with scoped(pools.background, SCOPE) as connection:
        page = NewPage("entity", "reis", "Reis", "A village.", aliases=("Reis",))
        await pages.put_page(connection, SCOPE, page, now=NOW)
    await state(pools, "Reis", "Porto", TypedEdge("located_in"))
    told = ways(await found(pools, "Where is the office of Ana Reis?"))
    assert told
    assert all(way.startswith("Ana Reis") for way in told.values())


async def test_edges_of_another_owner_are_not_followed(pools: Pools) -> None:
    assert ways(await found(pools, "Where does Ana Reis work?", scope=OTHER_OWNER)) == {}
