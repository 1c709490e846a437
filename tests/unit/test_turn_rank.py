"""One scale for all candidates: what raises a relevance, what lowers it, and what must not touch it."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from math import exp

import pytest

from sidecar.turn.evidence import Evidence
from sidecar.turn.rank import NAMES, Candidate, Kind, rank
from sidecar.turn.reading import Reading, read
from sidecar.turn.weights import BY_VECTORS, BY_WORDS, Weights

READING = read("When did Ana go to the sea in May 2025?", speakers=("Ana", "Rui"), today=date(2026, 11, 21))
BEST = Evidence(1.0, 1.0, 1.0, 0.8, 0.3, 0.8)
GOOD = Evidence(0.5, 0.6, 0.6, 0.5, 0.3, 0.5)
POOR = Evidence(0.0, 0.1, 0.2, 0.1, 0.1, 0.3)


def candidate(evidence: Evidence = GOOD, text: str = "We went swimming with the kids.", **changes: object) -> Candidate:
    return replace(Candidate(Kind.TURN, text, (evidence,)), **changes)  # type: ignore[arg-type]  # any field


def relevances(*candidates: Candidate, reading: Reading = READING) -> list[float]:
    return [ranked.relevance for ranked in rank(reading, candidates)]


def test_more_of_the_words_and_a_nearer_vector_are_more_relevant() -> None:
    best, good, poor = relevances(candidate(BEST), candidate(GOOD), candidate(POOR))
    assert best > good > poor


def test_without_vectors_the_words_decide() -> None:
    blind = [candidate(Evidence(*(share,) * 3)) for share in (0.9, 0.5, 0.1)]
    assert relevances(*blind) == sorted(relevances(*blind), reverse=True)


def test_one_without_a_vector_stands_among_those_that_have_one() -> None:
    blind = candidate(Evidence(0.9, 0.9, 0.9))
    best, between, poor = relevances(candidate(BEST), blind, candidate(POOR))
    assert best > between > poor


def test_who_is_asked_about_speaks_for_a_turn() -> None:
    hers, theirs, his = relevances(candidate(speaker="ana"), candidate(), candidate(speaker="Rui"))
    assert hers > theirs > his


def test_whom_a_fact_is_about_speaks_for_it() -> None:
    ana, nobody, rui = relevances(*(candidate(text=f"{name} swims.", kind=Kind.FACT) for name in ("Ana", "Eva", "Rui")))
    assert ana > nobody > rui


def test_naming_everybody_favours_nobody() -> None:
    reading = read("What did Ana and Rui eat?", speakers=("Ana", "Rui"), today=date(2026, 11, 21))
    assert len(set(relevances(candidate(speaker="Ana"), candidate(speaker="Rui"), reading=reading))) == 1


def test_a_text_of_the_time_asked_about_is_more_relevant() -> None:
    inside, soon_after, outside = relevances(*(candidate(day=date(2025, month, 10)) for month in (5, 6, 9)))
    assert inside > soon_after > outside


@pytest.mark.parametrize(
    ("more", "less"),
    [
        ("I swam there on Friday.", "I swam there by myself."),
        ("I swam with Rita there.", "I swam with them there."),
        ("I swam there.", "Did you swim?"),
        ("先週の土曜日に泳ぎました。", "友だちとよく泳いでいます。"),
    ],
)
def test_times_and_names_tell_more_than_their_absence_and_answers_more_than_questions(more: str, less: str) -> None:
    one, other = relevances(candidate(text=more), candidate(text=less))
    assert one > other


def test_an_item_is_relevant_when_it_answers_any_part() -> None:
    reading = read("What did it cost? Where is the invoice?", today=date(2026, 11, 21))
    each = [
        replace(candidate(), evidence=tuple(BEST if place == part else POOR for place in range(3))) for part in range(3)
    ]
    assert min(relevances(*each, reading=reading)) > relevances(candidate(POOR), candidate(BEST))[0]


def test_the_receipt_names_the_features_that_count() -> None:
    (ranked,) = rank(READING, [candidate(BEST, speaker="Ana")])
    named = dict(ranked.features)
    assert named["coverage"] == 1.0
    assert named["same_speaker"] == 1.0
    assert "other_speaker" not in named
    assert set(named) <= set(NAMES)


@pytest.mark.parametrize(("evidence", "weights"), [(GOOD, BY_VECTORS), (Evidence(0.5, 0.6, 0.6), BY_WORDS)])
def test_a_relevance_follows_from_the_features_by_the_weights_alone(evidence: Evidence, weights: Weights) -> None:
    (ranked,) = rank(READING, [candidate(evidence, speaker="Rui")])
    log_odds = weights.bias + sum(weights.of.get(name, 0.0) * value for name, value in ranked.features)
    assert ranked.relevance == pytest.approx(1 / (1 + exp(-log_odds)), abs=1e-5)


def test_every_weight_belongs_to_a_feature() -> None:
    assert set(BY_VECTORS.of) == set(NAMES)
    assert set(BY_WORDS.of) == {name for name in NAMES if "cosine" not in name}


def test_nothing_offered_is_nothing_ranked() -> None:
    assert rank(READING, []) == []
