"""Generated and hostile input for what `tests/unit/turn/test_evidence.py` tests by example."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.turn.test_evidence import Hit, weighed

HITS = st.builds(
    Hit,
    matched=st.integers(0, 2**64 - 1),
    place=st.integers(0, 40),
    cosines=st.one_of(st.just(()), st.tuples(st.floats(-1, 1))),
    group=st.sampled_from(["a", "b", "c"]),
)


@given(st.lists(HITS, max_size=30), st.lists(st.floats(0, 10), max_size=64))
def test_evidence_keeps_its_bounds_and_ignores_the_order(hits: list[Hit], weights: list[float]) -> None:
    found = weighed(hits, weights)
    assert (found.coverage >= 0).all()
    assert (found.coverage <= found.joint_coverage).all()
    assert (found.coverage <= found.local_coverage).all()
    assert (np.maximum(found.joint_coverage, found.local_coverage) <= 1.0000001).all()
    has_vector = ~np.isnan(found.cosine)
    assert (found.cosine <= found.local_cosine)[has_vector].all()
    assert (found.local_cosine <= 1).all()
    backwards = [column[:, ::-1] for column in weighed(hits[::-1], weights)]
    if len({(one.group, one.place) for one in hits}) == len(hits):
        assert all(np.array_equal(*both, equal_nan=True) for both in zip(found, backwards, strict=True))


@given(st.lists(HITS, max_size=30, unique_by=lambda hit: (hit.group, hit.place)))
def test_best_evidence_around_is_the_maximum_of_the_neighbours(hits: list[Hit]) -> None:
    found = weighed(hits, [1.0])
    for number, hit in enumerate(hits):
        around = [
            place for place, other in enumerate(hits) if other.group == hit.group and abs(other.place - hit.place) <= 8
        ]
        assert found.local_coverage[0, number] == max(found.coverage[0, around])
        if hit.cosines:
            known = [hits[place].cosines[0] if hits[place].cosines else 0.0 for place in around]
            assert found.local_cosine[0, number] == max(known)
