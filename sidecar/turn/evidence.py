"""How well a text answers a question as far as search can tell: by its words, its vector, and the texts around it.

Numbers only, so that the same holds for a turn, a fact and a passage; what they mean together is judged in `rank`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Hashable, Sequence
from itertools import chain
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from sidecar.turn.reading import Part
from store.recalling import Recalled

_LOCAL_PLACES = 8
_WEIGHED_WORDS = 12
_MOST_COSINE = 1.01  # of vectors in single precision

Text = TypeVar("Text")
_Numbers = NDArray[np.float64]
_Places = NDArray[np.int64]
_Bits = NDArray[np.bool_]
_NOWHERE: _Places = np.zeros(0, np.int64)


class EvidenceUnusable(ValueError):
    """What search told of a text is not what it can tell."""


class Hit(NamedTuple):
    """What search found of one text. Hundreds are made a turn, which is why it is a tuple.

    Bit i of `matched` says that the text holds word i of the question; `cosines` are its likeness to each part of the question,
    empty where it has no vector. `group` is what it is a piece of (a session, a document), `place` where it stands there.
    """

    matched: int
    cosines: tuple[float, ...]
    group: Hashable
    place: int


class Evidence(NamedTuple):
    """What speaks for a text in answer to one part of a question, each 0 to 1 (a cosine may be below).

    `coverage` is the share of the words' weight that it holds, `joint_coverage` with the texts next to it; `near` is the best of
    those next to it, `local` the best within eight places, itself included. The cosines are None where it has no vector.
    """

    coverage: float
    joint_coverage: float
    local_coverage: float
    cosine: float | None = None
    near_cosine: float | None = None
    local_cosine: float | None = None


def evidence_of(
    recalled: Recalled[Text],
    parts: Sequence[Part],
    words: Sequence[str],
    stands: Callable[[Text], tuple[Hashable, int]],
) -> list[tuple[Evidence, ...]]:
    """Return the evidence of what was recalled by these words. `stands` tells a text's group, and its place there.

    Raises EvidenceUnusable.
    """
    _check(recalled)
    hits = [Hit(match.matched, match.cosines, *stands(match.text)) for match in recalled.matches]
    idfs = dict(zip(words, inverse_frequencies(recalled.frequencies, recalled.total), strict=False))
    asked = [frozenset(part.words) for part in parts]
    return weigh(hits, [[idf if word in words_of else 0.0 for word, idf in idfs.items()] for words_of in asked])


def _check(recalled: Recalled[Text]) -> None:
    """Raise EvidenceUnusable for what no search answers: a cosine would vanish without a sign, a word count for nothing."""
    counted = (recalled.total, *recalled.frequencies)
    if not all(isinstance(count, int) and count >= 0 for count in counted):
        raise EvidenceUnusable("a count is no number")
    matched = [match.matched for match in recalled.matches]
    if matched and (min(matched) < 0 or max(matched) >> len(recalled.frequencies)):
        raise EvidenceUnusable("a word was found that was not counted")
    cosines = np.fromiter(chain.from_iterable([match.cosines for match in recalled.matches]), np.float64)
    if not (np.abs(cosines) <= _MOST_COSINE).all():
        raise EvidenceUnusable("a cosine is not between -1 and 1")


def inverse_frequencies(frequencies: Collection[int], total: int) -> list[float]:
    """Return what each word tells that so many of `total` texts hold; 0 but for the twelve that tell most.

    ln(1 + (N - n + 0.5) / (n + 0.5)), from Robertson and Zaragoza, The Probabilistic Relevance Framework, 2009.
    """
    idfs = [math.log(1 + (max(total, found) - found + 0.5) / (found + 0.5)) for found in frequencies]
    telling = set(sorted(range(len(idfs)), key=lambda place: (-idfs[place], place))[:_WEIGHED_WORDS])
    return [idf if place in telling else 0.0 for place, idf in enumerate(idfs)]


def weigh(hits: Sequence[Hit], weights: Sequence[Sequence[float]]) -> list[tuple[Evidence, ...]]:
    """Return the evidence of each hit, one for each part of the question.

    `weights` holds, for each part, the weight of each of the question's words: 0 for a word of another part.
    """
    if not hits:
        return []
    around = _Around(hits)
    held = _held(hits, len(weights[0])) if weights else np.zeros((len(hits), 0), bool)
    joint = around.either(held)
    told = [
        _part(around, held, joint, _cosines(hits, index), np.array(words, np.float64))
        for index, words in enumerate(weights)
    ]
    return list(zip(*told, strict=True)) if told else [()] * len(hits)


class _Around:
    """Who stands beside whom: for each distance, pairs of hits of one group that far apart."""

    def __init__(self, hits: Sequence[Hit]) -> None:
        groups: dict[Hashable, int] = {}
        # Groups far enough apart that no distance within one reaches the next.
        numbers = np.array([groups.setdefault(hit.group, len(groups)) for hit in hits], np.int64)
        places = np.array([hit.place for hit in hits], np.int64)
        self._keys = numbers * (1 << 40) + places
        self._order = np.argsort(self._keys, kind="stable")
        self._sorted = self._keys[self._order]
        self._known: dict[int, tuple[_Places, _Places]] = {}
        self._is_each_alone = len(groups) == len(hits)

    def at(self, distance: int) -> tuple[_Places, _Places]:
        """Return the hits that have a neighbour this many places on, and those neighbours."""
        if self._is_each_alone:
            return _NOWHERE, _NOWHERE
        known = self._known.get(distance)
        if known is None:
            wanted = self._keys + distance
            found = np.minimum(np.searchsorted(self._sorted, wanted), len(wanted) - 1)
            has = np.flatnonzero(self._sorted[found] == wanted)
            known = self._known[distance] = has, self._order[found[has]]
        return known

    def either(self, held: _Bits) -> _Bits:
        """Return what each hit or one of those next to it holds."""
        either = held.copy()
        here, there = self.at(1)
        np.logical_or.at(either, here, held[there])
        np.logical_or.at(either, there, held[here])
        return either

    def best(self, values: _Numbers, reach: int, start: _Numbers) -> _Numbers:
        """Return the best of `start` and of the values up to `reach` places away on either side."""
        best = start.copy()
        for distance in range(1, reach + 1):
            here, there = self.at(distance)
            if not len(here):
                continue
            np.maximum.at(best, here, values[there])
            np.maximum.at(best, there, values[here])
        return best


def _held(hits: Sequence[Hit], count: int) -> _Bits:
    """Return which of the question's first `count` words each hit holds: a row a hit."""
    matched = np.array([hit.matched for hit in hits], np.uint64)
    return (matched[:, None] >> np.arange(count, dtype=np.uint64) & np.uint64(1)).astype(bool)


def _cosines(hits: Sequence[Hit], index: int) -> _Numbers:
    """Return each hit's likeness to a part of the question, and no number where it has none."""
    return np.array([hit.cosines[index] if index < len(hit.cosines) else np.nan for hit in hits])


def _part(around: _Around, held: _Bits, joint: _Bits, cosines: _Numbers, weights: _Numbers) -> list[Evidence]:
    total = weights.sum() or 1.0
    coverage = np.minimum(held @ weights / total, 1.0)
    joint_coverage = np.minimum(joint @ weights / total, 1.0)
    local = around.best(coverage, _LOCAL_PLACES, coverage)
    by_words = (coverage.tolist(), joint_coverage.tolist(), local.tolist())
    if np.isnan(cosines).all():
        return list(map(Evidence, *by_words))
    known = np.nan_to_num(cosines, nan=0.0)
    near = around.best(known, 1, np.zeros(len(cosines)))
    local_cosines = around.best(known, _LOCAL_PLACES, known)
    return [
        Evidence._make(row) if row[3] == row[3] else Evidence(*row[:3])
        for row in zip(*by_words, cosines.tolist(), near.tolist(), local_cosines.tolist(), strict=True)
    ]
