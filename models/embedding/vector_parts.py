"""The parts of an embedder's vectors, by the embedder's name.

The weights fitted to MiniLM's vectors (`sidecar.turn.fitted.calibration`, `answers`) apply to MiniLM's part. Loads no model.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from numpy.typing import NDArray

MINILM: Final = "all-MiniLM-L6-v2-int8"
MULTILINGUAL: Final = "minilm-e5-small-q4"
WITH_MINILM: Final = (MINILM, MULTILINGUAL)
"""The embedders whose vectors have a part of MiniLM."""

MINILM_DIMENSIONS: Final = 384
_SHARE: Final = 0.4
MINILM_LENGTH: Final = math.sqrt(_SHARE)
OTHER_LENGTH: Final = math.sqrt(1 - _SHARE)
"""The lengths of the two parts of a multilingual vector of 768 numbers. A cosine is .4 of MiniLM's plus .6 of the other model's.
"""

_Numbers = NDArray[np.float64]


def as_minilm(name: str, vectors: _Numbers) -> _Numbers | None:
    """Return MiniLM's vectors in the rows; None if the embedder has no part of MiniLM."""
    if name == MULTILINGUAL:
        return vectors[:, :MINILM_DIMENSIONS] / MINILM_LENGTH
    return vectors if name == MINILM else None


def telling_part(name: str, vectors: _Numbers) -> _Numbers:
    """Return the part of the rows that knows most languages: the other model's for multilingual vectors, otherwise the rows."""
    return vectors[:, MINILM_DIMENSIONS:] / OTHER_LENGTH if name == MULTILINGUAL else vectors


def from_minilm(name: str, vectors: _Numbers) -> _Numbers:
    """Return rows whose dot products with this embedder's vectors equal those of the given rows with MiniLM's vectors."""
    return np.hstack([vectors / MINILM_LENGTH, np.zeros_like(vectors)]) if name == MULTILINGUAL else vectors
