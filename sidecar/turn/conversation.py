"""Reads a message in its conversation: which words of the thread a message may need, and the vector it has there.

"And the second one?" says little by itself. The message in its thread becomes one further part of the question; after the search
`rank` decides how far the message leans on its thread, and so how much that part counts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from sidecar.turn.reading import InThread, QuestionPart, Reading
from store.content.recalling import MAX_PARTS, MAX_WORDS, EarlierTurn
from store.text.texts import query_words
from store.text.words import STOP_WORDS

MOST_TURNS: Final = 24
"""The newest turns that a message is read with."""

_EXCHANGES, _FADING, _SHARE = 9, 0.8, 0.6  # of vectors
_WORD_EXCHANGES, _WORD_FADING = 4, 0.6
_USER_WORDS, _OTHER_WORDS = 0.5, 0.3
_OFFERED_WORDS = 24  # the sources keep the eight best of them by their own counts
_YEAR_DIGITS = 4
_USER: Final = "user"

_Vector = NDArray[np.float64]


def in_thread(reading: Reading, turns: Sequence[EarlierTurn]) -> Reading:
    """Return the reading with the message in its thread as a last part; unchanged without turns or room for a part.

    `turns` are earlier turns of the thread, oldest first.
    """
    if not turns or len(reading.parts) >= MAX_PARTS:
        return reading
    said = _words_said(turns)
    own = reading.words
    offered = {word: weight for word, weight in said.items() if word not in own}
    best = sorted(offered, key=lambda word: (-offered[word] * _telling(word), word))
    room = max(0, min(_OFFERED_WORDS, MAX_WORDS - len(own)))
    weights = {word: round(offered[word], 4) for word in best[:room]}
    whole = reading.parts[0]
    part = QuestionPart(whole.text, (*whole.words, *weights))
    repeated = sum(word in said for word in own) / max(1, len(own))
    return replace(reading, parts=(*reading.parts, part), thread=InThread(weights, _first(turns), repeated))


def vector_in_thread(
    own: Sequence[float], turns: Sequence[EarlierTurn], vectors: Sequence[Sequence[float] | None]
) -> _Vector:
    """Return the unit vector of a message in its thread: its own, and the turns' of the last nine exchanges, fading with age.

    A turn without a vector does not count. Turns of one role in one exchange count together as one.
    """
    total = np.array(own, np.float64)
    ages = _ages(turns)
    counts = Counter((age, turn.role == _USER) for age, turn in zip(ages, turns, strict=True))
    for age, turn, vector in zip(ages, turns, vectors, strict=True):
        if vector is not None and age < _EXCHANGES:
            total += _SHARE * _FADING**age / counts[age, turn.role == _USER] * np.array(vector, np.float64)
    return total / (np.linalg.norm(total) or 1.0)


def _first(turns: Sequence[EarlierTurn]) -> int:
    """Return the position of the first of the newest turns; the thread's very first may stand apart from them."""
    is_apart = len(turns) > 1 and turns[1].position - turns[0].position > MOST_TURNS
    return turns[is_apart].position


def _ages(turns: Sequence[EarlierTurn]) -> list[int]:
    """Return how many exchanges ago each turn was said; a user turn begins one."""
    ages, age = [], 0
    for turn in reversed(turns):
        ages.append(age)
        age += turn.role == _USER
    return ages[::-1]


def _words_said(turns: Sequence[EarlierTurn]) -> dict[str, float]:
    """Return the search words of the last exchanges and of the first turn, each with its weight, 0 to 1."""
    said: dict[str, float] = {}
    for place, (age, turn) in enumerate(zip(_ages(turns), turns, strict=True)):
        if age < _WORD_EXCHANGES or not place:
            share = _USER_WORDS if turn.role == _USER else _OTHER_WORDS
            weight = share * _WORD_FADING ** min(age, _WORD_EXCHANGES)
            for word in query_words(turn.text):
                if word in STOP_WORDS or (word.isdigit() and len(word) < _YEAR_DIGITS):
                    continue  # a small number of the talk stands in texts about anything
                said[word] = max(said.get(word, 0.0), weight)
    return said


def _telling(word: str) -> float:
    """Return a guess of how rare a word is, by its length, before any source counted it."""
    return min(len(word), 10) + 4.0 * any(map(str.isdigit, word))
