"""Parent candidates, and the links that need no model."""

from __future__ import annotations

from dataclasses import replace

import pytest

from compiler.plan.batch import ParentCandidate
from compiler.plan.contract import PageKey, PageType, ScoreHubs, Tag, WriteLink
from compiler.plan.judging import links
from compiler.plan.judging.parents import (
    city_in_summary,
    from_memories,
    from_pages,
    from_people,
    merge_candidates,
    names_in_summaries,
    section_of,
)
from tests.support.compiler.plan_cases import at, memory, page, source


def test_cities_journals_and_tags_that_two_memories_share_are_candidates() -> None:
    trip = {"journal_id": "j1", "journal_title": "Portugal Trip 2023"}
    memories = [
        memory("m1", "a", {**at("X", "Lisbon", "food", types=["restaurant"]), **trip}),
        memory("m2", "b", {**at("Y", "Lisbon", "food", types=["restaurant"]), **trip}),
        memory("m3", "c", at("Z", "Porto")),
    ]
    found = [(one.kind, one.slug, one.title, one.section, one.memory_ids) for one in from_memories(memories)]
    assert found == [
        ("city", "lisbon", "Lisbon", "restaurants", ("m1", "m2")),
        ("journal", "portugal-trip-2023", "Portugal Trip 2023", "entries", ("m1", "m2")),
        ("tag", "food", "Food", "related_entities", ("m1", "m2")),
    ]


@pytest.mark.parametrize(
    "metadata",
    [
        {"place_city": "Lisbon"},
        {"city": "Lisbon"},
        {"place": {"address": "R. do Poço dos Negros 103, 1200-336 Lisbon, Portugal"}},
        {"place_address": "R. do Poço dos Negros 103, 1200-336 Lisbon, Portugal"},
    ],
)
def test_city_is_read_from_any_metadata_field(metadata: dict[str, object]) -> None:
    (found,) = from_memories([memory("m1", "a", metadata), memory("m2", "b", metadata)])
    assert (found.kind, found.slug) == ("city", "lisbon")


@pytest.mark.parametrize(
    "metadata", [{"place": 3, "tags": 7, "journal_id": None}, {"place": {"city": ["x"]}, "tags": [1, None]}]
)
def test_metadata_of_another_shape_is_ignored(metadata: dict[str, object]) -> None:
    assert from_memories([memory("m1", "a", metadata), memory("m2", "b", metadata)]) == ()


@pytest.mark.parametrize(
    ("summary", "city"),
    [
        ("Korean restaurant in Toronto.", "Toronto"),
        ("Noodle bar at 99 Queen St W, Toronto, ON M6J 1G1, Canada.", "Toronto"),
        ("A swim near Mexico City, then home.", "Mexico City"),
        ("Bakery in St. Louis.", "St. Louis"),
        ("We met in March.", ""),
        ("Rather good in every way.", ""),
        ("", ""),
    ],
)
def test_city_is_read_from_a_summary(summary: str, city: str) -> None:
    assert city_in_summary(summary) == city


def test_candidates_from_memories_and_from_pages_are_merged() -> None:
    place = page("Daishō", summary="Restaurant in Lisbon.", tags=("restaurant",))
    of_memories = from_memories(
        [
            memory("m1", "a", at("X", "Lisbon", types=["restaurant"])),
            memory("m2", "b", at("X", "Lisbon", types=["restaurant"])),
        ]
    )
    (one,) = merge_candidates(of_memories, from_pages([place]))
    assert (one.pages, one.memory_ids) == ((place.key,), ("m1", "m2"))


def entity(name: str) -> PageKey:
    return PageKey(PageType.ENTITY, name)


LISBON = PageKey(PageType.TOPIC, "lisbon")


def test_a_memorys_pages_link_to_the_hub_of_its_city() -> None:
    told = memory("m1", "a", at("X", "Lisbon"))
    decision = links.emit([told], {"m1": [entity("x"), LISBON]}, {"lisbon": LISBON})
    (link,) = [item for item in decision.items if isinstance(item, WriteLink)]
    assert (link.source, link.target, link.context, link.ref) == (
        entity("x"),
        LISBON,
        "deterministic:city:lisbon",
        "m1",
    )
    assert links.parent_titles([told]) == ("lisbon",)


