"""Whether a proposed name is a known page: keys, short forms, typing errors, cities."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import pytest

from compiler.plan.contract import Alias, Page, PageType
from compiler.plan.names import spelling
from compiler.plan.names.collecting import subjects
from compiler.plan.names.merge import SIMILARITY, Match, Matches, Resolution, Way, merger, names
from compiler.plan.places.gazetteer import NO_PLACES, Gazetteer
from compiler.plan.proposal import Proposal, ProposedPage, ProposedSection
from compiler.plan.text.markdown import alias_key
from tests.support.compiler.plan_cases import batch, memory, page


class Atlas:
    """Knows two cities called Portland, and Lisbon by two names."""

    def city(self, key: str, qualifier: str = "") -> int:
        if key == "portland":
            return {"": 1, "or": 1, "me": 2}.get(qualifier, 0)
        return 3 if key in {"lisbon", "lisboa"} and qualifier in {"", "portugal"} else 0

    def names(self, city: int) -> Collection[str]:
        return {1: ("portland",), 2: ("portland",), 3: ("lisbon", "lisboa")}.get(city, ())

    def is_known_city(self, key: str) -> bool:
        return key in {"portland", "lisbon"}

    def is_region(self, key: str) -> bool:
        return key in {"or", "me", "portugal"}


def resolved(
    title: str,
    *pages: Page,
    similarity: float = 0.0,
    city: str = "",
    places: Gazetteer = NO_PLACES,
    kind: PageType = PageType.ENTITY,
    said: str = "",
) -> Resolution | None:
    """Return what becomes of a title among the pages, looked up as the store does it."""
    proposed = ProposedPage(kind, title, city=city, sections=(ProposedSection("overview", "Overview", said),))
    wanted = names(Proposal(new_pages=(proposed,)), gazetteer=places)
    found = []
    for one in pages:
        for alias in one.aliases:
            found += [Match(key, Way.EXACT, alias.key, one.key) for key in wanted.keys if key == alias.key]
            found += [
                Match(key, Way.PREFIX, alias.key, one.key) for key in wanted.prefixes if alias.key.startswith(f"{key} ")
            ]
            if similarity:
                found += [Match(key, Way.SIMILAR, alias.key, one.key, similarity) for _, key in wanted.similar]
    return merger(Matches(tuple(found), pages), gazetteer=places).resolve(proposed)


def way(found: Resolution | None) -> str:
    return found.way if found else ""


@pytest.mark.parametrize(
    ("title", "known", "expected"),
    [
        ("uchi", "Uchi", "exact"),
        ("Chef Joao", "Chef João", "exact"),
        ("St Regis", "St. Regis", "exact"),
        ("Paris, France", "Paris", "derived"),
        ("The Uchi", "Uchi", "derived"),
        ("Uchi", "The Uchi", "derived"),
        ("Toy Story Four", "Toy Story 4", "derived"),
        ("Bourbon Steak", "Bourbon Steak Restaurant", "derived"),
        ("Springhill Suites Fresno", "Springhill Suites By Marriott Fresno", "derived"),
        ("Restaurant", "Restaurant Uchi", ""),
        ("Bourbon Steak Restaurant", "Bourbon Steak", ""),
        ("Movie at Century", "Movie at Century 16", ""),
        ("Berlin, April 2026", "Berlin", ""),
        ("4812 Main", "4812 Main Street", ""),
        ("Maria", "Marta", ""),
    ],
)
def test_page_is_matched_in_the_way_that_fits_its_name(title: str, known: str, expected: str) -> None:
    assert way(resolved(title, page(known))) == expected


def test_name_that_several_bear_is_not_the_page_of_one_of_them() -> None:
    assert resolved("Lark", page("Lark Creek"), said="Lark came at noon.") is not None
    assert resolved("Lark", page("Lark Creek"), said="There is another Lark on the team.") is None


def test_short_name_of_two_pages_matches_neither() -> None:
    assert resolved("Lark", page("Lark Creek Inn"), page("Lark Song Hall")) is None


def test_short_name_prefers_the_page_that_only_adds_its_type() -> None:
    found = resolved("Celia's", page("Celia's Mexican Restaurant"), page("Celia's By The Beach"))
    assert found is not None
    assert found.page.slug == "celias-mexican-restaurant"


@pytest.mark.parametrize(
    ("title", "known", "similarity", "expected"),
    [
        ("Momofuku Daisho", "Momofuku Daishi", SIMILARITY, "fuzzy"),
        ("Momofuku Daisho", "Momofuku Daishi", 0.84, ""),
        ("Mets Vs Braves", "Mets Vs Brewers", 0.9, ""),
        ("Terminal 1 Lisbon Airport", "Terminal 2 Lisbon Airport", 0.9, ""),
    ],
)
def test_fuzzy_match_merges_only_typing_errors(title: str, known: str, similarity: float, expected: str) -> None:
    assert way(resolved(title, page(known), similarity=similarity)) == expected


def test_fuzzy_match_never_crosses_types() -> None:
    assert resolved("Momofuku Daisho", page("Momofuku Daishi"), similarity=0.95, kind=PageType.TOPIC) is None


def test_namesakes_in_two_cities_are_two_pages() -> None:
    there = page("Blue Bottle", tags=("city:lisbon",))
    assert way(resolved("Blue Bottle", there, city="Lisbon")) == "exact"
    assert resolved("Blue Bottle", there, city="Oakland") is None
    assert way(resolved("Blue Bottle", there)) == "exact"


@pytest.mark.parametrize(
    ("title", "expected"),
    [("Portland, OR", "derived"), ("Portland OR", "derived"), ("Portland, ME", ""), ("Portland ME", "")],
)
def test_region_distinguishes_cities_of_one_name(title: str, expected: str) -> None:
    assert way(resolved(title, page("Portland"), places=Atlas())) == expected


def test_city_is_found_under_its_other_names_but_places_named_after_it_are_not() -> None:
    assert way(resolved("Lisboa", page("Lisbon"), places=Atlas())) == "derived"
    assert resolved("Lisbon", page("Lisbon Bakery"), places=Atlas()) is None


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("tamarine", "tamrine", True),
        ("restaurant", "restuarant", True),
        ("unit 12", "unit 13", False),
        ("maria", "mario", True),
        ("ana", "ane", False),
        ("bluebottle", "blue bottle", True),
    ],
)
def test_typing_errors_are_matched_by_their_letters(one: str, other: str, expected: bool) -> None:
    assert spelling.is_misspelled(one, other) is expected


def bearing(one: Page, *names: str) -> Page:
    """Return the page with more names than its title."""
    return replace(one, aliases=(*one.aliases, *(Alias(alias_key(name), name, "manual") for name in names)))


def test_name_of_several_pages_belongs_to_the_page_with_that_title() -> None:
    former, titled = bearing(page("Aqua Bar"), "Uchi"), page("Uchi")
    found = resolved("Uchi", former, titled)
    assert found == Resolution(titled.key, "exact")
    merging = merger(Matches(), (former, titled))
    assert merging.page_of("uchi") == titled.key


def test_name_that_is_no_pages_title_belongs_to_none() -> None:
    one, other = bearing(page("Aqua Bar"), "Uchi"), bearing(page("Birch Bar"), "Uchi")
    assert resolved("Uchi", one, other) is None
    assert merger(Matches(), (one, other)).page_of("uchi") is None


def test_memory_is_about_the_page_whose_title_it_names() -> None:
    former, titled = bearing(page("Aqua Bar"), "Uchi"), page("Uchi")
    (found,) = subjects(batch(memory("m1", "Dinner at Uchi was long."), pages=(former, titled)))
    assert found.page == titled
