"""Generated and hostile input for what `tests/unit/compiler/plan/test_bounds.py` tests by example."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from compiler.plan import bounds
from compiler.plan.batch import LeafBatch
from compiler.plan.contract import CreatePage, PageKey, PageType, PlanDecision
from compiler.plan.judging import finishing, leaf
from compiler.plan.names.merge import Matches
from compiler.plan.proposal import Proposal, ProposedName, ProposedPage, ProposedSection
from compiler.plan.text import markup, paging
from compiler.plan.text.markdown import MAX_NAME_CHARS
from tests.support.compiler.plan_cases import memory

PIECES = (
    "**Uchi** ",
    "word ",
    "\n",
    "\n\n",
    "```\n",
    "~~~\n",
    "`",
    "[[Uchi|x]] ",
    "<b>",
    "![x](y)",
    "[a](http://b) ",
    "東京。",
    "- a\n",
    "x" * 90,
)
TEXTS = st.tuples(st.lists(st.sampled_from(PIECES), min_size=1, max_size=12), st.integers(1, 900)).map(
    lambda drawn: "".join(drawn[0]) * drawn[1]
)
NAMES = TEXTS.map(lambda text: text[: 10 * MAX_NAME_CHARS])
IDS = st.lists(st.sampled_from(["m1", "m2", "m3", "m9"]), max_size=3).map(tuple)
SECTIONS = st.builds(
    ProposedSection, st.sampled_from(["notes", "visits", "notes__2"]), TEXTS, TEXTS, IDS, st.booleans()
)
MEMORIES = tuple(memory(f"m{at}", f"Uchi word number {at}.") for at in range(1, 4))
UCHI = PageKey(PageType.ENTITY, "uchi")


@given(st.lists(SECTIONS, min_size=1, max_size=3), st.integers(0, 60), TEXTS, st.lists(NAMES, max_size=3))
def test_no_page_exceeds_its_bounds_and_sections_cite_only_cited_memories(
    sections: list[ProposedSection], more: int, summary: str, names: list[str]
) -> None:
    many = tuple(ProposedSection(f"s{at}", "", "Uchi word.", ("m1",)) for at in range(more))
    aliases = tuple(ProposedName(name, ("m1",)) for name in names)
    proposed = ProposedPage(PageType.ENTITY, "Food", summary, (*sections, *many), aliases, memory_ids=("m1",))
    decision = leaf.decide(LeafBatch(MEMORIES), Proposal(new_pages=(proposed,)), Matches())
    known = {one.memory_id: one for one in MEMORIES}
    items = finishing.finish(decision, {}, {"uchi": UCHI}, memories=known)
    cited = {one for section in (*sections, *many) for one in section.memory_ids} & known.keys()
    for item in items:
        if not isinstance(item, CreatePage):
            continue
        assert len({bounds.base(one.slug) for one in item.page.sections}) <= bounds.SECTIONS + len(sections)
        assert len(item.page.summary) <= bounds.SUMMARY_CHARS
        for one in item.page.sections:
            assert 0 < len(one.body_md) <= bounds.SECTION_CHARS
            assert len(one.heading) <= bounds.HEADING_CHARS
            assert "[[" not in one.heading or "]]" not in one.heading
            assert one.sources, "a text without a source would outlive its memories"
            assert {source.memory_id for source in one.sources} <= cited
            assert markup.harmless(one.body_md) == one.body_md
    assert finishing.finish(PlanDecision(items), {}, {"uchi": UCHI}, memories=known) == items


@settings(max_examples=100, deadline=None)
@given(TEXTS, st.integers(101, 9_000))
def test_a_text_is_cut_into_pieces_that_fit_and_keep_every_word(text: str, most: int) -> None:
    pieces = paging.cut(text, most)
    assert all(0 < len(piece) <= most for piece in pieces)
    assert all(piece.strip() for piece in pieces)
    if "```" not in text and "~~~" not in text:
        assert "".join("".join(pieces).split()) == "".join(text.split())
