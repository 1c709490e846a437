"""The planner without a model: what becomes a page, and that every sentence is somebody's own."""

from __future__ import annotations

from dataclasses import replace

import pytest

from compiler.plan.batch import AggregationView, LeafBatch, MemoryEvidence, ParentCandidate
from compiler.plan.contract import (
    Aggregation,
    BatchMemory,
    CreatePage,
    Draft,
    Mention,
    PageKey,
    PageType,
    PromotionStatus,
    SettleMention,
    Sighting,
)
from compiler.plan.judging import aggregation, leaf, parents
from compiler.plan.names import merge
from compiler.plan.names.merge import Matches
from compiler.plan.proposal import Proposal
from compiler.planners import extractive
from tests.support.compiler.plan_cases import START, at, batch, memory, page, section, source


def titles(proposal: Proposal) -> list[str]:
    return [one.title for one in proposal.new_pages]


def test_name_in_two_memories_becomes_a_page_and_in_one_is_held() -> None:
    proposal = extractive.plan_leaf(
        batch(
            memory("m1", "We had dinner with Beatriz near the old mill."),
            memory("m2", "On Monday Beatriz moved to Kyoto for work."),
        )
    )
    assert titles(proposal) == ["Beatriz"]
    assert [one.alias for one in proposal.mentions] == ["Kyoto"]
    assert proposal.new_pages[0].sections[0].memory_ids == ("m1", "m2")


def test_held_name_becomes_a_page_with_both_memories() -> None:
    before, now = (
        memory("m1", "We had dinner with Beatriz near the old mill."),
        memory("m2", "Then Beatriz moved to a new flat."),
    )
    mention = Mention("beatriz", "Beatriz", None, (Sighting(source("m1", before.text), before.text, START),))
    seen = LeafBatch((now,), mentions=(mention,), earlier=(before,))
    decision = leaf.decide(seen, extractive.plan_leaf(seen), Matches())
    (made,) = [item.page for item in decision.items if isinstance(item, CreatePage)]
    assert [one.memory_id for one in made.sections[0].sources] == ["m1", "m2"]
    assert SettleMention("beatriz", made.key) in decision.items


def test_frequent_mention_is_promoted_without_a_new_memory() -> None:
    seen = [memory(f"m{at}", f"Long talk number {at} with Beatriz about the roof.", day=at) for at in range(3)]
    mention = Mention(
        "beatriz", "Beatriz", None, tuple(Sighting(source(one.memory_id, one.text), one.text, START) for one in seen)
    )
    proposal = extractive.plan_leaf(LeafBatch((), mentions=(mention,), earlier=tuple(seen)))
    assert [one.page.title for one in proposal.promotions] == ["Beatriz"]


@pytest.mark.parametrize(
    "text",
    [
        "Hey! Thanks so much, that was great. On Monday in May I'm off.",
        "Wow, Absolutely amazing! Good morning to everybody.",
        "I think it's fine. We went home. The weather was nice.",
        "",
    ],
)
def test_greetings_days_and_sentence_starts_are_not_names(text: str) -> None:
    proposal = extractive.plan_leaf(batch(memory("m1", text), memory("m2", text + " ")))
    assert titles(proposal) == []


def test_places_are_read_from_metadata_in_any_script() -> None:
    proposal = extractive.plan_leaf(
        batch(
            memory("m1", "今日は鮨さいとうで夕食を食べた。", at("鮨さいとう", "東京")),
            memory("m2", "また鮨さいとうに行って鮪を食べた。", at("鮨さいとう", "東京")),
        )
    )
    assert titles(proposal) == ["鮨さいとう"]
    assert proposal.new_pages[0].summary == "Place in 東京."


def test_a_nickname_and_a_full_name_are_the_same_person() -> None:
    proposal = extractive.plan_leaf(
        batch(
            memory("m1", "Caroline: Hey Mel! I painted a big sunrise over the lake yesterday."),
            memory("m2", "Melanie: I ran a long charity race with my kids on Saturday."),
            memory("m3", "Caroline: Thanks, Mel! I put the painting up in our living room."),
            memory("m4", "Melanie: I signed up for a pottery class in town."),
        )
    )
    assert titles(proposal) == ["Caroline", "Melanie"]
    assert "Mel" in [one.name for one in proposal.new_pages[1].aliases]


