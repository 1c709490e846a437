"""How well a text answers a question as far as search can tell: by its words, its vector, and the texts around it.

Numbers only, so that the same holds for a turn, a fact and a passage; what they mean together is judged in `rank`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from sidecar.turn.reading import Part
from store.recalling import Recalled

_LOCAL_PLACES = 8
_WEIGHED_WORDS = 12

Text = TypeVar("Text")
_Numbers = NDArray[np.float64]
_Places = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Hit:
    """What search found of one text.

    Bit i of `matched` says that the text holds word i of the question; `cosines` are its likeness to each part of the question,
    empty where it has no vector. `group` is what it is a piece of (a session, a document), `place` where it stands there.
    """

    matched: int
    cosines: tuple[float, ...]
    group: str
    place: int


@dataclass(frozen=True, slots=True)
class Evidence:
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
    recalled: Recalled[Text], parts: Sequence[Part], words: Sequence[str], stands: Callable[[Text], tuple[str, int]]
) -> list[tuple[Evidence, ...]]:
    """Return the evidence of what was recalled by these words. `stands` tells a text's group, and its place there."""
    hits = [Hit(match.matched, match.cosines, *stands(match.text)) for match in recalled.matches]
    idfs = dict(zip(words, inverse_frequencies(recalled.frequencies, recalled.total), strict=False))
    asked = [frozenset(part.words) for part in parts]
    return weigh(hits, [[idf if word in words_of else 0.0 for word, idf in idfs.items()] for words_of in asked])


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
    columns = [_part(hits, around, index, np.array(words, np.float64)) for index, words in enumerate(weights)]
    return [tuple(column[place] for column in columns) for place in range(len(hits))]


class _Around:
    """Who stands beside whom: for each distance, pairs of hits of one group that far apart."""

    def __init__(self, hits: Sequence[Hit]) -> None:
        groups: dict[str, int] = {}
        # Groups far enough apart that no distance within one reaches the next.
        numbers = np.array([groups.setdefault(hit.group, len(groups)) for hit in hits], np.int64)
        places = np.array([hit.place for hit in hits], np.int64)
        self._keys = numbers * (1 << 40) + places
        self._order = np.argsort(self._keys, kind="stable")
        self._sorted = self._keys[self._order]

    def at(self, distance: int) -> tuple[_Places, _Places]:
        """Return the hits that have a neighbour this many places on, and those neighbours."""
        wanted = self._keys + distance
        found = np.minimum(np.searchsorted(self._sorted, wanted), len(wanted) - 1)
        has = np.flatnonzero(self._sorted[found] == wanted)
        return has, self._order[found[has]]

    def best(self, values: _Numbers, reach: int, start: _Numbers) -> _Numbers:
        """Return the best of `start` and of the values up to `reach` places away on either side."""
        best = start.copy()
        for distance in range(1, reach + 1):
            here, there = self.at(distance)
            np.maximum.at(best, here, values[there])
            np.maximum.at(best, there, values[here])
        return best


def _part(hits: Sequence[Hit], around: _Around, index: int, weights: _Numbers) -> list[Evidence]:
    bits = np.array([[hit.matched >> bit & 1 for bit in range(len(weights))] for hit in hits], bool)
    bits = bits.reshape(len(hits), len(weights))
    total = weights.sum() or 1.0
    joint = bits.copy()
    here, there = around.at(1)
    np.logical_or.at(joint, here, bits[there])
    np.logical_or.at(joint, there, bits[here])
    coverage = np.minimum(bits @ weights / total, 1.0)
    local = around.best(coverage, _LOCAL_PLACES, coverage)
    cosines = np.array([hit.cosines[index] if index < len(hit.cosines) else np.nan for hit in hits])
    known = np.nan_to_num(cosines, nan=0.0)
    near = around.best(known, 1, np.zeros(len(hits)))
    local_cosines = around.best(known, _LOCAL_PLACES, known)
    joint_coverage = np.minimum(joint @ weights / total, 1.0)
    columns = (coverage, joint_coverage, local, cosines, near, local_cosines)
    return [
        Evidence(*row) if row[3] == row[3] else Evidence(*row[:3])
        for row in zip(*(column.tolist() for column in columns), strict=True)
    ]
