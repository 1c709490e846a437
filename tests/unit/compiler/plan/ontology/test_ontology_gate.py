"""The gate of an ontology: a page's type, its sections' order, and the edges that stand."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest

from compiler.plan.contract import Page, PageType, Tag
from compiler.plan.ontology import edges, shapes
from compiler.plan.ontology.page_types import UNTYPED, HeldReason, PageTyping, type_tag, typing_of
from compiler.plan.vocabulary import Vocabulary, vocabulary
from store.ontology.terms import Cardinality, EntityType, FacetTemplate, Lifecycle, Ontology, RelationshipType
from tests.support.compiler.plan_cases import page, section, source

TYPES = (
    EntityType("person", "Person", aliases=("persona",)),
    EntityType("place", "Place"),
    EntityType("restaurant", "Restaurant", broad_type="place", aliases=("diner", "trattoria")),
    EntityType("bistro", "Bistro", broad_type="restaurant"),
    EntityType("organisation", "Organisation", aliases=("company",)),
    EntityType("vessel", "Vessel", lifecycle=Lifecycle.DEPRECATED),
)
RELATIONS = (
    RelationshipType("works_at", "works at", "employs", ("person",), ("organisation",)),
    RelationshipType("dined_at", "dined at", source_types=("person",), target_types=("place",), aliases=("ate at",)),
    RelationshipType("berthed_in", "berthed in", lifecycle=Lifecycle.DEPRECATED),
)
FACETS = (
    FacetTemplate("place", "overview", "At a glance", 5),
    FacetTemplate("place", "visits", "Visits", 1),
    FacetTemplate("restaurant", "dishes", "What to order", 1),
    FacetTemplate("restaurant", "prices", "Prices", 0, lifecycle=Lifecycle.DEPRECATED),
)
KNOWN = vocabulary(Ontology(3, TYPES, RELATIONS, FACETS))


def held(name: str, reason: HeldReason = HeldReason.NOT_APPROVED) -> PageTyping:
    return PageTyping("", name, reason)


def placed(title: str, summary: str = "", *tags: str) -> Page:
    return page(title, summary=summary, tags=("city:graz", *tags))


CASES = [
    (page("Harbour House"), UNTYPED),
    (placed("Harbour House"), PageTyping("place")),
    (placed("Harbour House", "Trattoria in Graz."), PageTyping("restaurant")),
    (placed("Harbour House", "Place in Graz."), PageTyping("place")),
    (placed("Harbour House", "Wine bar in Graz."), PageTyping("place")),
    (page("Harbour House", summary="Harbour House is a small family diner near the pier."), PageTyping("restaurant")),
    (page("Harbour House", summary="2026-03-01: Harbour House is a small diner."), PageTyping("restaurant")),
    (page("Harbour House", summary="The harbour house is a restaurant."), UNTYPED),
    (page("Harbour House", summary="Dinner was a restaurant affair."), UNTYPED),
    (page("Ada Lund", section("- Ada Lund: I like rain", "a")), PageTyping("person")),
    (page("Ada Lund", section("- likes rain", "a", name="preferences")), PageTyping("person")),
    (page("Mistral", tags=["type:vessel"]), held("vessel", HeldReason.DEPRECATED)),
    (page("Mistral", tags=["type:ice breaker"]), held("ice_breaker")),
    (page("Mistral", summary="Mistral is a vessel."), held("vessel", HeldReason.DEPRECATED)),
    (page("Mistral", summary="Mistral is a cold wind."), UNTYPED),
    (page("Rain", kind=PageType.TOPIC, tags=["city:graz", "restaurant"]), UNTYPED),
    (page("Rain", kind=PageType.TOPIC, tags=["type:place"]), PageTyping("place")),
    (page("To sell the boat", kind=PageType.DECISION), UNTYPED),
]


@pytest.mark.parametrize(("given", "expected"), CASES)
def test_type_follows_the_first_signal_that_means_an_approved_type(given: Page, expected: PageTyping) -> None:
    assert typing_of(given, KNOWN) == expected


def test_place_without_an_approved_type_is_held() -> None:
    other = vocabulary(Ontology(1, TYPES[:1]))
    assert typing_of(placed("Harbour House"), other) == held("place")
    assert typing_of(placed("Harbour House", "Wine bar in Graz."), other) == held("wine_bar")
    assert typing_of(page("Harbour House", summary="Harbour House is a diner."), other) == UNTYPED


def test_tenant_rolled_back_to_no_ontology_holds_only_typed_pages() -> None:
    empty = vocabulary(Ontology(2))
    assert typing_of(placed("Harbour House"), empty) == UNTYPED
    assert typing_of(placed("Harbour House"), empty, PageTyping("place")) == held("place", HeldReason.WITHDRAWN)


def test_plain_tag_counts_if_half_of_the_memories_prove_it_and_it_fits_the_structure() -> None:
    told = placed("Harbour House")
    body = replace(section("- Quiet.", "a", "b", "c"))
    seldom = replace(told, sections=(body,), tags=(*told.tags, Tag("restaurant", (source("a"),))))
    often = replace(told, sections=(body,), tags=(*told.tags, Tag("restaurant", (source("a"), source("b")))))
    other = replace(told, tags=(*told.tags, Tag("company", (source("t"),))))
    assert [typing_of(one, KNOWN).slug for one in (seldom, often, other)] == ["place", "restaurant", "place"]


def test_narrowest_of_several_tags_decides() -> None:
    assert typing_of(placed("Harbour House", "", "restaurant", "bistro"), KNOWN).slug == "bistro"


def test_order_of_tags_and_types_does_not_matter() -> None:
    told = placed("Harbour House", "", "restaurant", "bistro", "company")
    turned = replace(told, tags=told.tags[::-1])
    other = vocabulary(Ontology(3, TYPES[::-1], RELATIONS[::-1], FACETS[::-1]))
    assert typing_of(told, KNOWN) == typing_of(turned, other)


def test_approved_type_wins_a_name_over_a_deprecated_one() -> None:
    both = (EntityType("ship", "Ship", aliases=("vessel",)), TYPES[-1])
    assert typing_of(page("Mistral", tags=["type:vessel"]), vocabulary(Ontology(1, both))) == PageTyping("ship")


def test_type_that_no_version_in_force_approves_is_held_until_one_does() -> None:
    plain = page("Harbour House", summary="Harbour House is a diner.")
    typed = typing_of(plain, KNOWN)
    without = vocabulary(Ontology(4, TYPES[:2]))
    withdrawn = typing_of(plain, without, typed)
    assert withdrawn == held("restaurant", HeldReason.WITHDRAWN)
    assert typing_of(plain, without, withdrawn) == withdrawn, "and stays so"
    assert typing_of(plain, KNOWN, withdrawn) == typed, "until it is approved again"
    assert typing_of(page("Harbour House"), KNOWN, typed) == UNTYPED, "a page that shows a type no more has none"


def test_cycle_of_broader_types_ends() -> None:
    turning = tuple(EntityType(slug, slug, broad_type=broad) for slug, broad in (("a", "b"), ("b", "c"), ("c", "a")))
    known = vocabulary(Ontology(1, turning))
    assert known.broader["a"] == ("b", "c")
    assert known.is_kind_of("a", ("c",))
    assert not known.is_kind_of("a", ("d",))


@pytest.mark.parametrize("name", ["", "  ", "…", "___"])
def test_name_without_letters_is_no_type_tag(name: str) -> None:
    assert type_tag(name) == ""


def test_type_tag_of_a_name_in_any_script_is_found_again() -> None:
    known = vocabulary(Ontology(1, (EntityType("person", "Person", aliases=("人物",)),)))
    assert typing_of(page("Ada", tags=[type_tag("人物")]), known).slug == "person"


EDGES = [
    ("works_at", "person", "organisation", HeldReason.NONE),
    ("works_at", "", "", HeldReason.NONE),
    ("works_at", "place", "organisation", HeldReason.SOURCE_TYPE),
    ("works_at", "person", "place", HeldReason.TARGET_TYPE),
    ("dined_at", "person", "bistro", HeldReason.NONE),
    ("ate at", "person", "person", HeldReason.TARGET_TYPE),
    ("berthed_in", "", "", HeldReason.RELATIONSHIP_DEPRECATED),
    ("sailed_to", "", "", HeldReason.RELATIONSHIP_NOT_APPROVED),
    ("married_to", "place", "organisation", HeldReason.NONE),
]


@pytest.mark.parametrize(("edge", "source_type", "target_type", "reason"), EDGES)
def test_edge_joins_pages_of_its_types(edge: str, source_type: str, target_type: str, reason: HeldReason) -> None:
    assert edges.held_reason(edge, PageTyping(source_type), PageTyping(target_type), KNOWN) == reason


def claim(at: int, source: str, target: str, edge: str = "works_at", **when: Any) -> edges.EdgeClaim:
    return edges.EdgeClaim(UUID(int=at), edge, source, target, **when)


def year(number: int) -> datetime:
    return datetime(number, 1, 1, tzinfo=UTC)


def over(claims: list[edges.EdgeClaim], cardinality: str, **fields: Any) -> set[int]:
    """Return which claims are over under a relationship type of this cardinality, whatever order they come in."""
    one = RelationshipType("works_at", "works at", cardinality=Cardinality(cardinality), **fields)
    known = vocabulary(Ontology(1, (), (one,)))
    found = edges.over_cardinality(claims, known)
    assert found == edges.over_cardinality(claims[::-1], known)
    return {one.int for one in found}


def test_end_that_may_have_one_edge_keeps_the_one_that_began_last() -> None:
    claims = [
        claim(1, "ada", "helios", valid_from=year(2019)),
        claim(2, "ada", "borealis", said_at=year(2024)),
        claim(3, "bob", "helios", valid_from=year(2020)),
        claim(4, "ada", "port", valid_from=year(2010), valid_until=year(2015)),
    ]
    assert over(claims, "many_to_many") == set()
    assert over(claims, "many_to_one") == {1}, "a job that had ended before the next takes no place"
    assert over(claims, "one_to_many") == {1}, "helios may have one source: the later one"
    assert over(claims, "one_to_one") == {1}


def test_edge_stated_by_hand_comes_before_a_later_one() -> None:
    claims = [claim(1, "ada", "helios", is_manual=True), claim(2, "ada", "port", said_at=year(2024))]
    assert over(claims, "many_to_one") == {2}


def test_relationship_that_is_its_own_inverse_has_no_direction() -> None:
    claims = [
        claim(1, "ada", "bob", said_at=year(2021)),
        claim(2, "bob", "ada", said_at=year(2022)),
        claim(3, "bob", "cid", said_at=year(2020)),
    ]
    assert over(claims, "one_to_one", inverse="works at") == {3}, "both directions of one pair are one marriage"
    assert over(claims, "one_to_one") == {3}


def test_one_pair_in_two_periods_is_no_clash() -> None:
    claims = [claim(1, "ada", "helios", valid_from=year(2019)), claim(2, "ada", "helios", valid_from=year(2021))]
    assert over(claims, "one_to_one") == set()


@pytest.mark.parametrize(
    ("name", "without", "under"),
    [
        ("works_at", "works_at", "works_at"),
        ("dined_at", "", "dined_at"),
        ("Ate at", "", "dined_at"),
        ("sailed_to", "", "sailed_to"),
        ("Sailed To!", "", ""),
        ("", "", ""),
    ],
)
def test_planner_s_edge_type_is_a_slug_of_the_ontology_or_waits_for_it(name: str, without: str, under: str) -> None:
    assert (edges.proposed_type(name, None), edges.proposed_type(name, KNOWN)) == (without, under)


def test_planner_is_offered_the_approved_terms() -> None:
    offered = KNOWN.edge_types()
    assert {"works_at", "dined_at", "located_in"} <= set(offered)
    assert "berthed_in" not in offered
    deprecated = RelationshipType("owns", "owns", lifecycle=Lifecycle.DEPRECATED)
    assert "owns" not in vocabulary(Ontology(1, relationship_types=(deprecated,))).edge_types()


def shown(given: Page, typing: str, known: Vocabulary = KNOWN) -> list[tuple[str, str]]:
    found = shapes.shape(given, PageTyping(typing), known)
    placed = sorted(found, key=lambda one: (one.position is None, one.position))
    headings = {one.slug: one.heading for one in given.sections}
    return [(one.slug, one.heading or headings[one.slug]) for one in placed]


def test_templates_order_and_head_the_sections_and_the_others_follow() -> None:
    parts = [
        section("x", "a", name=name) for name in ("overview", "notes", "prices", "overview__2", "visits", "dishes")
    ]
    assert shown(page("Harbour House", *parts), "bistro") == [
        ("dishes", "What to order"),
        ("visits", "Visits"),
        ("overview", "At a glance"),
        ("overview__2", "At a glance (2)"),
        ("notes", "Notes"),
        ("prices", "Prices"),
    ]


def test_page_without_a_type_is_shown_as_it_is() -> None:
    parts = [section("x", "a", name=name) for name in ("overview", "visits")]
    assert all((one.position, one.heading) == (None, "") for one in shapes.shape(page("X", *parts), UNTYPED, KNOWN))


def test_nearest_template_of_a_slug_wins() -> None:
    own = FacetTemplate("restaurant", "overview", "Your table", 9)
    known = vocabulary(Ontology(3, TYPES, (), (*FACETS, own)))
    given = page("Harbour House", section("x", "a"), section("x", "a", name="dishes"))
    assert shown(given, "restaurant", known) == [("dishes", "What to order"), ("overview", "Your table")]
