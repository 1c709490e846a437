"""Computes search evidence of how well texts answer a question, from their words, their vectors, and the texts around them.

The columns are the same for turns, facts and passages. `rank` computes a relevance from them.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Iterable, Sequence
from itertools import chain
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from sidecar.turn.message.reading import QuestionPart
from store.content.recalling import Recalled, RecallQuery

MOST_COSINE = 1.01  # of vectors in single precision
_LOCAL_PLACES = 8
_WEIGHED_WORDS = 12
_THREAD_WORDS, _LEAST_IDF = 8, 2.0  # as the search functions choose them

Text = TypeVar("Text")
_Numbers = NDArray[np.float64]
_Bits = NDArray[np.bool_]


class EvidenceUnusable(ValueError):
    """A search result has impossible counts, matches or cosines."""


class TextPositions(NamedTuple):
    """The positions of texts: each text's group (a session, a document), and its place in the group."""

    groups: Sequence[Hashable]
    places: Sequence[int]


class Evidence(NamedTuple):
    """Evidence for texts: one row per part of the question, one column per text; 0 to 1, cosines -1 to 1.

    `coverage` is the share of the words' weight that a text holds; `joint_coverage` counts its direct neighbours too.
    `near_*` is the best of the direct neighbours, `local_*` the best within eight places, including the text itself.
    `answer_cosine` is the cosine with the vector towards the part's answers, less the mean over these texts; 0 if unknown. For a
    text without a vector, `cosine` is NaN and the other cosines are 0.
    """

    coverage: _Numbers
    joint_coverage: _Numbers
    local_coverage: _Numbers
    cosine: _Numbers
    near_cosine: _Numbers
    local_cosine: _Numbers
    answer_cosine: _Numbers

    def of(self, places: Sequence[int]) -> Evidence:
        """Return the evidence of the texts at these places."""
        return Evidence._make(numbers[:, places] for numbers in self)

    def last_as_first(self, places: Sequence[int]) -> Evidence:
        """Return this evidence with the last part's rows set to the first part's for the texts at these places."""
        rows = [numbers.copy() for numbers in self]
        for numbers in rows:
            numbers[-1, places] = numbers[0, places]
        return Evidence._make(rows)

    def beside(self, other: Evidence) -> Evidence:
        """Return this evidence with the columns of the other appended."""
        return Evidence._make(np.hstack(both) for both in zip(self, other, strict=True))


def evidence_of(
    recalled: Recalled[Text], query: RecallQuery, parts: Sequence[QuestionPart], positions: TextPositions | None = None
) -> Evidence:
    """Return the evidence of the texts recalled for this query. Without `positions`, texts have no neighbours.

    Raises EvidenceUnusable.
    """
    _check(recalled)
    idfs = dict(zip(query.words, _idfs(recalled, query.weights), strict=False))
    words_by_part = [frozenset(part.words) for part in parts]
    weights = [[idf if word in words_of else 0.0 for word, idf in idfs.items()] for words_of in words_by_part]
    return weigh(recalled, weights, positions)._replace(answer_cosine=_answer_cosines(recalled.cosines, len(parts)))


def unknown_words(recalled: Recalled[Text], query: RecallQuery) -> frozenset[str]:
    """Return the query's words that no text of the source holds."""
    counted = zip(query.words, recalled.frequencies, strict=False)
    return frozenset(word for word, count in counted if not count)


def _answer_cosines(cosines: Sequence[Sequence[float]], parts: int) -> _Numbers:
    """Return the cosines with the answer vectors, which follow those with the parts, each row less its mean.

    A part without an answer vector gets the row of the whole message.
    """
    answers = max(map(len, cosines), default=0) - parts
    if answers <= 0:
        return np.zeros((parts, len(cosines)))
    rows = _cosines([text_cosines[parts:] for text_cosines in cosines], answers)
    centred = np.nan_to_num(rows - np.nanmean(rows, axis=1, keepdims=True))
    return np.asarray(centred[[part if part < answers else 0 for part in range(parts)]], np.float64)


def _idfs(recalled: Recalled[Text], shares: Sequence[float]) -> list[float]:
    """Return each word's weight: the inverse frequency of the message's own words, then that of the thread's times its share.

    All but the best eight of the thread's words get 0.
    """
    own_count = sum(share >= 1.0 for share in shares) if shares else len(recalled.frequencies)
    counts, total = recalled.frequencies, recalled.total
    thread_weights = [
        idf * share if count and idf >= _LEAST_IDF else 0.0
        for count, idf, share in zip(
            counts[own_count:], _idf(counts[own_count:], total), shares[own_count:], strict=False
        )
    ]
    best = sorted(range(len(thread_weights)), key=lambda place: (-thread_weights[place], place))[:_THREAD_WORDS]
    return [
        *inverse_frequencies(counts[:own_count], total),
        *(weight if place in best else 0.0 for place, weight in enumerate(thread_weights)),
    ]


def of_shares(shares: Sequence[float], *, parts: int) -> Evidence:
    """Return evidence for texts of which only the share of the question's words is known, the same for every part."""
    coverage = np.tile(np.array(shares, np.float64), (parts, 1))
    zeros = np.zeros_like(coverage)
    return Evidence(coverage, coverage, coverage, np.full_like(coverage, math.nan), zeros, zeros, zeros)


