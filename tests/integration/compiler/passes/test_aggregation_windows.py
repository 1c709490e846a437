"""An aggregation without a model reads whole only the changed pages that can change a hub; the wiki is the same."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from compiler.plan.batch import AggregationView
from compiler.planners.planner import ExtractivePlanner, Proposed
from compiler.settings import CompileSettings, Sight
from store.content.memories import NewMemory
from store.db.postgres import Pools
from store.scope import Scope
from tests.support.compiler.compiling import NOW, Clock, compiled, engine_on, wiki_of, wish, write

PEOPLE = ("Ines Ferro", "Marek Dudek", "Sadia Khan", "Tomas Ruiz", "Yuki Mori", "Olga Petrova", "Ben Okafor")
PLACES = ("Velvet Taco", "Blue Heron Cafe", "Cedar Lodge", "Museo Larco", "Harbor Grill", "Night Owl Bar", "Zilker Inn")
CITIES = ("Austin", "Toronto", "Lisbon")
TAGS = ("bbq", "coffee", "climbing")


@dataclass
class Watching(ExtractivePlanner):
    """Counts the pages that were shown without their texts."""

    outlines: list[int] = field(default_factory=list)

    async def plan_aggregation(self, view: AggregationView) -> Proposed:
        self.outlines.append(sum(not page.sections for page in view.others))
        return await super().plan_aggregation(view)


def travels(count: int) -> list[NewMemory]:
    """Return visits to places of a few cities and journals, some tagged, between meetings that have no metadata."""
    return [_visit(number) if number % 2 else _meeting(number) for number in range(count)]


def _visit(number: int) -> NewMemory:
    place, city = _place(number)
    told: dict[str, Any] = {"place": {"name": place, "city": city, "types": ["restaurant"]}}
    if number % 3 == 0:
        told |= {"journal_id": "j1", "journal_title": "Long Summer", "tags": [TAGS[number % len(TAGS)]]}
    return _memory(number, f"{place} was full on evening {number}. {place} serves soup {number}.", told)


def _place(number: int) -> tuple[str, str]:
    return PLACES[number % len(PLACES)], CITIES[number % len(PLACES) % len(CITIES)]


def _meeting(number: int) -> NewMemory:
    one, other = PEOPLE[number % len(PEOPLE)], PEOPLE[(number * 3 + 1) % len(PEOPLE)]
    return _memory(number, f"{one} and {other} spoke about plan {number}. {one} agreed to item {number}.", {})


def evenings(count: int) -> list[NewMemory]:
    """Return places whose sentences name their city, which the metadata of a few memories does too."""
    return [_evening(number) if number % 3 else _meeting(number) for number in range(count)]


def _evening(number: int) -> NewMemory:
    place, city = _place(number)
    known = {"name": place, "city": city} if number % 5 == 1 else {"name": place}
    return _memory(number, f"{place} took guests on evening {number} in {city}.", {"place": known})


def clubs(count: int) -> list[NewMemory]:
    """Return places without a city that some of their memories tag, and whose later memories do not."""
    return [_club(number) if number % 2 else _meeting(number) for number in range(count)]


def _club(number: int) -> NewMemory:
    place, _ = _place(number)
    told: dict[str, Any] = {"place": {"name": place}}
    if number < 30 or number % 7 == 0:
        told |= {"tags": [TAGS[0], TAGS[number % len(TAGS)]]}
    return _memory(number, f"{place} met on evening {number}. {place} counted {number} members.", told)


def _memory(number: int, text: str, metadata: dict[str, Any]) -> NewMemory:
    return NewMemory(text, f"w{number:05}", NOW - timedelta(hours=2000 - number), metadata=metadata)


@pytest.mark.parametrize("corpus", [travels, evenings, clubs])
async def test_wiki_is_the_one_of_an_aggregation_over_every_changed_page(
    pools: Pools, corpus: Any, is_soak: bool
) -> None:
    entries, rounds = corpus(600 if is_soak else 72), 4
    part, whole = (Scope(UUID(int=tenant), UUID(int=9)) for tenant in (851, 852))
    planner, seeing = Watching(), CompileSettings(sight=Sight(has_outlines=False))
    made: set[str] = set()
    for number in range(rounds):
        clock = Clock(NOW + timedelta(minutes=6 * number))
        new = entries[number * len(entries) // rounds : (number + 1) * len(entries) // rounds]
        edited = [replace(one, text=f"{one.text} Twice.") for one in entries[:2]] if number == 2 else []
        for scope in (part, whole):
            await write(pools, [*new, *edited], scope=scope, now=clock())
            await wish(pools, scope=scope, now=clock())
        await compiled(pools, engine_on(pools, clock=clock, planner=planner), scope=part)
        await compiled(pools, engine_on(pools, clock=clock, settings=seeing), scope=whole)
        wiki = await wiki_of(pools, scope=part)
        assert wiki == await wiki_of(pools, scope=whole)
        made |= {name for name in wiki if name.startswith("page /wiki/topic/")}
    assert any(planner.outlines), "no page was left out"
    assert made, "no hub was made"
