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
_TIME = re.compile(
    r"\b(?:yesterday|today|tomorrow|tonight|last|next|ago|week|weekend|month|year|morning|evening|recently|just|since"
    r"|(?:mon|tues|wednes|thurs|fri|satur|sun)day|january|february|march|april|may|june|july|august|september|october|november"
    r"|december|gestern|heute|morgen|letzte[nrs]?|nächste[nrs]?|woche|monat|jahr|ontem|hoje|amanhã|passad[oa]|próxim[oa]|semana|mês"
    r"|ano|ayer|hoy|mañana|pasad[oa]|año|hier|demain|dernier|dernière|semaine|mois|\d{4}|\d+(?:st|nd|rd|th))\b"
    r"|昨日|今日|明日|先[週月]|今[週月年]|来[週月年]|去年|\d[年月日]",
    re.IGNORECASE,
)
_NAME = re.compile(r"(?<=[a-z,'’] )[A-Z][a-z]+|\"[^\"]+\"")
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
    best = logits.argmax(axis=0)
    relevances = 1 / (1 + np.exp(-logits.max(axis=0)))
    rows = [
        dict(zip(NAMES, column, strict=True)) for column in np.stack(tables)[best, np.arange(len(candidates))].tolist()
    ]
    return [
        Ranked(round(relevance, 6), tuple((name, round(value, 4)) for name, value in row.items() if value))
        for relevance, row in zip(relevances.tolist(), rows, strict=True)
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
    for place, candidate in enumerate(candidates) if reading.named else ():
        about = _about(reading, candidate)
        same[place] = bool(about & reading.named) and not reading.speakers <= reading.named
        other[place] = bool(about) and not about & reading.named
    return {"same_speaker": same, "other_speaker": other}


def _about(reading: Reading, candidate: Candidate) -> frozenset[str]:
    if candidate.kind is Kind.TURN:
        return frozenset({_folded(candidate.speaker)}) if candidate.speaker else frozenset()
    if candidate.kind is Kind.PASSAGE:
        return frozenset()
    words = _folded(candidate.text)
    return frozenset(name for name in reading.speakers if re.search(rf"\b{re.escape(name)}\b", words))


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
    day = candidate.day
    return 0.0 if day is None else max((period.nearness(day) for period in reading.periods), default=0.0)


@lru_cache(maxsize=20_000)
def _marks(text: str) -> tuple[float, float, float, float]:
    """Return of a text its length (log of UTF-8 bytes), whether it asks, and its times and names, up to a few."""
    head = text[:_MARKED_CHARS]
    said = head.partition(" [")[0].rstrip()  # what was shared along with it stands in brackets
    return (
        float(np.log(max(8, len(text.encode(errors="replace"))))),
        float(said.endswith(("?", "？"))),
        float(min(_MOST_TIMES, sum(1 for _ in _TIME.finditer(head)))),
        float(min(_MOST_NAMES, sum(1 for _ in _NAME.finditer(head)))),
    )


@lru_cache(maxsize=20_000)
def _folded(text: str) -> str:
    return fold(text[:_MARKED_CHARS])


def _logits(table: _Matrix, candidates: Sequence[Candidate], part: int) -> _Matrix:
    has_vector = np.array([candidate.evidence[part].cosine is not None for candidate in candidates])
    return np.where(
        has_vector, table @ _column(BY_VECTORS) + BY_VECTORS.bias, table @ _column(BY_WORDS) + BY_WORDS.bias
    )


def _column(weights: Weights) -> _Matrix:
    return np.array([weights.of.get(name, 0.0) for name in NAMES])
