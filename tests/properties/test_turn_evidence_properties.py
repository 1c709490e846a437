"""Generated and hostile input for what `tests/unit/test_turn_evidence.py` tests by example."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sidecar.turn.evidence import Hit, weigh

HITS = st.builds(
    Hit,
    matched=st.integers(0, 2**64 - 1),
    cosines=st.one_of(st.just(()), st.tuples(st.floats(-1, 1))),
    group=st.sampled_from(["a", "b", "c"]),
    place=st.integers(0, 40),
)


@given(st.lists(HITS, max_size=30), st.lists(st.floats(0, 10), max_size=64))
def test_evidence_keeps_its_bounds_and_ignores_the_order(hits: list[Hit], weights: list[float]) -> None:
    found = weigh(hits, [weights])
    for (evidence,) in found:
        assert 0 <= evidence.coverage <= evidence.joint_coverage <= 1.0000001
        assert evidence.coverage <= evidence.local_coverage <= 1.0000001
        assert evidence.cosine is None or -1 <= evidence.cosine <= (evidence.local_cosine or 0) <= 1
    backwards = weigh(hits[::-1], [weights])[::-1]
    assert backwards == found or len({(one.group, one.place) for one in hits}) < len(hits)
