"""A leaf proposal judged: provenance, merging, mentions, links, and the last walls."""

from __future__ import annotations

from dataclasses import replace

import pytest

from compiler.plan.batch import LeafBatch
from compiler.plan.contract import (
    Alias,
    CreatePage,
    HoldMention,
    Mention,
    Page,
    PageKey,
    PageType,
    PlanDecision,
    RemoveSection,
    SettleMention,
    Sighting,
    WriteAlias,
    WriteLink,
    WriteSection,
)
from compiler.plan.judging import finishing, leaf
from compiler.plan.names.merge import Matches
from compiler.plan.proposal import (
    HeldName,
    PageUpdate,
    Proposal,
    ProposedLink,
    ProposedName,
    ProposedPage,
    ProposedSection,
)
from compiler.plan.text.markdown import references
from tests.support.compiler.plan_cases import START, at, batch, memory, new_page, page, section, source

M1 = memory("m1", "Dinner at Uchi with Maria, the sushi was great.")
M2 = memory("m2", "Uchi is on South Lamar.", day=2)
UCHI = PageKey(PageType.ENTITY, "uchi")


def decided(proposal: Proposal, *, of: LeafBatch | None = None, matches: Matches | None = None) -> PlanDecision:
    return leaf.decide(of or batch(M1, M2), proposal, matches or Matches())


def created(decision: PlanDecision) -> dict[str, CreatePage]:
    return {item.page.key.slug: item for item in decision.items if isinstance(item, CreatePage)}


def reasons(decision: PlanDecision) -> list[str]:
    return [one.reason for one in decision.rejections]


def test_a_section_cites_exactly_the_memories_it_was_given() -> None:
    made = created(decided(Proposal(new_pages=(new_page("Uchi", "Sushi.", "m1", "m9"),))))["uchi"].page
    assert [one.memory_id for one in made.sections[0].sources] == ["m1"]
    assert made.sections[0].sources[0].text_hash == M1.text_hash


def test_sources_of_a_whole_page_prove_its_summary_and_no_section() -> None:
    proposed = ProposedPage(
        PageType.ENTITY,
        "Uchi",
        summary="A sushi place.",
        sections=(ProposedSection("overview", "", "Sushi."),),
        memory_ids=("m1", "m2"),
    )
    decision = decided(Proposal(new_pages=(proposed,)))
    made = created(decision)["uchi"].page
    assert made.sections == ()
    assert [one.memory_id for one in made.summary_sources] == ["m1", "m2"]
    assert reasons(decision) == ["section_without_sources"]


def test_unproven_page_is_not_made_and_its_links_are_dropped() -> None:
    link = ProposedLink(UCHI, PageKey(PageType.ENTITY, "maria"))
    proposal = Proposal(new_pages=(new_page("Uchi", "Sushi."), new_page("Maria", "A friend.", "m1")), links=(link,))
    decision = decided(proposal)
    assert created(decision).keys() == {"maria"}
    assert reasons(decision) == ["section_without_sources", "page_without_sources", "link_to_unknown_page"]


def test_known_name_updates_its_page_through_the_writer() -> None:
    standing = page("Uchi", section("Sushi place.", "m0"))
    decision = decided(
        Proposal(new_pages=(new_page("UCHI", "Sushi place on South Lamar.", "m2"),)), of=batch(M1, M2, pages=[standing])
    )
    (draft,) = decision.drafts
    assert (draft.page, draft.existing_md, draft.memories) == (UCHI, "Sushi place.", (M2,))
    assert [one.memory_id for one in draft.section.sources] == ["m0", "m2"]
    assert decision.counters["alias_dedup_merged"] == 1
    assert not created(decision)


def test_repeated_fact_is_cited_without_asking_the_writer() -> None:
    standing = page("Uchi", section("Sushi place.", "m0"))
    update = PageUpdate(UCHI, (ProposedSection("overview", "", "Sushi place.", ("m1",)),))
    decision = decided(Proposal(updates=(update,)), of=batch(M1, pages=[standing]))
    assert decision.drafts == ()
    assert decision.counters["sections_skipped"] == 1
    (item,) = decision.items
    assert isinstance(item, WriteSection)
    assert (item.section.body_md, len(item.section.sources)) == ("Sushi place.", 2)


def test_two_names_of_one_page_in_one_plan_make_one_page() -> None:
    decision = decided(
        Proposal(new_pages=(new_page("Uchi", "Sushi.", "m1"), new_page("uchi", "On South Lamar.", "m2")))
    )
    made = created(decision)
    assert made.keys() == {"uchi"}
    assert made["uchi"].page.sections[0].body_md == "Sushi.\nOn South Lamar."


def test_places_of_two_cities_are_two_pages() -> None:
    lisbon = memory("m1", "Coffee at Blue Bottle.", at("Blue Bottle", "Lisbon"))
    oakland = memory("m2", "Coffee at Blue Bottle again.", at("Blue Bottle", "Oakland"))
    first = decided(Proposal(new_pages=(new_page("Blue Bottle", "Coffee.", "m1"),)), of=batch(lisbon))
    standing = created(first)["blue-bottle"].page
    assert "city:lisbon" in [tag.name for tag in standing.tags]
    second = decided(
        Proposal(new_pages=(new_page("Blue Bottle", "Coffee.", "m2"),)), of=batch(oakland, pages=[standing])
    )
    assert created(second).keys() == {"blue-bottle-oakland"}


