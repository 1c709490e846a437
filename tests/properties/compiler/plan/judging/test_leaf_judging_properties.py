"""Generated and hostile input for what `tests/unit/compiler/plan/judging/test_leaf_judging.py` tests by example."""

from __future__ import annotations

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from compiler.plan.contract import (
    CreatePage,
    PageType,
    WriteSection,
)
from compiler.plan.judging import leaf
from compiler.plan.names.merge import Matches
from compiler.plan.proposal import (
    PageUpdate,
    Proposal,
    ProposedPage,
    ProposedSection,
)
from tests.support.compiler.plan_cases import batch, new_page, page, section
from tests.unit.compiler.plan.judging.test_leaf_judging import M1, M2, decided

IDS = st.lists(st.sampled_from(["m1", "m2", "m3", "", "R1", "00000000-0000-0000-0000-000000000000"]), max_size=4)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from(["Uchi", "uchi", "Maria", "東京"]), st.sampled_from(["overview", "notes"]), IDS),
        max_size=6,
    )
)
def test_no_uncited_source_appears(proposed: list[tuple[str, str, list[str]]]) -> None:
    standing = page("Maria", section("Old words.", "m0"))
    sections = tuple(ProposedSection(slug, "", f"New words {slug}.", tuple(ids)) for _, slug, ids in proposed)
    pages = tuple(
        ProposedPage(PageType.ENTITY, title, sections=(one,))
        for (title, *_), one in zip(proposed, sections, strict=True)
    )
    decision = decided(
        Proposal(updates=(PageUpdate(standing.key, sections),), new_pages=pages), of=batch(M1, M2, pages=[standing])
    )
    cited = {(slug, one) for _, slug, ids in proposed for one in ids if one in {"m1", "m2"}}
    written = {
        (one.slug, it.memory_id)
        for item in decision.items
        if isinstance(item, CreatePage | WriteSection)
        for one in (item.page.sections if isinstance(item, CreatePage) else (item.section,))
        for it in one.sources
    }
    assert written - {("overview", "m0")} <= cited


@settings(max_examples=25, deadline=None)
@given(st.randoms(use_true_random=False))
def test_the_order_of_candidates_changes_nothing(shuffle: random.Random) -> None:
    pages = [
        page("Uchi", section("Sushi.", "m0")),
        page("Uchi", kind=PageType.TOPIC),
        page("Maria"),
        page("Austin", kind=PageType.TOPIC),
    ]
    proposal = Proposal(
        updates=(PageUpdate(pages[2].key, (ProposedSection("notes", "", "Friend.", ("m1",)),)),),
        new_pages=(new_page("uchi", "Great sushi.", "m1"), new_page("Dale", "Renee's partner.", "m2")),
    )
    expected = leaf.decide(batch(M1, M2, pages=pages), proposal, Matches(pages=tuple(pages)))
    shuffled = list(pages)
    shuffle.shuffle(shuffled)
    assert leaf.decide(batch(M1, M2, pages=shuffled), proposal, Matches(pages=tuple(reversed(shuffled)))) == expected
