"""Guesses from a question how many texts hold its answer: one for "When does the lease end?", many for "Which books did I read?".

A candidate far behind the best one is more likely to hold evidence for a broad question, and less likely for a narrow one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

MOST_BREADTH: Final = math.log(2)
_STRETCH: Final = 0.4  # of 0 to 1, likeliest over LoCoMo's and REALTALK's questions, each without its conversation


class BreadthWeights(NamedTuple):
    """The log of how many texts hold an answer, against the average question: a bias, and what each dimension of the question's
    vector adds.
    """

    bias: float
    vector: Sequence[float]


def breadth(weights: BreadthWeights, vector: Sequence[float], blind: float = 0.0) -> float:
    """Return the log of how many texts hold the answer to a question, against the average question: -log 2 to log 2.

    It counts less in a language that the embedder hardly knows (`likeness.blindness`, 0 to 1).
    """
    log_breadth = weights.bias + float(np.dot(np.array(weights.vector), np.array(vector)))
    return (1 - blind) * min(MOST_BREADTH, max(-MOST_BREADTH, log_breadth))


def stretched(odds: NDArray[np.float64], breadth: float) -> NDArray[np.float64]:
    """Return the log odds of one kind's candidates, each e^(-0.4 * breadth) times as far behind the best one."""
    if not breadth or not len(odds):
        return odds
    best = odds.max()
    return np.asarray(best - (best - odds) * math.exp(-_STRETCH * breadth))
