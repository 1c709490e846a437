"""Generated and hostile input for what `tests/unit/compiler/planners/test_extractive_planner.py` tests by example."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from compiler.plan.contract import CreatePage
from compiler.plan.judging import finishing, leaf
from compiler.plan.names.merge import Matches
from compiler.plan.text.markdown import unescape
from compiler.planners import extractive
from tests.support.compiler.plan_cases import batch, memory

WORDS = st.sampled_from(
    ["Uchi", "Maria", "went", "to", "the", "big", "old", "lake", "with", "*bold*", "[[x]]", "(y)", "2,700", "São", "."]
)


def sentences_of(body_md: str) -> list[str]:
    """Return the sentences of a section as they stand in the memories."""
    return [unescape(one.removeprefix("- ")) for one in body_md.split("\n") if one.strip()]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(WORDS, min_size=3, max_size=20).map(" ".join), min_size=2, max_size=6))
def test_every_sentence_is_in_a_memory_that_its_section_cites(texts: list[str]) -> None:
    memories = [memory(f"m{number}", text, day=number) for number, text in enumerate(texts)]
    seen = batch(*memories)
    decision = leaf.decide(seen, extractive.plan_leaf(seen), Matches())
    by_id = {one.memory_id: one for one in memories}
    for item in finishing.finish(decision, {}, {}):
        for one in item.page.sections if isinstance(item, CreatePage) else ():
            cited = [by_id[it.memory_id].text for it in one.sources]
            assert all(any(sentence in text for text in cited) for sentence in sentences_of(one.body_md))
            assert all(any(sentence in text for sentence in sentences_of(one.body_md)) for text in cited)
