"""Generated and hostile input for what `tests/unit/test_turn_rank.py` tests by example."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sidecar.turn.evidence import Evidence
from sidecar.turn.rank import Candidate, Kind
from tests.unit.test_turn_rank import relevances

SHARES = st.floats(0, 1)


# Not `st.builds`, which would make up the cosines that are left out.
ANY_EVIDENCE = st.one_of(*(st.tuples(*[SHARES] * count).map(lambda shares: Evidence(*shares)) for count in (3, 6)))


ANY_CANDIDATE = st.builds(
    Candidate,
    kind=st.sampled_from(Kind),
    text=st.text(max_size=60),
    evidence=st.tuples(ANY_EVIDENCE),
    speaker=st.sampled_from(["", "Ana", "rui", "x"]),
    day=st.one_of(st.none(), st.dates()),
)


@given(st.lists(ANY_CANDIDATE, max_size=20))
def test_a_relevance_is_a_share_and_independent_of_the_order(candidates: list[Candidate]) -> None:
    found = relevances(*candidates)
    assert all(0 <= relevance <= 1 for relevance in found)
    assert relevances(*candidates[::-1])[::-1] == found
