"""One scale for all candidates: what raises a relevance, what lowers it, and what must not touch it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date
from math import exp, nan
from sys import getrefcount

import numpy as np
import pytest

from sidecar.turn.candidates import CandidateKind, Candidates
from sidecar.turn.evidence import Evidence, of_shares
from sidecar.turn.fitted.calibration import CALIBRATION
from sidecar.turn.fitted.weights import BY_VECTORS, BY_WORDS, RankerWeights
from sidecar.turn.message.reading import Reading, read
from sidecar.turn.ranking.rank import NAMES, Ranked, rank
from sidecar.turn.receipt.receipt_rows import written_features
from store.text.marks import marks_of

READING = read("When did Ana go to the sea in May 2025?", speakers=("Ana", "Rui"), today=date(2026, 11, 21))
Numbers = tuple[float, ...]
SWIMMING = "We went swimming with the kids."
BEST, GOOD = (1.0, 1.0, 1.0, 0.8, 0.3, 0.8, 0.0), (0.5, 0.6, 0.6, 0.5, 0.3, 0.5, 0.0)
POOR = (0.0, 0.1, 0.2, 0.1, 0.1, 0.3, 0.0)


@dataclass(frozen=True, slots=True)
class One:
    """A text to judge, with the numbers of its evidence, in the order of `Evidence`, for each part."""

    numbers: tuple[Numbers, ...] = (GOOD,)
    text: str = SWIMMING
    kind: CandidateKind = CandidateKind.TURN
    speaker: str = ""
    day: date | None = None


def blind(*shares: float) -> Numbers:
    """Return the numbers of a text without a vector."""
    return (*shares, nan, 0.0, 0.0, 0.0)


def candidate(numbers: Numbers = GOOD, text: str = SWIMMING, **changes: object) -> One:
    return replace(One((numbers,), text), **changes)  # type: ignore[arg-type]  # any field


def candidates(one: One, name: str = "one") -> Candidates:
    """Return the text as candidates of its own."""
    evidence = Evidence._make(np.array(column)[:, None] for column in zip(*one.numbers, strict=True))
    days = [one.day] if one.day else []
    return Candidates(one.kind, [name], [one.text], evidence, [one.speaker], days)


def ranked(*texts: One, reading: Reading = READING) -> Ranked:
    return rank(reading, [candidates(one) for one in texts])


def relevances(*texts: One, reading: Reading = READING) -> list[float]:
    return list(ranked(*texts, reading=reading).relevances)


def test_text_in_the_direction_of_answers_is_more_relevant() -> None:
    plain, turned = relevances(candidate(), candidate((*GOOD[:-1], 0.2)))
    assert turned > plain


def test_covering_more_words_and_a_nearer_vector_raise_relevance() -> None:
    best, good, poor = relevances(candidate(BEST), candidate(GOOD), candidate(POOR))
    assert best > good > poor


def test_words_decide_without_vectors() -> None:
    texts = [candidate(blind(*(share,) * 3)) for share in (0.9, 0.5, 0.1)]
    assert relevances(*texts) == sorted(relevances(*texts), reverse=True)


def test_item_without_a_vector_is_ranked_among_those_with_one() -> None:
    best, between, poor = relevances(candidate(BEST), candidate(blind(0.9, 0.9, 0.9)), candidate(POOR))
    assert best > between > poor


def test_turn_of_the_person_asked_about_is_more_relevant() -> None:
    hers, theirs, his = relevances(candidate(speaker="ana"), candidate(), candidate(speaker="Rui"))
    assert hers > theirs > his


def test_memory_about_the_person_asked_about_is_more_relevant() -> None:
    ana, nobody, rui = relevances(
        *(candidate(text=f"{name} swims.", kind=CandidateKind.FACT) for name in ("Ana", "Eva", "Rui"))
    )
    assert ana > nobody > rui


def test_naming_everyone_favours_none() -> None:
    reading = read("What did Ana and Rui eat?", speakers=("Ana", "Rui"), today=date(2026, 11, 21))
    assert len(set(relevances(candidate(speaker="Ana"), candidate(speaker="Rui"), reading=reading))) == 1


@pytest.mark.parametrize("asked", ["Ana", "Jean-Luc", "O'Brien"])
def test_texts_of_every_bearer_of_a_name_are_favoured(asked: str) -> None:
    speakers = ("Ana Lima (ana)", "Ana Lima (ana2)", "Jean-Luc O'Brien", "Rui")
    reading = read(f"What did {asked} eat?", speakers=speakers, today=date(2026, 11, 21))
    *_, rui = every = relevances(*(candidate(speaker=speaker) for speaker in speakers), reading=reading)
    favoured = [speaker for speaker, relevance in zip(speakers, every, strict=True) if relevance > rui]
    assert favoured == [speaker for speaker in speakers if asked in speaker]


def test_text_of_the_period_asked_about_is_more_relevant() -> None:
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
def test_presence_of_times_and_names_weighs_more_than_absence(more: str, less: str) -> None:
    one, other = relevances(candidate(text=more), candidate(text=less))
    assert one > other


def test_item_that_answers_any_part_is_relevant() -> None:
    reading = read("What did it cost? Where is the invoice?", today=date(2026, 11, 21))
    each = [
        replace(candidate(), numbers=tuple(BEST if place == part else POOR for place in range(3))) for part in range(3)
    ]
    assert min(relevances(*each, reading=reading)) > relevances(candidate(POOR), candidate(BEST))[0]


def test_the_receipt_names_the_features_that_count() -> None:
    (features,) = ranked(candidate(BEST, speaker="Ana")).features()
    named = dict(written_features(features, is_whole=True))
    assert named["coverage"] == 1.0
    assert named["same_speaker"] == 1.0
    assert "other_speaker" not in named
    assert set(named) <= {*NAMES, "holds"}


@pytest.mark.parametrize(("numbers", "weights"), [(GOOD, BY_VECTORS), (blind(0.5, 0.6, 0.6), BY_WORDS)])
def test_relevance_follows_from_the_features_weights_and_calibration_alone(
    numbers: Numbers, weights: RankerWeights
) -> None:
    told = ranked(candidate(numbers, speaker="Rui"))
    features = dict(written_features(told.features()[0], is_whole=True))
    log_odds = weights.bias + sum(weights.of.get(name, 0.0) * value for name, value in features.items())
    given, observed = zip(*CALIBRATION["turn"].points, strict=True)
    beyond = log_odds - min(max(log_odds, given[0]), given[-1])
    log_odds = float(np.interp(log_odds, given, observed)) + beyond
    assert told.relevances[0] == pytest.approx(features["holds"] / (1 + exp(-log_odds)), abs=1e-3)
    assert told.holds == pytest.approx(features["holds"], abs=1e-4)


def test_every_weight_belongs_to_a_feature() -> None:
    assert set(BY_VECTORS.of) == set(NAMES)
    assert set(BY_WORDS.of) == {name for name in NAMES if "cosine" not in name}


def test_no_candidates_are_ranked_to_nothing() -> None:
    assert rank(READING, []) == Ranked()


def test_text_in_a_summary_loses_half_of_its_odds() -> None:
    for numbers in (BEST, GOOD, POOR):
        plain = candidates(candidate(numbers))
        [before] = rank(READING, [plain]).relevances
        [after] = rank(READING, [replace(plain, odds=[0.5])]).relevances
        assert after / (1 - after) == pytest.approx(before / (1 - before) / 2, rel=1e-3)
        assert before / 2 < after < before


def test_columns_of_a_subset_of_candidates_stay_aligned() -> None:
    one, other = candidates(candidate(BEST, "one", day=date(2025, 5, 1))), candidates(candidate(POOR, "two"), "other")
    both = Candidates(
        CandidateKind.TURN, ["a", "b"], ["one", "two"], one.evidence.beside(other.evidence), ["Ana", "Rui"]
    )
    kept = both.only({"b", "unknown"})
    assert (kept.ids, kept.texts, kept.speakers, kept.days) == (["b"], ["two"], ["Rui"], [])
    assert rank(READING, [kept]) == rank(READING, [candidates(candidate(POOR, "two", speaker="Rui"))])


def test_stored_marks_replace_reading_the_text() -> None:
    asks, tells = "Did Ana go to the sea in May?", "We went swimming."
    for kind in CandidateKind:
        plain = replace(candidates(candidate(kind=kind)), texts=[asks])
        read = rank(READING, [plain])
        assert rank(READING, [replace(plain, marks=[marks_of(asks)])]) == read
        assert rank(READING, [replace(plain, marks=[None])]) == read
        assert rank(READING, [replace(plain, marks=[marks_of(asks) + (1 << 5)])]) == read, "by another rule"
        assert rank(READING, [replace(plain, marks=[marks_of(tells)])]) != read


def test_marks_of_a_subset_of_candidates_stay_with_their_texts() -> None:
    one, other = candidates(candidate()), candidates(candidate(), "other")
    both = replace(
        one, ids=["a", "b"], texts=["a", "b"], evidence=one.evidence.beside(other.evidence), marks=[33, None]
    )
    assert (both.only({"a"}).marks, both.only({"b"}).marks) == ([33], [None])


def test_long_texts_are_judged_and_not_cached() -> None:
    text = "Ana asked: when was it in May 2025? " * 1_000
    held = getrefcount(text)
    for kind in CandidateKind:
        told = Candidates(kind, ["1"], [text], of_shares([0.5], parts=len(READING.parts)), speakers=["Ana"])
        assert 0 < rank(READING, [told]).relevances[0] < 1
    del told
    assert getrefcount(text) == held


def test_pages_do_not_raise_the_bar_for_their_memories() -> None:
    turn, page = candidates(candidate(), "turn"), candidates(candidate(BEST, kind=CandidateKind.PAGE), "page")
    alone = rank(READING, [turn]).relevances
    assert rank(READING, [turn, page]).relevances[0] == alone[0]
    passage = candidates(candidate(BEST, kind=CandidateKind.PASSAGE), "passage")
    assert rank(READING, [turn, passage]).relevances[0] < alone[0]


def test_a_page_is_less_relevant_than_a_passage_that_says_as_much() -> None:
    page, passage = (candidate(kind=kind) for kind in (CandidateKind.PAGE, CandidateKind.PASSAGE))
    assert relevances(page)[0] < relevances(passage)[0]


def test_without_vectors_a_kind_with_few_of_the_words_is_unlikely_to_hold_an_answer() -> None:
    few, many = (ranked(candidate(blind(share, share, share), kind=CandidateKind.FACT)).held[0] for share in (0.1, 0.9))
    assert few < 0.5 < many < 1


@pytest.mark.parametrize("kind", [CandidateKind.TURN, CandidateKind.FACT, CandidateKind.PASSAGE])
def test_texts_without_vectors_hold_an_answer_as_likely_as_without_an_embedder(kind: CandidateKind) -> None:
    new, other = One((blind(1.0, 1.0, 1.0),), kind=kind), One((POOR,), kind=CandidateKind.PAGE)
    embedded = replace(READING, has_vector=True)
    assert ranked(new, reading=embedded).held == ranked(new, reading=READING).held
    assert ranked(new, other, reading=embedded).held[0] == ranked(new, reading=READING).held[0]


def test_new_pages_without_vectors_have_the_holding_of_the_facts_that_they_repeat() -> None:
    fact, page = One((POOR,), kind=CandidateKind.FACT), One((blind(1.0, 1.0, 1.0),), kind=CandidateKind.PAGE)
    held = ranked(fact, page, reading=replace(READING, has_vector=True)).held
    assert held[0] == held[1] < 1
