"""Decides how far a message leans on its thread: not at all ("When did Ana move to Lisbon?"), or wholly ("And why then?").

A logistic model in two steps (`weights`). The message alone decides whether it is searched in its thread at all, so that most
messages that stand by themselves cost nothing more. After the search, the relevances with and without the thread decide too.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Final

import numpy as np
from numpy.typing import NDArray

from sidecar.turn.reading import Reading
from sidecar.turn.weights import LEANING, MAY_LEAN, RankerWeights
from store.text.texts import fold

_LEAST_CHANCE = 0.2  # of the message alone: it loses 1 in 200 of the follow-ups that need their thread
# Measured: without this ramp, messages that lean a little lose more than they gain.
_NONE_BELOW, _ALL_ABOVE = 0.35, 0.65
_WORD = re.compile(r"\w+")
_POINTING_WORDS: Final = """
    it its he him his she her hers they them their theirs this that these those there one ones then so else other another
    er ihn ihm ihr ihre ihren seine seinen sein dies dieser dieses diese jener dort dabei damit davon dazu danach dafür noch
    ele ela eles elas dele dela deles delas isso isto aquilo esse essa este esta aquele aquela lá também outro outra
    él ella ello ellos ellas eso esto aquello ese esa aquel aquella allí también otro otra
    il elle ils elles lui leur leurs cela ça celui celle ceux celles là aussi autre
    lui lei loro questo questa quello quella anche altro altra
"""
_POINTING: Final = frozenset(map(fold, _POINTING_WORDS.split()))
"""Words that point at something said before, in six languages."""


def may_lean(reading: Reading) -> bool:
    """Return whether the message may lean on its thread, judged by itself."""
    return _probability(MAY_LEAN, _of_message(reading)) >= _LEAST_CHANCE


def leaning(reading: Reading, own: NDArray[np.float64], in_thread: NDArray[np.float64]) -> float:
    """Return how far the message leans on its thread, 0 to 1.

    `own` and `in_thread` are the candidates' log odds of relevance for the message itself and for the message in its thread.
    """
    chance = _probability(LEANING, leaning_features(reading, own, in_thread))
    return min(1.0, max(0.0, (chance - _NONE_BELOW) / (_ALL_ABOVE - _NONE_BELOW)))


def leaning_features(reading: Reading, own: NDArray[np.float64], in_thread: NDArray[np.float64]) -> dict[str, float]:
    """Return the features that `leaning` judges: of the message, and how the two searches judge each other's best."""
    best, best_there = int(own.argmax()), int(in_thread.argmax())
    return _of_message(reading) | {
        "own_top": float(own[best]),
        "thread_top": float(in_thread[best_there]),
        "own_of_thread_best": float(own[best_there] - own[best]),
        "thread_of_own_best": float(in_thread[best] - in_thread[best_there]),
        "same_best": float(best == best_there),
        "repeated": reading.thread.repeated if reading.thread else 0.0,
    }


def _of_message(reading: Reading) -> dict[str, float]:
    written = [fold(word) for word in _WORD.findall(reading.parts[0].text)]
    return {
        "words": math.log1p(len(reading.words)),
        "pointing": sum(word in _POINTING for word in written) / max(1, len(written)),
        "length": math.log1p(len(written)),
    }


def _probability(weights: RankerWeights, features: Mapping[str, float]) -> float:
    score = weights.bias + sum(weight * features[name] for name, weight in weights.of.items())
    return 1 / (1 + math.exp(-max(-35.0, min(35.0, score))))
