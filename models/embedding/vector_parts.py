"""Which part of an embedder's vector is MiniLM's, by the name stored with it.

The numbers fitted to MiniLM's vectors (`sidecar.turn.calibration`, `answers`) read that part. Loads no model.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from numpy.typing import NDArray

MINILM: Final = "all-MiniLM-L6-v2-int8"
MULTILINGUAL: Final = "minilm-e5-small-q4"
WITH_MINILM: Final = (MINILM, MULTILINGUAL)
"""The embedders whose vectors have such a part."""

MINILM_DIMENSIONS: Final = 384
_SHARE: Final = 0.4
MINILM_LENGTH: Final = math.sqrt(_SHARE)
OTHER_LENGTH: Final = math.sqrt(1 - _SHARE)
"""The lengths of the two parts of a multilingual vector, of 768 numbers: a cosine is .4 of MiniLM's and .6 of the other's."""

_Numbers = NDArray[np.float64]


def as_minilm(name: str, vectors: _Numbers) -> _Numbers | None:
    """Return the rows as vectors of MiniLM; None if they have no such part."""
    if name == MULTILINGUAL:
        return vectors[:, :MINILM_DIMENSIONS] / MINILM_LENGTH
    return vectors if name == MINILM else None


def telling_part(name: str, vectors: _Numbers) -> _Numbers:
    """Return the part of the rows that knows most languages: of a multilingual vector the other model's, else all."""
    return vectors[:, MINILM_DIMENSIONS:] / OTHER_LENGTH if name == MULTILINGUAL else vectors


def from_minilm(name: str, vectors: _Numbers) -> _Numbers:
    """Return rows whose products with this embedder's vectors are those of the given ones with MiniLM's part."""
    return np.hstack([vectors / MINILM_LENGTH, np.zeros_like(vectors)]) if name == MULTILINGUAL else vectors
