"""Edited and forgotten memories: exactly what they fed is made again."""

from __future__ import annotations

from dataclasses import replace

from compiler.plan.batch import StaleView
from compiler.plan.contract import (
    Aggregation,
    Alias,
    ArchivePage,
    CreatePage,
    DeletePage,
    DropLink,
    DropSighting,
    HoldMention,
    LinkKind,
    LinkOrigin,
    Mention,
    Page,
    PageKey,
    PageType,
    PromotionStatus,
    RemoveSection,
    Section,
    SetParent,
    Sighting,
    Tag,
    WriteAlias,
    WriteLink,
    WriteSection,
    WriteSummary,
    WriteTag,
)
from compiler.plan.judging import departing, finishing, stale
from compiler.plan.text import rollup
from compiler.state import reducer
from compiler.state.reducer import RemainingCaps
from tests.support.compiler.plan_cases import START, at, memory, page, section, source

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


def test_edited_memory_is_no_longer_a_source_of_an_entity_it_stopped_naming() -> None:
    told = replace(view(changed={"m1"}), memories={"m1": memory("m1", "Nobody lives in Porto now."), "m2": KEPT})
    standing = page("Beatriz", section("Old.", "m1", "m2"), section("Older.", "m1", name="notes"))
    standing = replace(standing, summary="Old.", summary_sources=(source("m1"), source("m2")))
    decision = stale.decide(replace(told, pages=(standing,)))
    assert {draft.section.slug: draft.memories for draft in decision.drafts} == {"overview": (KEPT,), "": (KEPT,)}
    assert RemoveSection(standing.key, "notes") in decision.items
    (written,) = (item for item in decision.items if isinstance(item, WriteSection))
    assert [one.memory_id for one in written.section.sources] == ["m2"]
    topic = replace(standing, key=PageKey(PageType.TOPIC, "beatriz"))
    drafts = {draft.section.slug: draft.memories for draft in stale.decide(replace(told, pages=(topic,))).drafts}
    moved = told.memories["m1"]
    assert drafts == {"overview": (KEPT,), "": (KEPT,), "notes": (moved,)}, "what still names it shows that it is named"
    unnamed = replace(topic, title="Homes", aliases=())
    drafts = {draft.section.slug: draft.memories for draft in stale.decide(replace(told, pages=(unnamed,))).drafts}
    assert drafts["overview"] == (moved, KEPT), "a topic is rarely named by its title"


def test_edited_memory_stays_only_where_a_quoting_planner_would_quote_it() -> None:
    asking = memory("m1", "Does Beatriz live in Porto now?")
    kept = memory("m2", "Beatriz lives on Mill Lane. Beatriz is engaged to Rui.")
    standing = page("Beatriz", section("Old.", "m1", "m2"), section("Older.", "m1", "m2", name="relations"))
    asked = replace(view(standing, changed={"m1"}), memories={"m1": asking, "m2": kept})
    assert [one.memories for one in stale.decide(asked).drafts] == [(asking, kept)] * 2
    assert [one.memories for one in stale.decide(asked, is_quoting=True).drafts] == [(kept,)] * 2
    told = replace(asked, memories={"m1": NOW, "m2": kept})
    drafts = {one.section.slug: one.memories for one in stale.decide(told, is_quoting=True).drafts}
    assert drafts == {"overview": (NOW, kept), "relations": (kept,)}


def test_memory_leaves_the_section_of_a_line_that_is_gone_and_is_read_again() -> None:
    """Another memory said the same and more, of a dog: only its line brought the second memory among the animals."""
    office = "She works at the big office of Nordwind downtown."
    works = memory("m2", office, {"people": ["Beatriz"]})
    longer, more = f"- Beatriz walks a dog. {office}", "- Beatriz has a dog."
    standing = page("Beatriz", section(f"{longer}\n{more}", "m1", "m2", "m3", name="nature_and_animals"))
    left = {"m2": works, "m3": memory("m3", "Beatriz has a dog.")}
    forgotten = StaleView((standing,), frozenset(), frozenset({"m1"}), left)
    decision = stale.decide(forgotten, is_quoting=True)
    (written,) = (item for item in decision.items if isinstance(item, WriteSection))
    assert [one.memory_id for one in written.section.sources] == ["m3"]
    assert stale.reread(forgotten, decision.items, is_quoting=True) == ("m2",)
    also = {**left, "m4": memory("m4", f"Beatriz walks a dog. {office}")}
    (said,) = (replace(one, sources=(*one.sources, source("m4"))) for one in standing.sections)
    view_of_line = replace(forgotten, pages=(replace(standing, sections=(said,)),), memories=also)
    (draft,) = stale.decide(view_of_line, is_quoting=True).drafts
    assert {one.memory_id for one in draft.memories} == {"m2", "m3", "m4"}, "a line still says it"
    (draft,) = stale.decide(forgotten).drafts
    assert {one.memory_id for one in draft.memories} == {"m2", "m3"}, "a model's sections are its own"


