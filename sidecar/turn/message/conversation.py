"""Reads a message together with its thread: adds words of the thread to its search, and computes a vector of both.

"And the second one?" says little by itself. The message in its thread becomes one more part of the question. After the search,
`rank` decides how far the message leans on its thread, which is the weight of that part.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from sidecar.turn.message.reading import InThread, QuestionPart, Reading
from store.content.recalling import MAX_PARTS, MAX_WORDS, EarlierTurn
from store.text.texts import query_words
from store.text.words import STOP_WORDS

MOST_TURNS: Final = 24
"""The number of newest turns that a message is read with."""

_VECTOR_EXCHANGES, _VECTOR_DECAY, _VECTOR_SHARE = 9, 0.8, 0.6
_WORD_EXCHANGES, _WORD_DECAY = 4, 0.6
_USER_WORDS, _OTHER_WORDS = 0.5, 0.3
_OFFERED_WORDS = 24  # the sources keep the best eight of them by their own counts
_YEAR_DIGITS = 4
_USER: Final = "user"

_Vector = NDArray[np.float64]


def in_thread(reading: Reading, turns: Sequence[EarlierTurn]) -> Reading:
    """Return the reading with the message in its thread as a last part; unchanged without turns or room for a part.

    `turns` are earlier turns of the thread, oldest first.
    """
    if not turns or len(reading.parts) >= MAX_PARTS:
        return reading
    thread_weights = _thread_words(turns)
    message_words = reading.words
    offered = {word: weight for word, weight in thread_weights.items() if word not in message_words}
    best = sorted(offered, key=lambda word: (-offered[word] * _estimated_rarity(word), word))
    room = max(0, min(_OFFERED_WORDS, MAX_WORDS - len(message_words)))
    weights = {word: round(offered[word], 4) for word in best[:room]}
    whole = reading.parts[0]
    part = QuestionPart(whole.text, (*whole.words, *weights))
    repeated = sum(word in thread_weights for word in message_words) / max(1, len(message_words))
    return replace(reading, parts=(*reading.parts, part), thread=InThread(weights, _first(turns), repeated))


def vector_in_thread(
    own: Sequence[float], turns: Sequence[EarlierTurn], vectors: Sequence[Sequence[float] | None]
) -> _Vector:
    """Return the unit vector of a message in its thread: its own vector plus those of the turns of the last nine exchanges.

    A turn's weight falls with its age in exchanges. The turns of one role in one exchange share the weight of one turn. Turns
    without a vector are skipped.
    """
    total = np.array(own, np.float64)
    ages = _ages(turns)
    counts = Counter((age, turn.role == _USER) for age, turn in zip(ages, turns, strict=True))
    for age, turn, vector in zip(ages, turns, vectors, strict=True):
        if vector is not None and age < _VECTOR_EXCHANGES:
            weight = _VECTOR_SHARE * _VECTOR_DECAY**age / counts[age, turn.role == _USER]
            total += weight * np.array(vector, np.float64)
    return total / (np.linalg.norm(total) or 1.0)


def _first(turns: Sequence[EarlierTurn]) -> int:
    """Return the position of the first of the newest turns. The thread's first turn may be listed before them, after a gap."""
    is_apart = len(turns) > 1 and turns[1].position - turns[0].position > MOST_TURNS
    return turns[is_apart].position


def _ages(turns: Sequence[EarlierTurn]) -> list[int]:
    """Return the age of each turn in exchanges; a user turn begins an exchange."""
    ages, age = [], 0
    for turn in reversed(turns):
        ages.append(age)
        age += turn.role == _USER
    return ages[::-1]


def _thread_words(turns: Sequence[EarlierTurn]) -> dict[str, float]:
    """Return the search words of the last exchanges and of the first turn, each with its weight, 0 to 1."""
    weights: dict[str, float] = {}
    for place, (age, turn) in enumerate(zip(_ages(turns), turns, strict=True)):
        if age < _WORD_EXCHANGES or not place:
            share = _USER_WORDS if turn.role == _USER else _OTHER_WORDS
            weight = share * _WORD_DECAY ** min(age, _WORD_EXCHANGES)
            for word in query_words(turn.text):
                if word in STOP_WORDS or (word.isdigit() and len(word) < _YEAR_DIGITS):
                    continue  # a small number occurs in texts about anything
                weights[word] = max(weights.get(word, 0.0), weight)
    return weights


def _estimated_rarity(word: str) -> float:
    """Return an estimate of a word's rarity from its length and digits, before any source has counted it."""
    return min(len(word), 10) + 4.0 * any(map(str.isdigit, word))
