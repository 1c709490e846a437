"""How well texts answer a question as far as search can tell: by their words, their vectors, and the texts around them.

Numbers only, in columns, so that the same holds for turns, facts and passages; what they mean together is judged in `rank`.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Sequence
from itertools import chain
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from sidecar.turn.reading import QuestionPart
from store.content.recalling import Recalled

MOST_COSINE = 1.01  # of vectors in single precision
_LOCAL_PLACES = 8
_WEIGHED_WORDS = 12

Text = TypeVar("Text")
_Numbers = NDArray[np.float64]
_Bits = NDArray[np.bool_]


class EvidenceUnusable(ValueError):
    """What search told of a text is not what it can tell."""


class TextPositions(NamedTuple):
    """Where texts stand: what each is a piece of (a session, a document), and its place there."""

    groups: Sequence[Hashable]
    places: Sequence[int]


class Evidence(NamedTuple):
    """What speaks for texts in answer to a question: a row a part of it, a column a text, each 0 to 1 (a cosine may be below).

    `coverage` is the share of the words' weight that a text holds, `joint_coverage` with the texts next to it; `near` is the best
    of those next to it, `local` the best within eight places, itself included. Where a text has no vector its cosine is no
    number, and the other two are 0.
    """

    coverage: _Numbers
    joint_coverage: _Numbers
    local_coverage: _Numbers
    cosine: _Numbers
    near_cosine: _Numbers
    local_cosine: _Numbers

    def of(self, places: Sequence[int]) -> Evidence:
        """Return the evidence of the texts at these places."""
        return Evidence._make(numbers[:, places] for numbers in self)

    def beside(self, other: Evidence) -> Evidence:
        """Return the evidence of these texts, then that of the others."""
        return Evidence._make(np.hstack(both) for both in zip(self, other, strict=True))


def evidence_of(
    recalled: Recalled[Text], parts: Sequence[QuestionPart], words: Sequence[str], standing: TextPositions | None = None
) -> Evidence:
    """Return the evidence of what was recalled by these words; without a `standing` no text stands next to another.

    Raises EvidenceUnusable.
    """
    _check(recalled)
    idfs = dict(zip(words, inverse_frequencies(recalled.frequencies, recalled.total), strict=False))
    asked = [frozenset(part.words) for part in parts]
    weights = [[idf if word in words_of else 0.0 for word, idf in idfs.items()] for words_of in asked]
    return weigh(recalled, weights, standing)


def of_shares(shares: Sequence[float], *, parts: int) -> Evidence:
    """Return the evidence of texts of which only this is known: which share of the words each holds, whatever the part."""
    coverage = np.tile(np.array(shares, np.float64), (parts, 1))
    nothing = np.zeros_like(coverage)
    return Evidence(coverage, coverage, coverage, np.full_like(coverage, math.nan), nothing, nothing)


def _check(recalled: Recalled[Text]) -> None:
    """Raise EvidenceUnusable for what no search answers: a cosine would vanish without a sign, a word count for nothing."""
    counted = (recalled.total, *recalled.frequencies)
    if not all(isinstance(count, int) and count >= 0 for count in counted):
        raise EvidenceUnusable("a count is no number")
    matched = recalled.matched
    if matched and (min(matched) < 0 or max(matched) >> len(recalled.frequencies)):
        raise EvidenceUnusable("a word was found that was not counted")
    cosines = np.fromiter(chain.from_iterable(recalled.cosines), np.float64)
    if not (np.abs(cosines) <= MOST_COSINE).all():
        raise EvidenceUnusable("a cosine is not between -1 and 1")


def inverse_frequencies(frequencies: Collection[int], total: int) -> list[float]:
    """Return what each word tells that so many of `total` texts hold; 0 but for the twelve that tell most.

    ln(1 + (N - n + 0.5) / (n + 0.5)), from Robertson and Zaragoza, The Probabilistic Relevance Framework, 2009.
    """
    idfs = [math.log(1 + (max(total, found) - found + 0.5) / (found + 0.5)) for found in frequencies]
    telling = set(sorted(range(len(idfs)), key=lambda place: (-idfs[place], place))[:_WEIGHED_WORDS])
    return [idf if place in telling else 0.0 for place, idf in enumerate(idfs)]


def weigh(
    recalled: Recalled[Text], weights: Sequence[Sequence[float]], standing: TextPositions | None = None
) -> Evidence:
    """Return the evidence of each text, a row for each part of the question.

    `weights` holds, for each part, the weight of each of the question's words: 0 for a word of another part.
    """
    around = _Around(standing) if standing and recalled.texts else None
    held = _held(recalled.matched, len(weights[0]))
    joint = around.either(held) if around else held
    cosines = _cosines(recalled.cosines, len(weights))
    rows = [
        _part(around, (held, joint), cosine, np.array(words, np.float64))
        for cosine, words in zip(cosines, weights, strict=True)
    ]
    return Evidence._make(map(np.stack, zip(*rows, strict=True)))


class _Around:
    """Who stands around whom: numbers are put in the order of groups and places, where neighbours are next to each other."""

    def __init__(self, standing: TextPositions) -> None:
        groups: dict[Hashable, int] = {}
        numbers = [groups.setdefault(group, len(groups)) for group in standing.groups]
        # Groups far enough apart that no distance within one reaches the next.
        keys = np.array(numbers, np.int64) * (1 << 40) + np.array(standing.places, np.int64)
        self._order = np.argsort(keys, kind="stable")
        ordered = keys[self._order]
        self._distances = [ordered[step:] - ordered[:-step] for step in range(1, _LOCAL_PLACES + 1)]

    def either(self, held: _Bits) -> _Bits:
        """Return what each text or one of those next to it holds."""
        ordered, either = held[self._order], np.empty_like(held)
        is_next = self._distances[0][:, None] == 1
        joint = ordered.copy()
        joint[:-1] |= ordered[1:] & is_next
        joint[1:] |= ordered[:-1] & is_next
        either[self._order] = joint
        return either

    def best(self, values: _Numbers, reach: int, start: _Numbers) -> _Numbers:
        """Return the best of `start` and of the values up to `reach` places away on either side."""
        ordered, highest, best = values[self._order], start[self._order], np.empty_like(values)
        for step, distances in enumerate(self._distances[:reach], start=1):
            within = np.where(distances <= reach, 0.0, -np.inf)
            np.maximum(highest[:-step], ordered[step:] + within, out=highest[:-step])
            np.maximum(highest[step:], ordered[:-step] + within, out=highest[step:])
        best[self._order] = highest
        return best


def _held(matched: Sequence[int], count: int) -> _Bits:
    """Return which of the question's first `count` words each text holds: a row a text."""
    bits = np.array(matched, np.uint64)[:, None] >> np.arange(count, dtype=np.uint64)
    return (bits & np.uint64(1)).astype(bool)


