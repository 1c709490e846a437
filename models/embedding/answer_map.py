"""Maps the vector of a question to a vector towards the turns that answer it.

An embedder puts a question near texts that resemble it, but answers in conversations often do not ("What does she do for a
living?", "still grading papers here"). A learned linear map of low rank leads from a question's vector towards its answers.

The weights in `answer_map.npz` were fitted on 2026-11-23, before `python -m bench answers` existed, which now does the same
steps. The data are the questions of LoCoMo and REALTALK, and the questions that people ask each other there, with the other
person's next turns as answers; their SHA-256 is that in `sidecar/turn/fitted/weights.py`. The weights fit only vectors of
all-MiniLM-L6-v2-int8, and hold no text and no vector of the data.
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
    """Return for each question's vector a vector in the direction of its answers, of length 1 at most.

    The length shows how much the question is like those that the map was fitted to: .9 for most English questions, .4 for others.
    """
    question, answer = _factors()
    return shortened(np.array(questions, np.float64) @ question @ answer)


def shortened(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the rows divided by five, or by their length if that is greater."""
    return np.asarray(rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), _FULL_LENGTH), np.float64)


@cache
def _factors() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the two factors of the map: into the space of its rank, and back."""
    with np.load(FILE) as factors:
        return factors["question"].astype(np.float64), factors["answer"].astype(np.float64)
