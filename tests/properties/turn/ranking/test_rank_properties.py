"""Generated and hostile input for what `tests/unit/turn/ranking/test_rank.py` tests by example."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecar.turn.candidates import CandidateKind
from sidecar.turn.message.conversation import in_thread
from sidecar.turn.message.reading import read
from tests.unit.turn.message.test_leaning import TALK
from tests.unit.turn.ranking.test_rank import One, blind, relevances

SHARES = st.floats(0, 1)
ANY_NUMBERS = st.one_of(st.tuples(*[SHARES] * 7), st.tuples(*[SHARES] * 3).map(lambda shares: blind(*shares)))

ANY_TEXT = st.builds(
    One,
    numbers=st.tuples(ANY_NUMBERS),
    text=st.text(max_size=60),
    kind=st.sampled_from(CandidateKind),
    speaker=st.sampled_from(["", "Ana", "rui", "x"]),
    day=st.one_of(st.none(), st.dates()),
)


@given(st.lists(ANY_TEXT, max_size=20))
def test_relevance_is_between_0_and_1_and_independent_of_the_order(texts: list[One]) -> None:
    found = relevances(*texts)
    assert all(0 <= relevance <= 1 for relevance in found)
    assert relevances(*texts[::-1])[::-1] == found


ANY_MESSAGE = st.sampled_from(["and the second one?", "Would Ana be religious?", "Why?", "What did Rui pay at Suerte?"])
IN_TWO_PARTS = st.builds(
    One,
    numbers=st.tuples(ANY_NUMBERS, ANY_NUMBERS),
    text=st.text(min_size=1, max_size=2_000),
    kind=st.sampled_from([kind for kind in CandidateKind if kind is not CandidateKind.PAGE]),
)
PAGES_IN_TWO_PARTS = st.builds(
    One, numbers=st.tuples(ANY_NUMBERS, ANY_NUMBERS), text=st.text(max_size=2_000), kind=st.just(CandidateKind.PAGE)
)


@given(
    ANY_MESSAGE, st.lists(IN_TWO_PARTS, min_size=1, max_size=8), st.lists(PAGES_IN_TWO_PARTS, min_size=1, max_size=5)
)
def test_other_items_are_judged_the_same_with_and_without_pages(
    message: str, others: list[One], pages: list[One]
) -> None:
    reading = in_thread(read(message, speakers=("Ana", "Rui"), today=date(2026, 11, 21)), TALK)
    beside_pages = relevances(*others, *pages, reading=reading)[: len(others)]
    assert beside_pages == pytest.approx(relevances(*others, reading=reading), abs=2e-6)
