"""What search tells of texts, each by itself and by what stands around it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import isnan
from typing import NamedTuple

import numpy as np
import pytest

from sidecar.turn.evidence import Evidence, EvidenceUnusable, TextPositions, evidence_of, of_shares, weigh
from sidecar.turn.message.reading import QuestionPart
from store.content.recalling import Recalled, RecallQuery


class Hit(NamedTuple):
    """A text as search found it, and where it stands."""

    matched: int
    place: int = 0
    cosines: tuple[float, ...] = (0.0,)
    group: str = "a"


def weighed(hits: Sequence[Hit], *weights: list[float]) -> Evidence:
    standing = TextPositions([hit.group for hit in hits], [hit.place for hit in hits])
    found = Recalled(tuple(hits), tuple(hit.matched for hit in hits), tuple(hit.cosines for hit in hits))
    return weigh(found, weights, standing)


def test_coverage_is_the_weighted_share_of_the_words() -> None:
    evidence = weighed([Hit(0b01, 1), Hit(0, 20), Hit(0b11, 40)], [3.0, 1.0])
    assert evidence.coverage.tolist() == [[0.75, 0.0, 1.0]]


def test_words_split_between_two_neighbours_count_for_both() -> None:
    evidence = weighed([Hit(0b01, 1), Hit(0b10, 2), Hit(0b10, 4)], [1.0, 1.0])
    assert evidence.joint_coverage.tolist() == [[1.0, 1.0, 0.5]]


def test_only_texts_of_the_same_group_are_neighbours() -> None:
    evidence = weighed([Hit(0b01, 1, (0.9,), "a"), Hit(0b10, 2, (0.1,), "b")], [1.0, 1.0])
    assert evidence.joint_coverage.tolist() == [[0.5, 0.5]]
    assert (evidence.near_cosine.tolist(), evidence.local_cosine.tolist()) == ([[0.0, 0.0]], [[0.9, 0.1]])


def test_near_means_adjacent_and_local_within_eight_in_any_order() -> None:
    hits = [Hit(0, 10, (0.1,)), Hit(0, 1, (0.9,)), Hit(0, 40, (0.4,)), Hit(0, 9, (0.3,)), Hit(0, 2, (0.2,))]
    evidence = weighed(hits, [1.0])
    assert evidence.near_cosine.tolist() == [[0.3, 0.2, 0.0, 0.1, 0.9]]
    assert evidence.local_cosine.tolist() == [[0.3, 0.9, 0.4, 0.9, 0.9]]


def test_text_without_a_position_has_no_neighbours() -> None:
    found = Recalled(("x", "y"), (0b01, 0b10), ((0.9,), (0.1,)))
    evidence = weigh(found, [[1.0, 1.0]])
    assert evidence.joint_coverage.tolist() == evidence.local_coverage.tolist() == [[0.5, 0.5]]
    assert (evidence.near_cosine.tolist(), evidence.local_cosine.tolist()) == ([[0.0, 0.0]], [[0.9, 0.1]])


def test_text_without_a_vector_has_no_cosine_and_gets_none_from_its_neighbours() -> None:
    evidence = weighed([Hit(1, 1, ()), Hit(0, 2, (0.9,))], [1.0])
    assert isnan(evidence.cosine[0, 0])
    assert (evidence.near_cosine[0, 0], evidence.local_cosine[0, 0]) == (0.0, 0.0)
    assert evidence.coverage[0, 0] == 1.0


def test_each_part_of_a_question_has_its_own_evidence() -> None:
    evidence = weighed([Hit(0b10, 1, (0.2, 0.7))], [1.0, 0.0], [0.0, 1.0])
    assert (evidence.coverage.tolist(), evidence.cosine.tolist()) == ([[0.0], [1.0]], [[0.2], [0.7]])


@pytest.mark.parametrize("weights", [[], [0.0, 0.0]])
def test_question_of_stop_words_covers_nothing(weights: list[float]) -> None:
    assert weighed([Hit(0b11, 1)], weights).coverage.tolist() == [[0.0]]


def test_no_candidates_yield_no_evidence() -> None:
    assert weighed([], [1.0]).coverage.shape == (1, 0)


def test_evidence_can_be_joined_and_split() -> None:
    one, other = of_shares([0.1, 0.2], parts=2), of_shares([0.3], parts=2)
    both = one.beside(other)
    assert both.coverage.tolist() == [[0.1, 0.2, 0.3]] * 2
    assert both.of([2, 0]).local_coverage.tolist() == [[0.3, 0.1]] * 2
    assert np.isnan(both.cosine).all()


def test_values_that_search_cannot_return_are_refused() -> None:
    sound = Recalled(("x",), (0b1,), ((0.5,),), (1,), 3)
    garbage = {
        "cosine": [replace(sound, cosines=((cosine,),)) for cosine in (float("nan"), float("inf"), -1.5)],
        "has no count": [replace(sound, frequencies=()), replace(sound, matched=(-1,))],
        "a count is": [replace(sound, frequencies=(-1,)), replace(sound, total=None)],  # type: ignore[arg-type]
    }
    parts, query = [QuestionPart("x", ("x",))], RecallQuery(("x",), 10)
    assert evidence_of(sound, query, parts).coverage.tolist() == [[1.0]]
    assert evidence_of(Recalled(), query, parts).coverage.shape == (1, 0)
    for reason, found in garbage.items():
        for one in found:
            with pytest.raises(EvidenceUnusable, match=reason):
                evidence_of(one, query, parts)


def test_vectors_towards_answers_count_above_their_mean() -> None:
    parts = (QuestionPart("whole", ("x",)), QuestionPart("first", ("x",)), QuestionPart("second", ("x",)))
    cosines = ((0.9, 0.8, 0.7, 0.5), (0.1, 0.2, 0.3, 0.1), ())
    found = Recalled(("near", "far", "without a vector"), (1, 1, 1), cosines, (3,), 9)
    evidence = evidence_of(found, RecallQuery(("x",), 9), parts)
    assert evidence.cosine[:, 0].tolist() == [0.9, 0.8, 0.7]
    # The only one is of the whole message, so that it serves its parts too.
    assert evidence.answer_cosine == pytest.approx(np.array([[0.2, -0.2, 0.0]] * 3))


def test_without_vectors_towards_answers_no_text_gains_by_them() -> None:
    found = Recalled(("a", "b"), (1, 0), ((0.9,), (0.1,)), (1,), 2)
    evidence = evidence_of(found, RecallQuery(("x",), 9), (QuestionPart("x", ("x",)),))
    assert evidence.answer_cosine.tolist() == [[0.0, 0.0]]