def test_memories_that_name_a_page_on_which_nothing_is_left_are_read_again() -> None:
    """The name is held for them, as it would be if the page had never been."""
    there = memory("m2", "Lunch at noon.", at("Uchi", "Lisbon"))
    named = Alias("uchi", "Uchi", sources=(source("m1"), source("m2")))
    standing = replace(page("Uchi", section("Sushi.", "m1")), aliases=(named,))
    edited = replace(view(standing, changed={"m1"}), memories={"m1": memory("m1", "Nobody was hungry."), "m2": there})
    decision = stale.decide(edited, is_quoting=True)
    assert ArchivePage(standing.key) in decision.items
    assert stale.reread(edited, decision.items, is_quoting=True) == ("m2",)
    assert stale.reread(edited, decision.items, is_quoting=False) == ()


def test_forgetting_a_memory_empties_sections_that_only_it_fed() -> None:
    standing = page("Beatriz", section("Old.", "m1"), section("Dog.", "m2", name="notes"))
    decision = stale.decide(view(standing, gone={"m1"}))
    assert decision.items == (RemoveSection(standing.key, "overview"),)
    assert decision.drafts == ()


def test_page_with_only_forgotten_memories_is_deleted() -> None:
    standing = page("Beatriz", section("Old.", "m1"))
    assert stale.decide(view(standing, gone={"m1"})).items == (DeletePage(standing.key),)


def test_a_page_whose_memories_are_missing_but_not_forgotten_is_archived() -> None:
    standing = page("Beatriz", section("Old.", "m9"))
    missing = StaleView((standing,), frozenset({"m9"}), frozenset(), {})
    assert ArchivePage(standing.key) in stale.decide(missing).items


def hub(title: str, *children: Page, status: PromotionStatus = PromotionStatus.NONE, to: PageKey | None = None) -> Page:
    """Return a topic whose one section lists the pages, or has become a page."""
    keys = tuple(child.key for child in children)
    known = Aggregation(keys, promotion_status=status, promoted_page=to)
    listing = Section("people", "People", rollup.render(children), (source("m2"),), () if to else keys, known)
    return page(title, listing, kind=PageType.TOPIC)


def test_words_of_other_memories_on_a_deleted_page_are_kept_as_left_over() -> None:
    named = Alias("bia", "Bia", sources=(source("m1"),))
    standing = replace(page("Bia", section("Old.", "m1", "m2"), summary="Sings."), aliases=(named,))
    seen = view(standing, gone={"m1"})
    assert departing.left_behind(seen, stale.decide(seen).items) == ("m2",)
    other = Alias("beatriz", "Beatriz", sources=(source("m2"),))
    renamed = view(replace(standing, aliases=(named, other)), gone={"m1"})
    assert departing.left_behind(renamed, stale.decide(renamed).items) == (), "it stands under another name"
    archived = view(replace(standing, is_active=False), gone={"m1"})
    assert departing.left_behind(archived, stale.decide(archived).items) == ()
    kept = view(page("Beatriz", section("Old.", "m1", "m2")), gone={"m1"})
    assert departing.left_behind(kept, stale.decide(kept).items) == ()


def test_list_and_its_links_are_deleted_with_its_last_cited_memory() -> None:
    child = page("Ana", section("Dog.", "m2"))
    above = hub("Family", child)
    above = replace(above, sections=(replace(above.sections[0], sources=(source("m1"),)), section("Kept.", "m2")))
    items = stale.decide(replace(view(above, gone={"m1"}), around=(child,))).items
    link = WriteLink(above.key, child.key, LinkKind.REFERENCE, LinkOrigin.ROLLUP, "rolled_up:people")
    assert items == (RemoveSection(above.key, "people"), DropLink(link))


def test_emptied_summary_cites_nothing() -> None:
    standing = replace(page("Beatriz", section("Dog.", "m2"), summary="Old."), summary_sources=(source("m1"),))
    decision = stale.decide(view(standing, changed={"m1"}))
    (item,) = finishing.finish(decision, {(standing.key, ""): ""}, {})
    assert item == WriteSummary(standing.key, "", ())