def _cosines(told: Sequence[Sequence[float]], parts: int) -> _Numbers:
    """Return the likeness of each text to each part of the question, a row a part; no number where there is none."""
    none = (math.nan,) * parts
    if not any(told):
        return np.full((parts, len(told)), math.nan)
    return np.array([(*one, *none)[:parts] for one in told], np.float64).T


def _part(around: _Around | None, bits: tuple[_Bits, _Bits], cosine: _Numbers, weights: _Numbers) -> Evidence:
    """Return the evidence for one part of the question, each column of one dimension. `bits` are what is held, and jointly."""
    held, joint = bits
    total = weights.sum() or 1.0
    coverage = np.minimum(held @ weights / total, 1.0)
    joint_coverage = np.minimum(joint @ weights / total, 1.0)
    has_vector = ~np.isnan(cosine)
    known, nothing = np.where(has_vector, cosine, 0.0), np.zeros(len(cosine))
    if around is None:
        return Evidence(coverage, joint_coverage, coverage, cosine, nothing, known)
    local = around.best(coverage, _LOCAL_PLACES, coverage)
    if not has_vector.any():
        return Evidence(coverage, joint_coverage, local, cosine, nothing, nothing)
    near = around.best(known, 1, nothing) * has_vector
    local_cosine = around.best(known, _LOCAL_PLACES, known) * has_vector
    return Evidence(coverage, joint_coverage, local, cosine, near, local_cosine)