def _check(recalled: Recalled[Text]) -> None:
    """Raise EvidenceUnusable for impossible values, which would otherwise pass unnoticed as missing evidence."""
    counted = (recalled.total, *recalled.frequencies)
    if not all(isinstance(count, int) and count >= 0 for count in counted):
        raise EvidenceUnusable("a count is not a natural number")
    matched = recalled.matched
    if matched and (min(matched) < 0 or max(matched) >> len(recalled.frequencies)):
        raise EvidenceUnusable("a match refers to a word that has no count")
    cosines = np.fromiter(chain.from_iterable(recalled.cosines), np.float64)
    if not (np.abs(cosines) <= MOST_COSINE).all():
        raise EvidenceUnusable("a cosine is not between -1 and 1")


def inverse_frequencies(frequencies: Collection[int], total: int) -> list[float]:
    """Return each word's inverse document frequency among `total` texts; 0 for all but the twelve highest.

    ln(1 + (N - n + 0.5) / (n + 0.5)), from Robertson and Zaragoza, The Probabilistic Relevance Framework, 2009.
    """
    idfs = _idf(frequencies, total)
    highest = set(sorted(range(len(idfs)), key=lambda place: (-idfs[place], place))[:_WEIGHED_WORDS])
    return [idf if place in highest else 0.0 for place, idf in enumerate(idfs)]


def _idf(frequencies: Iterable[int], total: int) -> list[float]:
    return [math.log(1 + (max(total, count) - count + 0.5) / (count + 0.5)) for count in frequencies]


def weigh(
    recalled: Recalled[Text], weights: Sequence[Sequence[float]], positions: TextPositions | None = None
) -> Evidence:
    """Return the evidence of the texts, one row per part of the question.

    `weights` holds, for each part, the weight of each of the question's words: 0 for a word of another part.
    """
    neighbours = _Neighbours(positions) if positions and recalled.texts else None
    held = _held(recalled.matched, len(weights[0]))
    joint = neighbours.joined(held) if neighbours else held
    coverage, joint_coverage = _shares(held, weights), _shares(joint, weights)
    cosine = _cosines(recalled.cosines, len(weights))
    has_vector = ~np.isnan(cosine)
    known, zeros = np.where(has_vector, cosine, 0.0), np.zeros_like(cosine)
    if neighbours is None:
        return Evidence(coverage, joint_coverage, coverage, cosine, zeros, known, zeros)
    local = neighbours.best(coverage, _LOCAL_PLACES, coverage)
    if not has_vector.any():
        return Evidence(coverage, joint_coverage, local, cosine, zeros, zeros, zeros)
    near = neighbours.best(known, 1, zeros) * has_vector
    local_cosine = neighbours.best(known, _LOCAL_PLACES, known) * has_vector
    return Evidence(coverage, joint_coverage, local, cosine, near, local_cosine, zeros)


def _shares(held: _Bits, weights: Sequence[Sequence[float]]) -> _Numbers:
    """Return the share of the words' weight that each text holds, one row for each part of the question."""
    numbers = held.astype(np.float64)
    parts = [np.array(words, np.float64) for words in weights]
    return np.stack([np.minimum(numbers @ words / (words.sum() or 1.0), 1.0) for words in parts])


class _Neighbours:
    """Finds neighbouring texts by sorting on group and place, which puts neighbours next to each other."""

    def __init__(self, positions: TextPositions) -> None:
        groups: dict[Hashable, int] = {}
        numbers = [groups.setdefault(group, len(groups)) for group in positions.groups]
        # Keys of different groups are farther apart than any two places of one group.
        keys = np.array(numbers, np.int64) * (1 << 40) + np.array(positions.places, np.int64)
        self._order = np.argsort(keys, kind="stable")
        ordered = keys[self._order]
        self._distances = [ordered[step:] - ordered[:-step] for step in range(1, _LOCAL_PLACES + 1)]

    def joined(self, held: _Bits) -> _Bits:
        """Return which words each text or a direct neighbour holds."""
        ordered, joined = held[self._order], np.empty_like(held)
        is_next = self._distances[0][:, None] == 1
        joint = ordered.copy()
        joint[:-1] |= ordered[1:] & is_next
        joint[1:] |= ordered[:-1] & is_next
        joined[self._order] = joint
        return joined

    def best(self, values: _Numbers, reach: int, start: _Numbers) -> _Numbers:
        """Return the best of `start` and of the values up to `reach` places away on either side, row by row."""
        ordered, highest, best = values[:, self._order], start[:, self._order], np.empty_like(values)
        for step, distances in enumerate(self._distances[:reach], start=1):
            within = np.where(distances <= reach, 0.0, -np.inf)
            np.maximum(highest[:, :-step], ordered[:, step:] + within, out=highest[:, :-step])
            np.maximum(highest[:, step:], ordered[:, :-step] + within, out=highest[:, step:])
        best[:, self._order] = highest
        return best


def _held(matched: Sequence[int], count: int) -> _Bits:
    """Return which of the question's first `count` words each text holds, one row per text."""
    bits = np.array(matched, np.uint64)[:, None] >> np.arange(count, dtype=np.uint64)
    return (bits & np.uint64(1)).astype(bool)


def _cosines(cosines: Sequence[Sequence[float]], parts: int) -> _Numbers:
    """Return the cosine of each text with each part of the question, one row per part; NaN without a vector."""
    if not any(cosines):
        return np.full((parts, len(cosines)), math.nan)
    if all(len(one) == parts for one in cosines):
        return np.array(cosines, np.float64).T
    nans = (math.nan,) * parts
    return np.array([(*one, *nans)[:parts] for one in cosines], np.float64).T