def test_no_link_leads_to_a_deleted_page() -> None:
    doomed, other = page("Beatriz", section("Old.", "m1"), summary="Sings."), page("Ana", section("Dog.", "m2"))
    linking = page("Rui", section("Met [**Beatriz**](/wiki/entity/beatriz) and Ana.", "m2"))
    above = hub("Family", doomed, other)
    under = replace(page("Songs", section("Fado.", "m2"), kind=PageType.TOPIC), parent=doomed.key)
    held = replace(view(doomed, gone={"m1"}), around=(above, other, linking, under))
    items = stale.decide(held).items
    written = {item.page: item.section for item in items if isinstance(item, WriteSection)}
    assert written[above.key].children == (other.key,)
    assert written[above.key].body_md == rollup.render([other])
    assert written[linking.key].body_md == "Met **Beatriz** and Ana."
    assert items[-2:] == (SetParent(under.key, None), DeletePage(doomed.key))


def test_section_is_restored_to_a_list_when_its_page_is_deleted() -> None:
    doomed, listed = page("Fado nights", section("Old.", "m1"), kind=PageType.TOPIC), page("Ana", section("Dog.", "m2"))
    above = hub("Family", listed, status=PromotionStatus.PROMOTED, to=doomed.key)
    items = stale.decide(replace(view(doomed, gone={"m1"}), around=(above, listed))).items
    (found,) = (item.section for item in items if isinstance(item, WriteSection))
    assert found.aggregation is not None
    assert (found.children, found.body_md) == ((listed.key,), rollup.render([listed]))
    assert (found.aggregation.promotion_status, found.aggregation.promoted_page) == (PromotionStatus.NONE, None)


def test_lists_drop_a_summary_that_is_being_rewritten() -> None:
    fading = replace(
        page("Beatriz", section("Dog.", "m2"), summary="Sings fado."), summary_sources=(source("m1"), source("m2"))
    )
    above = hub("Family", fading)
    archived = replace(hub("Old family", fading), is_active=False)
    items = stale.decide(replace(view(fading, gone={"m1"}), around=(above, archived))).items
    written = {item.page: item.section.body_md for item in items if isinstance(item, WriteSection)}
    assert "fado" in above.sections[0].body_md
    assert written == dict.fromkeys((above.key, archived.key), "- [**Beatriz**](/wiki/entity/beatriz)")
    folded = reducer.fold({one.key: one for one in (fading, above, archived)}, items, RemainingCaps(10, 10)).pages
    assert (folded[above.key].is_active, folded[archived.key].is_active) == (True, False)


def test_rest_of_a_promoted_section_is_rendered_again_from_its_pages() -> None:
    promoted = page("Fado nights", section("Kept.", "m2"), kind=PageType.TOPIC)
    listed = page("Ana", section("Dog.", "m2"), summary="Has a dog.")
    above = hub("Family", listed, status=PromotionStatus.PROMOTED, to=promoted.key)
    above = replace(
        above, sections=(replace(above.sections[0], body_md="Secrets.", sources=(source("m1"), source("m2"))),)
    )
    (item,) = stale.decide(replace(view(above, gone={"m1"}), around=(promoted, listed))).items
    assert isinstance(item, WriteSection)
    assert item.section.body_md == rollup.stub("", [rollup.line(listed)], title="Fado nights", promoted=promoted.key)


def test_page_named_only_by_forgotten_memories_gets_another_name() -> None:
    aliases = (Alias("bia", "Bia", sources=(source("m1"),)), Alias("beatriz", "Beatriz", sources=(source("m2"),)))
    standing = replace(page("Bia", section("Old.", "m1", "m2"), section("Dog.", "m2", name="notes")), aliases=aliases)
    decision = stale.decide(view(standing, gone={"m1"}))
    (made,) = (item.page for item in decision.items if isinstance(item, CreatePage))
    assert (made.title, made.key.slug, [one.key for one in made.aliases]) == ("Beatriz", "beatriz", ["beatriz"])
    assert [draft.page for draft in decision.drafts] == [made.key]
    assert decision.items[-1] == DeletePage(standing.key)
    nameless = replace(standing, aliases=aliases[:1])
    assert stale.decide(view(nameless, gone={"m1"})).items == (DeletePage(standing.key),)


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


def test_links_caused_by_a_stale_memory_are_removed() -> None:
    one, other = PageKey(PageType.ENTITY, "a"), PageKey(PageType.ENTITY, "b")
    link = WriteLink(one, other, LinkKind.REFERENCE, LinkOrigin.CO_MENTION, "co_mention:m1", "m1")
    assert stale.decide(replace(view(gone={"m1"}), links=(link,))).items == (DropLink(link),)