def test_archived_page_returns_under_its_own_key() -> None:
    gone = page("Uchi", section("Old.", "m0"))
    archived = type(gone)(
        **{name: getattr(gone, name) for name in gone.__dataclass_fields__ if name != "is_active"}, is_active=False
    )
    decision = decided(Proposal(new_pages=(new_page("Uchi", "Sushi.", "m1"),)), matches=Matches(pages=(archived,)))
    assert created(decision)["uchi"].page.is_active


def test_title_of_a_page_that_returns_empty_cites_only_the_memories_of_its_return() -> None:
    """While it was archived it cited an edited memory, so that forgetting that one removed the title."""
    proof = Alias("uchi", "Uchi", sources=(source("m2"),))
    empty = Page(PageKey(PageType.ENTITY, "uchi"), "Uchi", "", aliases=(proof,), is_active=False)
    for archived, cited in ((empty, ["m1"]), (replace(empty, sections=(section("Ramen.", "m2"),)), ["m1", "m2"])):
        decision = decided(Proposal(new_pages=(new_page("Uchi", "Sushi.", "m1"),)), matches=Matches(pages=(archived,)))
        (made,) = (item.page for item in decision.items if isinstance(item, CreatePage))
        assert [[one.memory_id for one in alias.sources] for alias in made.aliases] == [cited]


def test_held_name_keeps_its_mentions_until_a_page_has_it() -> None:
    held = decided(Proposal(mentions=(HeldName("Chef João", None, "", ("m1", "m7")),)))
    (item,) = held.items
    assert isinstance(item, HoldMention)
    assert (item.mention.key, [one.source.memory_id for one in item.mention.sightings]) == ("chef joao", ["m1"])
    shown = LeafBatch((M1,), mentions=(Mention("uchi", "Uchi", None, (Sighting(source("m0"), "at Uchi", START),)),))
    settled = decided(Proposal(new_pages=(new_page("Uchi", "Sushi.", "m0", "m1"),)), of=shown)
    assert SettleMention("uchi", UCHI) in settled.items
    assert [one.memory_id for one in created(settled)["uchi"].page.sections[0].sources] == ["m0", "m1"]


def test_name_of_an_existing_page_is_not_held() -> None:
    assert reasons(
        decided(Proposal(mentions=(HeldName("Uchi", None, "", ("m1",)),)), of=batch(M1, pages=[page("Uchi")]))
    ) == ["mention_of_page"]


def test_uncited_alias_must_appear_in_a_cited_memory() -> None:
    update = PageUpdate(
        UCHI, (ProposedSection("notes", "", "Great.", ("m1",)),), (ProposedName("Maria"), ProposedName("Invented"))
    )
    decision = decided(Proposal(updates=(update,)), of=batch(M1, pages=[page("Uchi")]))
    assert [item.alias.key for item in decision.items if isinstance(item, WriteAlias)] == ["maria"]


def test_link_follows_a_proposed_page_to_its_final_page() -> None:
    link = ProposedLink(PageKey(PageType.ENTITY, "uchi-austin"), PageKey(PageType.ENTITY, "maria"), "dinner")
    proposal = Proposal(
        new_pages=(new_page("Uchi Austin", "Sushi.", "m1"), new_page("Maria", "Friend.", "m1")), links=(link, link)
    )
    links = [item for item in decided(proposal).items if isinstance(item, WriteLink)]
    assert [(one.source.slug, one.target.slug) for one in links] == [("uchi-austin", "maria")]


@pytest.mark.parametrize(
    "body", ["[[Maria]] and **Maria** and **Nobody** [x](/wiki/entity/nobody)", "see [[topic/austin|Austin]]"]
)
def test_final_check_removes_wiki_syntax_and_bad_links(body: str) -> None:
    decision = decided(Proposal(new_pages=(new_page("Uchi", body, "m1"), new_page("Maria", "Friend.", "m1"))))
    items = finishing.finish(decision, {}, {})
    texts = [one.body_md for item in items if isinstance(item, CreatePage) for one in item.page.sections]
    assert "[[" not in "".join(texts)
    assert set(references(texts).pages) <= {UCHI, PageKey(PageType.ENTITY, "maria")}
    again = finishing.finish(PlanDecision(items), {}, {})
    assert again == items


def test_written_body_replaces_its_section_and_an_empty_one_removes_it() -> None:
    standing = page("Uchi", section("Sushi place.", "m0"))
    decision = decided(Proposal(new_pages=(new_page("Uchi", "Opened in 2003.", "m2"),)), of=batch(M2, pages=[standing]))
    assert finishing.references(decision, {(UCHI, "overview"): "With **Maria**"}).names == ("maria",)
    written = finishing.finish(decision, {(UCHI, "overview"): "Sushi since 2003."}, {})[0]
    assert isinstance(written, WriteSection)
    assert written.section.body_md == "Sushi since 2003."
    assert RemoveSection(UCHI, "overview") in finishing.finish(decision, {(UCHI, "overview"): " "}, {})
