"""What search tells of a text, by itself and by what stands around it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sidecar.turn.evidence import Evidence, EvidenceUnusable, Hit, evidence_of, weigh
from sidecar.turn.reading import Part
from store.recalling import Match, Recalled


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


def test_what_search_cannot_tell_is_refused() -> None:
    sound = Recalled((Match("x", 0b1, (0.5,)),), (1,), 3)
    garbage = {
        "cosine": [
            replace(sound, matches=(Match("x", 1, (cosine,)),)) for cosine in (float("nan"), float("inf"), -1.5)
        ],
        "not counted": [replace(sound, frequencies=()), replace(sound, matches=(Match("x", -1, ()),))],
        "a count is": [replace(sound, frequencies=(-1,)), replace(sound, total=None)],  # type: ignore[arg-type]
    }
    parts, words = [Part("x", ("x",))], ("x",)
    assert len(evidence_of(sound, parts, words, lambda _: ("a", 1))) == 1
    assert evidence_of(Recalled(), parts, words, lambda _: ("a", 1)) == []
    for reason, found in garbage.items():
        for one in found:
            with pytest.raises(EvidenceUnusable, match=reason):
                evidence_of(one, parts, words, lambda _: ("a", 1))
