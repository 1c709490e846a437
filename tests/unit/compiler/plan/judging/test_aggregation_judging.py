"""Hubs, lists and promotions judged: membership, claims, scores, parents."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from compiler.plan.batch import AggregationView, MemoryEvidence, ParentCandidate
from compiler.plan.contract import (
    Aggregation,
    Alias,
    CreatePage,
    DeletePage,
    DropLink,
    LinkOrigin,
    Page,
    PageKey,
    PageType,
    PlanDecision,
    PromotionStatus,
    ScoreHubs,
    Section,
    SetParent,
    WriteLink,
    WriteSection,
)
from compiler.plan.judging import aggregation, validate
from compiler.plan.names import merge
from compiler.plan.names.merge import Match, Matches, Way
from compiler.plan.prompting.handles import Handles
from compiler.plan.proposal import Proposal, ProposedLink, ProposedPage, Rollup, SectionPromotion
from compiler.state.reducer import RemainingCaps, fold
from tests.support.compiler.plan_cases import START, page, section, source

AUSTIN = PageKey(PageType.TOPIC, "austin")
CITY = ParentCandidate("city", "austin", "Austin", "restaurants")


def places(count: int, city: str = "austin", *, tags: tuple[str, ...] = ()) -> list[Page]:
    return [page(f"{city} place {number}", summary="Good.", tags=(f"city:{city}", *tags)) for number in range(count)]


def evidence(records: int, days: int) -> dict[str, MemoryEvidence]:
    times = [START + timedelta(days=days * number / max(1, records - 1)) for number in range(records)]
    return {f"m{number:02}": MemoryEvidence(source(f"m{number:02}"), when) for number, when in enumerate(times)}


def hub(*sections: Section) -> Page:
    return page("Austin", *sections, kind=PageType.TOPIC)


def rollup(children: list[Page], *memory_ids: str, name: str = "restaurants", tags: tuple[str, ...] = ()) -> Rollup:
    return Rollup(AUSTIN, name, "", tuple(one.key for one in children), memory_ids, tags)


def decided(pages: list[Page], proposal: Proposal, *, records: int = 0, days: int = 0, **view: object) -> PlanDecision:
    seen = AggregationView(tuple(pages), (CITY,), evidence=evidence(records, days), **view)  # type: ignore[arg-type]  # names of its fields
    return aggregation.decide(seen, proposal, Matches())


def written(decision: PlanDecision) -> dict[str, Section]:
    return {item.section.slug: item.section for item in decision.items if isinstance(item, WriteSection)}


def reasons(decision: PlanDecision) -> list[str]:
    return [one.reason for one in decision.rejections]


def test_fifteen_children_twenty_records_thirty_days_make_a_candidate() -> None:
    children = [replace(one, summary="", title="Austin") for one in places(15)]
    ids = tuple(evidence(20, 30))
    decision = decided([hub(), *children], Proposal(rollups=(rollup(children, *ids),)), records=20, days=30)
    known = written(decision)["restaurants"].aggregation
    assert known is not None
    body_share = min(1, len(written(decision)["restaurants"].body_md) / 1800) * 0.15
    assert known.promotion_score == pytest.approx(0.554 + body_share, abs=0.001)
    assert (known.supporting_record_count, len(known.linked_pages)) == (20, 15)
    assert known.promotion_status is PromotionStatus.CANDIDATE


def test_every_signal_adds_to_the_score() -> None:
    children = places(3, tags=("bbq",))
    decision = decided(
        [hub(), *children], Proposal(rollups=(rollup(children, "m00", "m01", tags=("bbq",)),)), records=2, days=15
    )
    section = written(decision)["restaurants"]
    assert section.aggregation is not None
    expected = 0.25 * 3 / 20 + 0.25 * 2 / 30 + 0.2 * 15 / 30 + 0.15 + 0.15 * len(section.body_md) / 1800
    assert section.aggregation.promotion_score == pytest.approx(expected, abs=0.001)


def test_section_of_a_hub_that_lists_no_pages_is_refused() -> None:
    asked = {"pageId": "P1", "sectionSlug": "summary", "proposed_body_md": "A city of music.", "linked_page_slugs": []}
    proposal, unreadable = validate.read({"parentSectionUpdates": [asked]}, Handles(pages={"P1": AUSTIN}))
    decision = decided([hub(), *places(3)], proposal)
    assert (unreadable, written(decision), reasons(decision)) == ((), {}, ["rollup_without_children"])


def test_page_of_another_city_is_not_listed_under_a_hub() -> None:
    inside, outside = places(3), places(1, "toronto")
    decision = decided([hub(), *inside, *outside], Proposal(rollups=(rollup([*inside, *outside]),)))
    assert written(decision)["restaurants"].children == tuple(one.key for one in inside)
    assert reasons(decision) == ["child_without_evidence"]


def test_hub_named_for_a_city_filters_by_it_even_if_no_candidate_names_it() -> None:
    wrong = [page(f"Toronto Restaurants {number}", tags=("city:toronto", "restaurants")) for number in range(3)]
    named = page("Austin Restaurants", kind=PageType.TOPIC)
    seen = AggregationView((named, *wrong, *places(1)))
    proposal = Proposal(rollups=(Rollup(named.key, "places", "", tuple(one.key for one in wrong)),))
    assert not written(aggregation.decide(seen, proposal, Matches()))


@pytest.mark.parametrize(("count", "made"), [(2, False), (3, True)])
def test_a_new_hub_needs_three_verified_children(count: int, made: bool) -> None:
    children = [*places(count), *places(2, "toronto")]
    proposal = Proposal(new_pages=(ProposedPage(PageType.TOPIC, "Austin"),), rollups=(rollup(children),))
    decision = decided(children, proposal)
    assert [item.page.key for item in decision.items if isinstance(item, CreatePage)] == [AUSTIN] * made
    assert ("hub_with_few_children" in reasons(decision)) is not made


def test_child_is_listed_under_one_section_of_a_parent() -> None:
    children = places(3)
    proposal = Proposal(rollups=(rollup(children), rollup(children, name="overview_of_all")))
    decision = decided([hub(), *children], proposal)
    assert written(decision).keys() == {"restaurants"}
    assert reasons(decision) == ["child_claimed"] * 3


def test_claimed_child_stays_claimed_in_later_jobs_until_it_is_deleted() -> None:
    children = places(3)
    known = Aggregation(linked_pages=tuple(one.key for one in children))
    standing = Section("restaurants", "Restaurants", "old", (), known.linked_pages, known)
    later = Proposal(rollups=(rollup(children[:1], name="bars"),))
    assert reasons(decided([hub(standing), *children], later)) == ["child_claimed"]
    released = decided([hub(standing), *children[1:]], Proposal())
    assert written(released)["restaurants"].children == tuple(one.key for one in children[1:])
    assert [item.link.target for item in released.items if isinstance(item, DropLink)] == [children[0].key]


def test_a_changed_child_is_rendered_again_and_an_unchanged_one_writes_nothing() -> None:
    children = places(3)
    first = decided([hub(), *children], Proposal(rollups=(rollup(children),)))
    standing = hub(written(first)["restaurants"])
    keys = tuple(sorted((AUSTIN, *(child.key for child in children))))
    assert decided([standing, *children], Proposal()).items == (ScoreHubs(keys),)
    edited = [replace(children[0], summary="Better."), *children[1:]]
    assert "Better." in written(decided([standing, *edited], Proposal()))["restaurants"].body_md


def test_rolled_up_pages_are_linked() -> None:
    children = places(3)
    links = [
        item
        for item in decided([hub(), *children], Proposal(rollups=(rollup(children),))).items
        if isinstance(item, WriteLink)
    ]
    assert {(one.source, one.origin, one.context) for one in links} == {
        (AUSTIN, LinkOrigin.ROLLUP, "rolled_up:restaurants")
    }
    assert len(links) == 3


def ready(children: list[Page], status: PromotionStatus = PromotionStatus.CANDIDATE) -> Page:
    keys = tuple(one.key for one in children)
    sources = tuple(one.source for one in evidence(20, 30).values())
    return hub(Section("restaurants", "Restaurants", "old", sources, keys, Aggregation(keys, promotion_status=status)))


ASKED = SectionPromotion(
    AUSTIN, "restaurants", ProposedPage(PageType.TOPIC, "Austin Restaurants"), "Good food in Austin.", ("- A", "- B")
)


def test_a_candidate_is_promoted_when_the_planner_asks() -> None:
    children = places(15)
    decision = decided([ready(children), *children], Proposal(section_promotions=(ASKED,)), records=20, days=30)
    made = PageKey(PageType.TOPIC, "austin-restaurants")
    (child,) = [item.page for item in decision.items if isinstance(item, CreatePage)]
    assert (child.key, len(child.sections[0].children)) == (made, 15)
    assert SetParent(made, AUSTIN) in decision.items
    stub = written(decision)["restaurants"]
    assert stub.body_md.endswith("See: [Austin Restaurants](/wiki/topic/austin-restaurants)")
    assert stub.aggregation is not None
    assert (stub.aggregation.promotion_status, stub.aggregation.promoted_page) == (PromotionStatus.PROMOTED, made)
    assert decision.items[-1] == ScoreHubs(tuple(sorted((AUSTIN, made, *(one.key for one in children)))))


@pytest.mark.parametrize("status", [PromotionStatus.NONE, PromotionStatus.PROMOTED, PromotionStatus.SUPPRESSED])
def test_only_earlier_candidates_are_promoted(status: PromotionStatus) -> None:
    children = places(15)
    decision = decided([ready(children, status), *children], Proposal(section_promotions=(ASKED,)), records=20, days=30)
    assert "section_not_ready" in reasons(decision)
    assert not [item for item in decision.items if isinstance(item, CreatePage)]


def test_candidate_whose_score_fell_is_not_promoted() -> None:
    children = places(3)
    decision = decided([ready(children), *children], Proposal(section_promotions=(ASKED,)))
    assert reasons(decision) == ["section_not_ready"]


def test_an_ancestor_is_no_child() -> None:
    above = page("Austin area", kind=PageType.TOPIC, tags=("city:austin",))
    decision = decided([hub(), above, *places(3)], Proposal(rollups=(rollup([above]),)), parents={AUSTIN: above.key})
    assert reasons(decision) == ["child_is_ancestor"]


def test_aggregation_creates_no_leaf_page_or_entity() -> None:
    decision = decided(
        [], Proposal(new_pages=(ProposedPage(PageType.ENTITY, "Uchi"), ProposedPage(PageType.TOPIC, "***")))
    )
    assert reasons(decision) == ["hub_is_no_topic", "hub_without_name"]
    assert decision.items == ()


def asking(hub_key: PageKey, title: str) -> SectionPromotion:
    return SectionPromotion(hub_key, "restaurants", ProposedPage(PageType.TOPIC, title), "Many.", ("one",))


def test_two_sections_are_not_promoted_to_one_page() -> None:
    inside, outside = places(15), places(15, "toronto")
    first = ready(inside)
    listed = ready(outside).sections
    second = replace(page("Toronto", kind=PageType.TOPIC), sections=listed)
    asked = (asking(AUSTIN, "City Restaurants"), asking(second.key, "City restaurants"))
    decision = decided([first, second, *inside, *outside], Proposal(section_promotions=asked), records=20, days=30)
    assert reasons(decision) == ["promoted_page_exists"]
    (made,) = [item.page for item in decision.items if isinstance(item, CreatePage)]
    assert set(made.sections[0].children) == {one.key for one in inside}
    kept = fold(
        {one.key: one for one in (first, second, *inside, *outside)}, decision.items, RemainingCaps(99, 99)
    ).pages
    assert len(kept[second.key].sections[0].children) == 15, "a list that was not promoted stands as it was"


@pytest.mark.parametrize("title", ["Austin Restaurants", "Where to eat"], ids=["its slug", "its alias"])
def test_section_is_not_promoted_onto_a_topic_that_nothing_else_named(title: str) -> None:
    children = places(15)
    other = page("Austin Restaurants", section("Written by hand.", "x1", name="restaurants"), kind=PageType.TOPIC)
    named = replace(other, aliases=(*other.aliases, Alias("where to eat", "Where to eat")))
    proposal = Proposal(section_promotions=(asking(AUSTIN, title),))
    looked_up = merge.names(proposal)
    found = [
        Match(alias.key, Way.EXACT, alias.key, named.key) for alias in named.aliases if alias.key in looked_up.keys
    ]
    pages = (named,) if found or named.key in looked_up.pages else ()
    view = AggregationView((ready(children), *children), (CITY,), evidence=evidence(20, 30))
    decision = aggregation.decide(view, proposal, Matches(tuple(found), pages))
    assert reasons(decision) == ["promoted_page_exists"]
    assert not [item for item in decision.items if isinstance(item, CreatePage)]


def test_hubs_are_linked_as_the_planner_says_where_both_are_there() -> None:
    children = places(3)
    texas, ghost = page("Texas", kind=PageType.TOPIC), PageKey(PageType.TOPIC, "ghost")
    links = (ProposedLink(AUSTIN, texas.key, "in"), ProposedLink(AUSTIN, ghost), ProposedLink(AUSTIN, AUSTIN))
    proposal = Proposal(new_pages=(ProposedPage(PageType.TOPIC, "Austin"),), rollups=(rollup(children),), links=links)
    decision = decided([texas, *children], proposal)
    planned = [one for one in decision.items if isinstance(one, WriteLink) and one.origin is LinkOrigin.PLANNER]
    assert [(one.source, one.target, one.context) for one in planned] == [(AUSTIN, texas.key, "in")]
    assert reasons(decision) == ["link_to_unknown_page", "link_to_itself"]


def test_suppressed_list_stays_suppressed_when_its_hub_returns() -> None:
    children = places(3)
    archived = replace(ready(children, PromotionStatus.SUPPRESSED), is_active=False)
    proposal = Proposal(new_pages=(ProposedPage(PageType.TOPIC, "Austin"),), rollups=(rollup(children),))
    view = AggregationView(tuple(children), (CITY,))
    decision = aggregation.decide(view, proposal, Matches(pages=(archived,)))
    (made,) = [item.page for item in decision.items if isinstance(item, CreatePage)]
    (listed,) = [one.aggregation for one in made.sections]
    assert listed is not None
    assert listed.promotion_status is PromotionStatus.SUPPRESSED
    assert listed.linked_pages == tuple(sorted(one.key for one in children))


def test_new_tag_removes_no_child_from_a_hub_titled_with_it() -> None:
    children = places(5, tags=("restaurant",))
    keys = tuple(one.key for one in children)
    listed = Section("restaurants", "Restaurants", "old", (), keys, Aggregation(keys))
    promoted = page("Austin Restaurants", listed, kind=PageType.TOPIC)
    tag = ParentCandidate("tag", "restaurants", "Restaurants", "related_entities")
    decision = aggregation.decide(AggregationView((promoted, *children), (CITY, tag)), Proposal(), Matches())
    assert set(written(decision)["restaurants"].children) == set(keys)


def test_complete_list_drops_other_pages_and_moves_pages_between_sections() -> None:
    kept, moved, gone = places(3)
    lists = [
        replace(section("", "m00", name=name), children=tuple(one.key for one in children), aggregation=Aggregation())
        for name, children in (("restaurants", (kept, gone)), ("coffee", (moved,)))
    ]
    every = [hub(*lists), kept, moved, gone]
    proposed = (
        replace(rollup([kept, moved], "m01"), is_whole=True),
        Rollup(AUSTIN, "coffee", "Coffee", is_whole=True),
    )
    found = decided(every, Proposal(rollups=proposed), records=2)
    written = {item.section.slug: item.section for item in found.items if isinstance(item, WriteSection)}
    assert written["restaurants"].children == (kept.key, moved.key)
    assert [one.memory_id for one in written["restaurants"].sources] == ["m01"]
    assert (written["coffee"].children, written["coffee"].body_md) == ((), "")
    assert {item.link.target for item in found.items if isinstance(item, DropLink)} == {gone.key, moved.key}


@pytest.mark.parametrize(
    ("change", "is_dropped"),
    [
        ({}, True),
        ({"summary": "The city."}, False),
        ({"aliases": (Alias("atx", "ATX", "manual"),)}, False),
        ({"sections": (section("A street.", "m00"),)}, False),
    ],
)
def test_hub_that_lost_its_last_members_is_dropped_if_it_had_lists_alone(
    change: dict[str, Any], is_dropped: bool
) -> None:
    children = places(2)
    listed = replace(
        section("", "m00", name="restaurants"), children=tuple(one.key for one in children), aggregation=Aggregation()
    )
    more = change.get("sections", ())
    standing = replace(hub(), **(change | {"sections": (listed, *more)}))
    ended = Rollup(AUSTIN, "restaurants", "Restaurants", is_whole=True)
    found = decided([standing, *children], Proposal(rollups=(ended,)), records=1)
    assert (DeletePage(AUSTIN) in found.items) is is_dropped
