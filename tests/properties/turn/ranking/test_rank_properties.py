"""Generated and hostile input for what `tests/unit/turn/ranking/test_rank.py` tests by example."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sidecar.turn.candidates import CandidateKind
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
