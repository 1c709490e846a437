"""What search tells of a text, by itself and by what stands around it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecar.turn.evidence import Evidence, Hit, weigh


def hit(matched: int, place: int, cosine: float | None = 0.0, group: str = "a") -> Hit:
    return Hit(matched, () if cosine is None else (cosine,), group, place)


def only(hits: list[Hit], weights: list[float]) -> list[Evidence]:
    return [evidence for (evidence,) in weigh(hits, [weights])]


def test_coverage_is_the_share_of_the_words_weight() -> None:
    one, none, both = only([hit(0b01, 1), hit(0, 20), hit(0b11, 40)], [3.0, 1.0])
    assert (one.coverage, none.coverage, both.coverage) == (0.75, 0.0, 1.0)


def test_what_two_neighbours_hold_between_them_counts_for_both() -> None:
    first, second, far = only([hit(0b01, 1), hit(0b10, 2), hit(0b10, 4)], [1.0, 1.0])
    assert (first.joint_coverage, second.joint_coverage, far.joint_coverage) == (1.0, 1.0, 0.5)


def test_only_the_same_group_is_around() -> None:
    first, second = only([hit(0b01, 1, 0.9, "a"), hit(0b10, 2, 0.1, "b")], [1.0, 1.0])
    assert first.joint_coverage == 0.5
    assert (second.near_cosine, second.local_cosine) == (0.0, 0.1)


def test_near_is_next_and_local_within_eight() -> None:
    hits = [hit(0, 1, 0.9), hit(0, 2, 0.2), hit(0, 9, 0.3), hit(0, 10, 0.1), hit(0, 40, 0.4)]
    near = [evidence.near_cosine for evidence in only(hits, [1.0])]
    local = [evidence.local_cosine for evidence in only(hits, [1.0])]
    assert near == [0.2, 0.9, 0.1, 0.3, 0.0]
    assert local == [0.9, 0.9, 0.9, 0.3, 0.4]


def test_a_text_without_a_vector_has_no_cosines() -> None:
    (evidence,) = only([hit(1, 1, None)], [1.0])
    assert (evidence.cosine, evidence.near_cosine, evidence.local_cosine) == (None, None, None)
    assert evidence.coverage == 1.0


def test_each_part_of_a_question_has_its_own_evidence() -> None:
    ((first, second),) = weigh([Hit(0b10, (0.2, 0.7), "a", 1)], [[1.0, 0.0], [0.0, 1.0]])
    assert (first.coverage, first.cosine) == (0.0, 0.2)
    assert (second.coverage, second.cosine) == (1.0, 0.7)


@pytest.mark.parametrize("weights", [[], [0.0, 0.0]])
def test_a_question_without_telling_words_covers_nothing(weights: list[float]) -> None:
    assert only([hit(0b11, 1)], weights)[0].coverage == 0.0


def test_nothing_found_is_no_evidence() -> None:
    assert weigh([], [[1.0]]) == []


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
