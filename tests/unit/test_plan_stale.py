"""Edited and forgotten memories: exactly what they fed is made again."""

from __future__ import annotations

from dataclasses import replace

from compiler.plan import stale
from compiler.plan.batch import StaleView
from compiler.plan.contract import (
    Alias,
    ArchivePage,
    DropLink,
    DropSighting,
    HoldMention,
    LinkKind,
    LinkOrigin,
    Mention,
    Page,
    PageKey,
    PageType,
    RemoveSection,
    Sighting,
    Tag,
    WriteAlias,
    WriteLink,
    WriteSection,
    WriteSummary,
    WriteTag,
)
from tests.unit.plan_cases import START, memory, page, section, source

NOW = memory("m1", "Beatriz lives in Porto now.")
KEPT = memory("m2", "Beatriz has a dog.")


def view(*pages: Page, changed: set[str] = frozenset(), gone: set[str] = frozenset()) -> StaleView:  # type: ignore[assignment]  # empty
    return StaleView(pages, frozenset(changed), frozenset(gone), {"m1": NOW, "m2": KEPT} if not gone else {"m2": KEPT})


def test_an_edited_memory_rebuilds_its_sections_and_no_other() -> None:
    standing = page("Beatriz", section("Old.", "m1", "m2"), section("Dog.", "m2", name="notes"))
    decision = stale.decide(view(standing, changed={"m1"}))
    (draft,) = decision.drafts
    assert (draft.section.slug, draft.existing_md, draft.section.body_md) == ("overview", "", "")
    assert draft.memories == (NOW, KEPT)
    (item,) = decision.items
    assert isinstance(item, WriteSection)
    assert NOW.text_hash in {one.text_hash for one in item.section.sources}


def test_a_forgotten_memory_empties_what_only_it_fed() -> None:
    standing = page("Beatriz", section("Old.", "m1"), section("Dog.", "m2", name="notes"))
    decision = stale.decide(view(standing, gone={"m1"}))
    assert decision.items == (RemoveSection(standing.key, "overview"),)
    assert decision.drafts == ()


def test_a_page_with_nothing_left_is_archived() -> None:
    standing = page("Beatriz", section("Old.", "m1"))
    assert ArchivePage(standing.key) in stale.decide(view(standing, gone={"m1"})).items


def test_summary_aliases_and_tags_follow_their_sources() -> None:
    standing = replace(
        page("Beatriz", section("Dog.", "m2")),
        summary="Lives in Lisbon.",
        summary_sources=(source("m1"),),
        aliases=(Alias("bia", "Bia", sources=(source("m1"),)), Alias("beatriz", "Beatriz", sources=(source("m1"),))),
        tags=(Tag("home", (source("m1"),)),),
    )
    decision = stale.decide(view(standing, changed={"m1"}))
    found = {(type(item), getattr(getattr(item, "alias", None), "key", "")): item for item in decision.items}
    assert found.keys() == {(WriteSummary, ""), (WriteAlias, "bia"), (WriteAlias, "beatriz"), (WriteTag, "")}
    gone, kept = found[WriteAlias, "bia"], found[WriteAlias, "beatriz"]
    assert isinstance(gone, WriteAlias)
    assert isinstance(kept, WriteAlias)
    assert (gone.alias.sources, [one.memory_id for one in kept.alias.sources]) == ((), ["m1"])
    assert [draft.section.slug for draft in decision.drafts] == [""]


def test_quotes_of_held_names_follow_their_memories() -> None:
    seen = (Sighting(source("m1"), "old", START), Sighting(source("m2"), "Beatriz has a dog.", START))
    held = replace(
        view(changed={"m1"}),
        mentions=(Mention("beatriz", "Beatriz", None, seen), Mention("ana", "Ana", None, seen[:1])),
    )
    drop, hold = stale.decide(held).items
    assert drop == DropSighting("ana", "m1")
    assert isinstance(hold, HoldMention)
    assert [one.quote for one in hold.mention.sightings] == [NOW.text]


def test_links_that_a_stale_memory_caused_are_taken_back() -> None:
    one, other = PageKey(PageType.ENTITY, "a"), PageKey(PageType.ENTITY, "b")
    link = WriteLink(one, other, LinkKind.REFERENCE, LinkOrigin.CO_MENTION, "co_mention:m1", "m1")
    assert stale.decide(replace(view(gone={"m1"}), links=(link,))).items == (DropLink(link),)