def test_edges_are_stated_between_the_pages_that_a_memory_names_whether_or_not_they_quote_it() -> None:
    told = memory("m1", "Osklis is located in Lisbon.")
    naming = links.Naming({"m1": [entity("osklis"), LISBON]}, {entity("osklis"): ["Osklis"], LISBON: ["Lisbon"]})
    (link,) = [item for item in links.emit([told], {}, {}, naming=naming).items if isinstance(item, WriteLink)]
    assert link.edge is not None
    assert (link.source, link.edge.type, link.target, link.ref) == (entity("osklis"), "located_in", LISBON, "m1")
    assert links.emit([told], {"m1": [entity("osklis"), LISBON]}, {}).items == ()


def test_funnel_says_why_nothing_was_linked() -> None:
    counters = links.emit([memory("m1", "a", at("X", "Lisbon"))], {"m1": [entity("x")]}, {}).counters
    assert counters == {"deterministic_candidates": 1}


def test_pages_of_one_memory_are_linked_to_each_other_both_ways() -> None:
    pages = [entity(name) for name in "fedcba"]
    decision = links.emit([memory("m1", "a")], {"m1": [*pages, LISBON]}, {})
    found = [(item.source.slug, item.target.slug) for item in decision.items if isinstance(item, WriteLink)]
    assert len(found) == 10
    assert {(b, a) for a, b in found} == set(found)
    assert "lisbon" not in {slug for pair in found for slug in pair}
    assert decision.counters["co_mention_edges"] == 10


def test_links_to_hubs_are_added_and_their_targets_scored() -> None:
    lisbon, nobody = PageKey(PageType.TOPIC, "lisbon"), PageKey(PageType.TOPIC, "nobody")
    fed = {"m1": [PageKey(PageType.ENTITY, "cafe"), PageKey(PageType.ENTITY, "bar")]}
    found = links.to_parents([memory("m1", "a", at("Cafe", "Lisbon"))], fed, {"lisbon": lisbon, "nobody": nobody})
    assert [(one.source.slug, one.target, one.context) for one in found.items if isinstance(one, WriteLink)] == [
        ("bar", lisbon, "deterministic:city:lisbon"),
        ("cafe", lisbon, "deterministic:city:lisbon"),
    ]
    assert found.items[2:] == (ScoreHubs((lisbon,)),)
    assert links.to_parents([memory("m1", "a")], fed, {"lisbon": lisbon}).items == ()


def test_page_order_changes_no_candidate() -> None:
    pages = [page(name, summary=f"{name} is a bar in Lisbon.") for name in ("Amber", "Birch", "Cedar")]
    told = [replace(one, summary_sources=(source(one.key.slug),)) for one in pages]
    (found,) = from_pages(told)
    assert found.memory_ids == ("amber", "birch", "cedar")
    assert from_pages(reversed(told)) == (found,)


def test_person_lists_the_pages_whose_summaries_name_them() -> None:
    odile = page("Odile", summary="Odile repairs clocks.")
    opened = [page(name, summary=f"{name} is what Odile likes best.") for name in ("Rowing", "Baking", "Chess")]
    stranger = page("Velmar", summary="Nobody was at home.")
    (found,) = from_people({odile.key: [*opened, stranger, odile]}, [odile])
    assert (found.kind, found.title, found.pages) == ("person", "Odile", tuple(sorted(one.key for one in opened)))
    assert from_people({odile.key: opened[:2]}, [odile]) == ()
    assert "odile" in names_in_summaries(opened)
    assert "joanna" in names_in_summaries([page("swimming", summary="2026-03-01: joanna: i swim daily.")])


def test_city_lists_as_places_only_pages_tagged_as_places() -> None:
    city = ParentCandidate("city", "lisbon", "Lisbon", "places")
    doctor, cafe, house = (page(name, summary="x in Lisbon.") for name in ("Ines Baptista", "Kristof", "Renee's house"))
    assert section_of(doctor, city) == "people_and_things"
    assert section_of(replace(cafe, tags=(Tag("cafe"), Tag("city:lisbon"))), city) == "coffee"
    assert section_of(replace(house, tags=(Tag("city:lisbon"),)), city) == "places"
    person = ParentCandidate("person", "odile", "Odile", "topics")
    kinds = [replace(doctor, key=PageKey(kind, "x")) for kind in PageType]
    assert {section_of(one, person) for one in kinds} == {"people_and_things", "topics", "decisions"}


def test_tag_of_a_theme_is_titled_as_the_theme() -> None:
    memories = [memory(f"m{at}", "a", {"tags": ["allergy"]}) for at in range(2)]
    assert [(one.slug, one.title) for one in from_memories(memories)] == [("allergy", "Allergies")]
