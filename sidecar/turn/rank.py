"""How relevant each candidate is, on one scale for all sources: the probability that it holds what was asked for.

A logistic model over named features; `weights` holds its numbers and where they come from. What a source only knows by its own
score is not compared here. Which relevant candidates fit the budget is decided in `budget`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from sidecar.turn.evidence import Evidence
from sidecar.turn.reading import Reading
from sidecar.turn.weights import BY_VECTORS, BY_WORDS, Weights
from store.texts import fold

_MARKED_CHARS: Final = 2_000
_MOST_TIMES, _MOST_NAMES = 2, 3
_TIME_WORDS: Final = """
    yesterday today tomorrow tonight last next ago week weekend month year morning evening recently just since
    monday tuesday wednesday thursday friday saturday sunday
    january february march april may june july august september october november december
    gestern heute morgen letzte letzten letzter letztes nächste nächsten nächster nächstes woche monat jahr
    ontem hoje amanhã passado passada próximo próxima semana mês ano ayer hoy mañana pasado pasada año
    hier demain dernier dernière semaine mois
"""
_TIMES: Final = frozenset(_TIME_WORDS.split())
_TIME_UNSPACED = re.compile("昨日|今日|明日|先[週月]|今[週月年]|来[週月年]|去年|[0-9][年月日]")
_ORDINALS: Final = ("st", "nd", "rd", "th")
_WORD = re.compile(r"\w+")
_MARKS: Final = ".,;:!?()[]…\"“”'’"

_Matrix = NDArray[np.float64]


class Kind(StrEnum):
    """What a candidate is: something said, one fact, or a passage of a longer text."""

    TURN = "turn"
    FACT = "fact"
    PASSAGE = "passage"


@dataclass(frozen=True, slots=True)
class Candidate:
    """A text to judge, with the evidence for each part of the question. `day` is when it was said, or what it speaks of."""

    kind: Kind
    text: str
    evidence: tuple[Evidence, ...]
    speaker: str = ""
    day: date | None = None


@dataclass(frozen=True, slots=True)
class Ranked:
    """A candidate's relevance, 0 to 1, and the features that it follows from, as the receipt names them."""

    relevance: float
    features: tuple[tuple[str, float], ...]


def rank(reading: Reading, candidates: Sequence[Candidate]) -> list[Ranked]:
    """Return each candidate's relevance: its best for any part of the question.

    One without a vector is judged by its words alone; both models tell probabilities, so they may stand in one order.
    """
    if not candidates:
        return []
    tables = [features(reading, candidates, part) for part in range(len(reading.parts))]
    logits = np.stack([_logits(table, candidates, part) for part, table in enumerate(tables)])
    best = np.stack(tables)[logits.argmax(axis=0), np.arange(len(candidates))]
    relevances = 1 / (1 + np.exp(-logits.max(axis=0)))
    return [
        Ranked(relevance, tuple(pair for pair in zip(NAMES, row, strict=True) if pair[1]))
        for relevance, row in zip(relevances.round(6).tolist(), best.round(4).tolist(), strict=True)
    ]


def features(reading: Reading, candidates: Sequence[Candidate], part: int) -> _Matrix:
    """Return the features for one part of the question: a row a candidate, a column a name of `NAMES`."""
    columns = {**_searched(candidates, part), **_subjects(reading, candidates), **_written(reading, candidates)}
    columns["is_fact"] = np.array([candidate.kind is Kind.FACT for candidate in candidates], np.float64)
    columns["is_passage"] = np.array([candidate.kind is Kind.PASSAGE for candidate in candidates], np.float64)
    return np.column_stack([columns[name] for name in NAMES])


NAMES: Final = (
    "coverage", "coverage_gap", "joint_coverage", "local_coverage",
    "cosine", "cosine_gap", "near_cosine", "local_cosine",
    "same_speaker", "other_speaker", "in_period",
    "length", "is_question", "times", "names",
    "is_fact", "is_passage",
)  # fmt: skip
"""The features, in the order of their columns."""


