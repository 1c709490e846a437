"""Turns the vector of a question towards the vectors of turns that answer it.

An embedder puts a question near texts that resemble it; answers in talk often do not ("What does she do for a living?",
"still grading papers here"). A learnt linear map of the question's vector, of low rank, points from questions to answers. The
numbers in `answers.npz` were fitted on 2026-11-23 to the questions of LoCoMo and REALTALK and to the questions that people ask
each other there, with the next turns of the other person as answers, before `python -m bench answers` held the same steps; the
data's SHA-256 is that in `sidecar/turn/weights.py`. They read vectors of all-MiniLM-L6-v2-int8 only, and hold no text and no
vector of the data.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

FILE: Final = Path(__file__).with_suffix(".npz")
"""The map's two factors, in half precision. `python -m bench answers --write-weights` writes it."""

_FULL_LENGTH: Final = 5.0


def towards_answers(questions: Sequence[Sequence[float]]) -> NDArray[np.float64]:
    """Return for each question's vector one in the direction of its answers, no longer than 1.

    Its length tells how much the question is like those that the map was fitted to: .9 for most English ones, .4 for others.
    """
    question, answer = _factors()
    return shortened(np.array(questions, np.float64) @ question @ answer)


def shortened(turned: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the rows divided by five, and those that are longer than that by their length."""
    return np.asarray(turned / np.maximum(np.linalg.norm(turned, axis=1, keepdims=True), _FULL_LENGTH), np.float64)


@cache
def _factors() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the two factors of the map: from a vector to its rank, and back."""
    with np.load(FILE) as kept:
        return kept["question"].astype(np.float64), kept["answer"].astype(np.float64)
