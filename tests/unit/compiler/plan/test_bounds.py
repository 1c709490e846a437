"""What a plan may write is bounded; what is over goes on in continuation sections, with the sources of what it says."""

from __future__ import annotations

from dataclasses import replace

from compiler.plan import bounds
from compiler.plan.batch import AggregationView, LeafBatch, MemoryEvidence
from compiler.plan.contract import (
    CitedMemory,
    Item,
    Page,
    PageKey,
    PageType,
    PlanDecision,
    RemoveSection,
    Section,
    WriteSection,
)
from compiler.plan.facts import rewriting
from compiler.plan.judging import aggregation, finishing, leaf, validate
from compiler.plan.names.merge import Matches
from compiler.plan.prompting.handles import Handles
from compiler.plan.proposal import PageUpdate, Proposal, ProposedName, ProposedPage, ProposedSection, Rollup
from compiler.state import reducer
from compiler.state.reducer import RemainingCaps
from tests.support.compiler.plan_cases import START, batch, memory, page, source

UCHI = PageKey(PageType.ENTITY, "uchi")
CAPS = RemainingCaps(10_000, 10_000)


def sentence(at: int) -> str:
    return f"Uchi served {word('x', at)} with {word('q', at)} on the {word('w', at)} evening."


def word(first: str, at: int) -> str:
    """Return a word of its own for each number below 4,096."""
    return first + "".join("bcdfghjklmnprtvz"[(at // 16**place) % 16] for place in range(3)) + "ia"


def compiled(proposal: Proposal, of: LeafBatch) -> tuple[Page, ...]:
    """Return the pages after a batch whose writer takes every proposal as it is."""
    decision = leaf.decide(of, proposal, Matches(pages=of.pages))
    bodies = {(one.page, one.section.slug): one.section.body_md for one in decision.drafts}
    known = {one.memory_id: one for one in of.memories}
    decision, kept = rewriting.keep(decision, bodies, known, of.memories)
    items = finishing.finish(decision, kept, {"uchi": UCHI}, pages=of.pages, memories=known)
    return applied(items, of.pages)


def applied(items: tuple[Item, ...], pages: tuple[Page, ...] = ()) -> tuple[Page, ...]:
    folded = reducer.fold({one.key: one for one in pages}, items, CAPS)
    return tuple(folded.pages.values())


def assert_within_bounds(made: Page) -> None:
    assert all(0 < len(one.body_md) <= bounds.SECTION_CHARS for one in made.sections)
    assert all(len(one.heading) <= bounds.HEADING_CHARS for one in made.sections)
    assert len(made.summary) <= bounds.SUMMARY_CHARS
    assert len({bounds.base(one.slug) for one in made.sections}) <= bounds.SECTIONS
    assert len(made.aliases) <= bounds.ALIASES + 2


def test_huge_section_is_continued_then_cut_and_sources_of_the_cut_text_are_released() -> None:
    memories = tuple(memory(f"m{at}", f"{sentence(at)} {'It was nice. ' * 20}".strip()) for at in range(1_200))
    body = "\n\n".join(one.text for one in memories)
    ids = tuple(one.memory_id for one in memories)
    proposed = ProposedPage(PageType.ENTITY, "Uchi", sections=(ProposedSection("overview", "Overview", body, ids),))
    (made,) = compiled(Proposal(new_pages=(proposed,)), LeafBatch(memories))
    assert len(body) > 200_000
    assert_within_bounds(made)
    assert [one.slug for one in made.sections] == ["overview", "overview__2", "overview__3", "overview__4"]
    assert made.sections[1].heading == "Overview (2)"
    by_id = {one.memory_id: one.text for one in memories}
    for part in made.sections:
        said = {one for one, text in by_id.items() if text in part.body_md}
        assert said == {one.memory_id for one in part.sources}


def test_sections_past_the_bound_go_into_one_and_keep_their_sources() -> None:
    memories = tuple(memory(f"m{at}", sentence(at)) for at in range(501))
    sections = tuple(
        ProposedSection(f"part{at}", f"Part {at}", one.text, (one.memory_id,)) for at, one in enumerate(memories)
    )
    (made,) = compiled(
        Proposal(new_pages=(ProposedPage(PageType.ENTITY, "Uchi", sections=sections),)), LeafBatch(memories)
    )
    assert_within_bounds(made)
    text = "\n".join(one.body_md for one in made.sections)
    cited = {one.memory_id for part in made.sections for one in part.sources}
    kept = {one.memory_id for one in memories if one.text in text}
    assert cited == kept
    assert len(kept) > 400


def test_number_follows_a_cut_heading_after_one_space() -> None:
    assert bounds.heading("a " * 60, 2) == f"{'a ' * 56}a (2)"
    assert bounds.heading(f"{'a' * 112} bcdefg", 2) == f"{'a' * 112} (2)"


def test_headings_summaries_and_aliases_are_bounded_and_hold_no_wiki_syntax() -> None:
    one = memory("m1", "Uchi serves sushi.")
    names = tuple(ProposedName(f"Uchi {at}", ("m1",)) for at in range(500))
    proposed = ProposedPage(
        PageType.ENTITY,
        "Uchi",
        summary="Sushi is served here. " * 300,
        sections=(ProposedSection("notes", f"[[Notes]] {'on food ' * 100}", "Sushi.", ("m1",)),),
        aliases=names,
        memory_ids=("m1",),
    )
    (made,) = compiled(Proposal(new_pages=(proposed,)), batch(one))
    assert_within_bounds(made)
    assert made.sections[0].heading.startswith("Notes on food")
    assert made.summary.endswith("here.")
    assert made.summary_sources


def test_a_models_names_and_headings_lose_their_wiki_syntax() -> None:
    answer = {
        "newPages": [
            {
                "type": "entity",
                "title": "[[Uchi]]",
                "sections": [{"slug": "notes", "heading": "[[x|Notes]]", "body_md": "a", "source_refs": []}],
                "aliases": ["[[Uchi Austin]]"],
            }
        ]
    }
    (made,) = validate.read(answer, Handles())[0].new_pages
    assert (made.title, made.sections[0].heading, made.aliases[0].name) == ("Uchi", "Notes", "Uchi Austin")


def test_quoted_lines_are_continued_without_limit_and_each_part_cites_its_own_sources() -> None:
    made: tuple[Page, ...] = ()
    every: dict[str, str] = {}
    for at in range(0, 1_200, 50):
        memories = tuple(memory(f"m{one}", sentence(one)) for one in range(at, at + 50))
        every |= {one.memory_id: one.text for one in memories}
        proposed = tuple(
            ProposedSection("notes", "Notes", f"- {one.text}", (one.memory_id,), is_verbatim=True) for one in memories
        )
        of = LeafBatch(memories, made)
        known = {one: memory(one, text) for one, text in every.items()}
        proposal = (
            Proposal(updates=(PageUpdate(UCHI, proposed),))
            if made
            else Proposal(new_pages=(ProposedPage(PageType.ENTITY, "Uchi", sections=proposed),))
        )
        decision = leaf.decide(of, proposal, Matches(pages=made))
        made = applied(finishing.finish(decision, {}, {}, pages=made, memories=known), made)
    (uchi,) = made
    assert len(uchi.sections) > 1 + bounds.CONTINUATIONS
    for part in uchi.sections:
        assert len(part.body_md) <= bounds.SECTION_CHARS
        assert {one for one, text in every.items() if text in part.body_md} == {one.memory_id for one in part.sources}
    again = leaf.decide(LeafBatch(memories, made), proposal, Matches(pages=made))
    repeated = applied(finishing.finish(again, {}, {}, pages=made, memories=known), made)
    assert repeated == made, "the same lines again change nothing"


def test_past_lines_do_not_grow_a_page_without_bound() -> None:
    where = (
        "people near the window of the old harbour house that looks over the water to the lighthouse and the islands"
        * 3
    )
    first = memory("m0", f"The table seats 0 {where}.")
    made: tuple[Page, ...] = (
        replace(page("Uchi"), sections=(Section("notes", "Notes", first.text, (CitedMemory("m0", first.text_hash),)),)),
    )
    every = {"m0": first}
    for at in range(1, 120):
        one = memory(f"m{at}", f"The table seats {at} {where}.", day=at)
        every[one.memory_id] = one
        of = batch(one, pages=made)
        proposal = Proposal(
            updates=(PageUpdate(UCHI, (ProposedSection("notes", "Notes", one.text, (one.memory_id,)),)),)
        )
        decision = leaf.decide(of, proposal, Matches(pages=made))
        bodies = {(draft.page, draft.section.slug): one.text for draft in decision.drafts}
        decision, kept = rewriting.keep(decision, bodies, every, of.memories)
        made = applied(finishing.finish(decision, kept, {}, pages=made, memories=every), made)
    (uchi,) = made
    assert_within_bounds(uchi)
    assert len(uchi.sections) <= 1 + bounds.CONTINUATIONS
    assert "seats 119 people" in uchi.sections[0].body_md


def test_long_rollup_is_continued_and_has_every_child_once() -> None:
    hub = page("Austin", kind=PageType.TOPIC)
    children = tuple(
        page(f"Cafe number {at}", summary=f"Cafe in Austin with {at} tables.", tags=("city:austin",))
        for at in range(300)
    )
    view = AggregationView((hub, *children), evidence={"t": MemoryEvidence(source("t"), START)})
    rollup = Rollup(hub.key, "places", "Places", tuple(one.key for one in children), memory_ids=("t",))
    decision = aggregation.decide(view, Proposal(rollups=(rollup,)), Matches())
    after = {
        one.key: one for one in applied(finishing.finish(decision, {}, {}, [one.key for one in children]), view.pages)
    }
    lists = after[hub.key].sections
    assert len(lists) > 1
    assert_within_bounds(after[hub.key])
    listed = [child for one in lists for child in one.children]
    assert sorted(listed) == sorted(one.key for one in children)
    assert all(child.path in one.body_md for one in lists for child in one.children)

    less = tuple(replace(one, is_active=one.key != children[0].key) for one in after.values() if one.key != hub.key)
    once_more = replace(view, pages=(after[hub.key], *less))
    items = finishing.finish(aggregation.decide(once_more, Proposal(), Matches()), {}, {}, [one.key for one in less])
    changed = {one.key: one for one in applied(items, once_more.pages)}[hub.key]
    assert sorted(child for one in changed.sections for child in one.children) == sorted(
        one.key for one in children[1:]
    )
    settled = aggregation.decide(replace(view, pages=(changed, *less)), Proposal(), Matches())
    assert not any(isinstance(item, WriteSection | RemoveSection) for item in settled.items), "nothing more changes"


def test_linkify_leaves_code_alone_in_a_long_text() -> None:
    body = "`**Uchi**` and **Uchi**\n\n```\n**Uchi** <b>\n```\n\n" + "Some words here. " * 2_000
    decision = PlanDecision(
        (WriteSection(PageKey(PageType.TOPIC, "food"), Section("notes", "Notes", body, (source("m1"),))),)
    )
    (first, *_) = finishing.finish(decision, {}, {"uchi": UCHI})
    assert isinstance(first, WriteSection)
    assert first.section.body_md.startswith("`**Uchi**` and [**Uchi**](/wiki/entity/uchi)\n\n```\n**Uchi** <b>\n```")


def test_overlong_text_of_nothing_that_its_memories_say_still_cites_them() -> None:
    told = memory("m1", "Uchi opened in May.")
    section = Section("notes", "Notes", "Porto. " * 1_500, (source("m1"),))
    later = (
        Section("notes__2", "Notes (2)", "Uchi opened in May.", (source("m1"),)),
        Section("notes__3", "Notes (3)", "Porto.", (source("m1"),)),
    )
    standing = Page(UCHI, "Uchi", "", sections=(Section("notes", "Notes", "Uchi.", (source("m1"),)), *later))
    decision = PlanDecision(items=(WriteSection(UCHI, section),))
    bodies = {(UCHI, "notes"): section.body_md}
    items = finishing.finish(decision, bodies, {}, pages=(standing,), memories={"m1": told})
    (made,) = applied(items, (standing,))
    assert all(one.sources for one in made.sections)