def _searched(candidates: Sequence[Candidate], part: int) -> dict[str, _Matrix]:
    """Return what search tells, and how far each falls short of the best candidate of any source."""
    evidence = [candidate.evidence[part] for candidate in candidates]
    coverage = np.array([one.coverage for one in evidence])
    cosine = np.array([np.nan if one.cosine is None else one.cosine for one in evidence])
    has_vector = ~np.isnan(cosine)
    best_cosine = cosine[has_vector].max() if has_vector.any() else 0.0
    return {
        "coverage": coverage,
        "coverage_gap": coverage - coverage.max(),
        "joint_coverage": np.array([one.joint_coverage for one in evidence]),
        "local_coverage": np.array([one.local_coverage for one in evidence]),
        "cosine": np.where(has_vector, cosine, 0.0),
        "cosine_gap": np.where(has_vector, cosine - best_cosine, 0.0),
        "near_cosine": np.array([one.near_cosine or 0.0 for one in evidence]),
        "local_cosine": np.array([one.local_cosine or 0.0 for one in evidence]),
    }


def _subjects(reading: Reading, candidates: Sequence[Candidate]) -> dict[str, _Matrix]:
    """Return who speaks, or of whom a fact speaks, when the question names one of those who speak here."""
    same = np.zeros(len(candidates))
    other = np.zeros(len(candidates))
    # Who names everyone tells nothing by it.
    is_telling = not reading.speakers <= reading.named
    for place, candidate in enumerate(candidates) if reading.named else ():
        about = _about(reading, candidate)
        if about:
            is_same = not about.isdisjoint(reading.named)
            same[place] = is_same and is_telling
            other[place] = not is_same
    return {"same_speaker": same, "other_speaker": other}


def _about(reading: Reading, candidate: Candidate) -> frozenset[str]:
    if candidate.kind is Kind.TURN:
        return frozenset({_folded(candidate.speaker)}) if candidate.speaker else frozenset()
    if candidate.kind is Kind.PASSAGE:
        return frozenset()
    words = f" {_folded(candidate.text)} "
    return frozenset(name for name in reading.speakers if f" {name} " in words)


def _written(reading: Reading, candidates: Sequence[Candidate]) -> dict[str, _Matrix]:
    marks = np.array([_marks(candidate.text) for candidate in candidates], np.float64)
    length, is_question, times, names = marks.T
    return {
        "in_period": np.array([_nearness(reading, candidate) for candidate in candidates]),
        "length": length,
        "is_question": is_question * [candidate.kind is Kind.TURN for candidate in candidates],
        "times": times,
        "names": names,
    }


def _nearness(reading: Reading, candidate: Candidate) -> float:
    if candidate.day is None or not reading.periods:
        return 0.0
    return max(period.nearness(candidate.day) for period in reading.periods)


@lru_cache(maxsize=20_000)
def _marks(text: str) -> tuple[float, float, float, float]:
    """Return of a text its length (log of UTF-8 bytes), whether it asks, and its times and names, up to a few."""
    head = text[:_MARKED_CHARS]
    said = head.partition(" [")[0].rstrip()  # what was shared along with it stands in brackets
    times = 0 if head.isascii() else sum(1 for _ in _TIME_UNSPACED.finditer(head))
    names, before = 0, "."
    for written in head.split():
        word = written.strip(_MARKS)
        times += _is_time(word)
        # A capital counts inside a sentence only.
        names += word[:1].isupper() and word[1:2].islower() and (before[-1].islower() or before[-1] == ",")
        before = written
        if times >= _MOST_TIMES and names >= _MOST_NAMES:
            break
    length = np.log(max(8, len(text.encode(errors="replace"))))
    return float(length), float(said.endswith(("?", "？"))), min(_MOST_TIMES, times), min(_MOST_NAMES, names)


def _is_time(word: str) -> bool:
    if word[:1].isdigit():
        return (len(word) == 4 and word.isdigit()) or (word[-2:] in _ORDINALS and word[:-2].isdigit())
    return word.lower() in _TIMES


@lru_cache(maxsize=20_000)
def _folded(text: str) -> str:
    """Return the words of a text as names are compared, one space apart."""
    return " ".join(_WORD.findall(fold(text[:_MARKED_CHARS])))


def _logits(table: _Matrix, candidates: Sequence[Candidate], part: int) -> _Matrix:
    has_vector = np.array([candidate.evidence[part].cosine is not None for candidate in candidates])
    return np.where(
        has_vector, table @ _column(BY_VECTORS) + BY_VECTORS.bias, table @ _column(BY_WORDS) + BY_WORDS.bias
    )


def _column(weights: Weights) -> _Matrix:
    return np.array([weights.of.get(name, 0.0) for name in NAMES])