def test_a_name_after_a_form_of_address_is_the_person_with_a_surname_too() -> None:
    told = (
        memory("m1", "I paid Dona Odete Teles two months of rent for the flat."),
        memory("m2", "Tonight Dona Odete mended the kitchen tap."),
        memory("m3", "Then Dona Odete lent me her old ladder."),
    )
    proposal = extractive.plan_leaf(batch(*told))
    assert titles(proposal) == ["Dona Odete Teles"]
    assert set(proposal.new_pages[0].sections[0].memory_ids) == {"m1", "m2", "m3"}


def test_a_place_is_not_another_place_whose_name_begins_with_its_own() -> None:
    proposal = extractive.plan_leaf(
        batch(
            memory("m1", "Yesterday we sat by Copper Wharf until the fog came."),
            memory("m2", "After lunch near it we saw that Copper Wharf is small."),
            memory("m3", "Our old friends sailed by Copper Wharf Station this morning."),
        )
    )
    assert [(one.title, one.sections[0].memory_ids) for one in proposal.new_pages] == [("Copper Wharf", ("m1", "m2"))]


def test_same_memories_a_second_time_change_nothing() -> None:
    seen = batch(
        memory("m1", "We had dinner with Beatriz near the old mill."), memory("m2", "Then Beatriz moved to a new flat.")
    )
    decision = leaf.decide(seen, extractive.plan_leaf(seen), Matches())
    pages = tuple(item.page for item in decision.items if isinstance(item, CreatePage))
    again = LeafBatch(seen.memories, pages)
    assert leaf.decide(again, extractive.plan_leaf(again), Matches()).items == ()


def test_rebuilt_section_has_the_remaining_sentences() -> None:
    left = memory("m2", "Then Beatriz moved to a new flat. It rained all day long.")
    draft = Draft(PageKey(PageType.ENTITY, "beatriz"), "Beatriz", section("", "m2"), "", (left,), ("Beatriz",))
    assert extractive.write_section(draft) == "- 2026-03-01: Then Beatriz moved to a new flat."


@pytest.mark.parametrize("title", ["Rent the smaller boat", "Boat"])
def test_rebuilt_first_line_of_a_decision_has_the_day(title: str) -> None:
    left = memory("m2", "We decided to rent the smaller boat.")
    line = replace(section("", "m2"), slug="")
    draft = Draft(PageKey(PageType.DECISION, "boat"), title, line, "", (left,), (title,))
    assert extractive.quote(draft) == "2026-03-01: We decided to rent the smaller boat."


def cafes(city: str, count: int) -> tuple[list[BatchMemory], list[CreatePage]]:
    memories = [
        memory(
            f"{city}{number}-{day}",
            f"Very good flat white at Corner {number} today.",
            at(f"Corner {number}", city, types=["cafe"]),
            day=day,
        )
        for number in range(count)
        for day in range(2)
    ]
    seen = batch(*memories)
    decision = leaf.decide(seen, extractive.plan_leaf(seen), Matches())
    return memories, [item for item in decision.items if isinstance(item, CreatePage)]


@pytest.mark.parametrize(("count", "hubs"), [(2, []), (3, ["Lisbon"])])
def test_a_city_with_three_places_gets_a_hub(count: int, hubs: list[str]) -> None:
    memories, made = cafes("Lisbon", count)
    evidence = {one.memory_id: MemoryEvidence(source(one.memory_id, one.text), one.occurred_at) for one in memories}
    view = AggregationView(tuple(item.page for item in made), parents.from_memories(memories), evidence=evidence)
    proposal = extractive.plan_aggregation(view)
    decision = aggregation.decide(view, proposal, Matches())
    assert merge.names(proposal).pages == tuple(PageKey(PageType.TOPIC, one.lower()) for one in hubs)
    assert [item.page.title for item in decision.items if isinstance(item, CreatePage)] == hubs
    for item in decision.items:
        if isinstance(item, CreatePage):
            (cafe,) = item.page.sections
            assert (cafe.slug, len(cafe.children), len(cafe.sources)) == ("coffee", 3, 6)
            assert cafe.body_md.startswith("- [**Corner 0**](/wiki/entity/corner-0) — Cafe in Lisbon.")


