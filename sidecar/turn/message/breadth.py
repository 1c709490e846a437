"""Estimates how many texts hold a question's answer: one for "When does the lease end?", many for "Which books did I read?".

For a broad question, a candidate far behind the best one is more likely to hold evidence; for a narrow one, less likely.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

MOST_BREADTH: Final = math.log(2)
_STRETCH: Final = 0.4  # the likeliest of 0 to 1 on LoCoMo's and REALTALK's questions, by leave-one-conversation-out


class BreadthWeights(NamedTuple):
    """A linear model of a question's breadth: its intercept, and a coefficient for each dimension of the question's vector.

    Breadth is the log of the number of texts that hold an answer, relative to the average question.
    """

    bias: float
    vector: Sequence[float]


def breadth(weights: BreadthWeights, vector: Sequence[float], blind: float = 0.0) -> float:
    """Return the log of the number of texts that hold a question's answer, relative to the average question: -log 2 to log 2.

    It is scaled down by `blind`, 0 to 1, in a language that the embedder hardly knows (see `likeness.blindness`).
    """
    log_breadth = weights.bias + float(np.dot(np.array(weights.vector), np.array(vector)))
    return (1 - blind) * min(MOST_BREADTH, max(-MOST_BREADTH, log_breadth))


def stretched(odds: NDArray[np.float64], breadth: float) -> NDArray[np.float64]:
    """Return the log odds of one kind's candidates with their gaps to the best one multiplied by e^(-0.4 * breadth)."""
    if not breadth or not len(odds):
        return odds
    best = odds.max()
    return np.asarray(best - (best - odds) * math.exp(-_STRETCH * breadth))