def test_page_that_only_mentions_a_city_is_not_in_its_hub() -> None:
    memories, made = cafes("Lisbon", 3)
    stranger = page("Jonas", summary="Jonas came from Lisbon with a box.")
    view = AggregationView((*(item.page for item in made), stranger), parents.from_memories(memories))
    (rollup,) = extractive.plan_aggregation(view).rollups
    assert stranger.key not in rollup.children


@pytest.mark.parametrize(("tag", "hubs"), [("draft", []), ("wifi", []), ("allergy", ["Allergies"])])
def test_only_a_tag_that_names_a_theme_makes_a_hub(tag: str, hubs: list[str]) -> None:
    every = [page(title, tags=(tag,)) for title in ("Odile", "Tomas", "Ines")]
    memories = [memory(f"m{number}", "a", {"tags": [tag]}) for number in range(3)]
    evidence = {one.memory_id: MemoryEvidence(source(one.memory_id, one.text), one.occurred_at) for one in memories}
    view = AggregationView(tuple(every), parents.from_memories(memories), evidence=evidence)
    assert [one.title for one in extractive.plan_aggregation(view).new_pages] == hubs


def test_dog_at_a_cafe_is_not_listed_as_a_cafe() -> None:
    memories, _ = cafes("Lisbon", 3)
    walks = [
        memory(
            f"dog-{day}",
            f"We gave water to Pombo, who slept {('under the table', 'by the door', 'on the step')[day]}.",
            at("Corner 0", "Lisbon", types=["cafe"]),
            day=day,
        )
        for day in range(3)
    ]
    seen = batch(*memories, *walks)
    made = [
        item.page
        for item in leaf.decide(seen, extractive.plan_leaf(seen), Matches()).items
        if isinstance(item, CreatePage)
    ]
    dog = next(one for one in made if one.title == "Pombo")
    rollups = extractive.plan_aggregation(
        AggregationView(tuple(made), parents.from_memories(list(seen.memories)))
    ).rollups
    listed = {one.section_slug: one.children for one in rollups}
    assert len(listed["coffee"]) == 3
    assert dog.key not in listed["coffee"]


def test_list_of_a_person_goes_when_too_few_pages_name_them() -> None:
    boat = page("Blue Boat", summary="Odile painted the Blue Boat.")
    listing = replace(section("- x", "m1", name="people_and_things"), children=(boat.key,), aggregation=Aggregation())
    person, topic = page("Odile", listing), page("Harbour", listing, kind=PageType.TOPIC)
    found = extractive.plan_aggregation(AggregationView((boat, person, topic)))
    assert [(one.page, one.section_slug, one.children, one.is_whole) for one in found.rollups] == [
        (person.key, "people_and_things", (), True)
    ]
    named = ParentCandidate("person", "odile", "Odile", "topics", ("m1",), (boat.key, *extra_pages()))
    again = extractive.plan_aggregation(AggregationView((boat, person, *map(page, ("Oar", "Sail"))), (named,)))
    assert [(one.section_slug, len(one.children), one.is_whole) for one in again.rollups] == [
        ("people_and_things", 3, True)
    ]


def test_promoted_list_has_no_summary_of_the_kinds_in_it() -> None:
    places = [page(title, summary="Restaurant in Austin.") for title in ("Loro", "Suerte")]
    ready = Aggregation(promotion_status=PromotionStatus.CANDIDATE)
    listing = replace(
        section("- x", "m1", name="restaurants"), children=tuple(one.key for one in places), aggregation=ready
    )
    hub = page("Austin", section("Hot in August.", "m2"), listing, kind=PageType.TOPIC)
    (found,) = extractive.plan_aggregation(AggregationView((hub, *places))).section_promotions
    assert (found.new_page.summary, found.parent_summary) == ("", "")
    assert found.highlights == ("**Loro**", "**Suerte**")


def extra_pages() -> tuple[PageKey, ...]:
    return tuple(page(title).key for title in ("Oar", "Sail"))
