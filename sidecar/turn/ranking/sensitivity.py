"""Judges by its vector whether a memory is sensitive: whether its owner would mind if a colleague or a stranger read it ("I owe
my brother 300 euros"). Most notes of agents are not ("Deploys happen on Tuesdays").

A sensitive memory must be more like the question than others (see `likeness`). The odds that a memory is sensitive are a linear
model of its vector. The database multiplies the model's `vector`, the probe, with those of the memories that it recalls, so that
vectors need not be read. `python -m bench sensitivity` fits the weights to our own notes in 25 languages
(`bench/training/sensitive.json`) and to the first groups of private memories in `bench/spend/privacy.json`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from models.embedding.vector_parts import MINILM, MULTILINGUAL

FILES: Final = {
    MINILM: Path(__file__).with_name("sensitivity_by_minilm.json"),
    MULTILINGUAL: Path(__file__).with_name("sensitivity_by_multilingual.json"),
}
"""By embedder, the file of the fitted weights and their origin."""

MOST_LENIENT: Final = 0.2
"""How much less like the question a memory may be, at most, that is certainly not sensitive. With more, questions that no note
answers bring notes back, and hardly more of those that answer others are found.
"""

# A question about the user's own life finds its memories almost without lenience, which would only add others.
_LEAST_LENIENT, _OF_ALOOFNESS = 0.03, 1.5
_STRICTNESS: Final = 0.01  # how much more like it a memory must be that certainly is sensitive
_PER_LOG_ODDS: Final = 2.0


class SensitivityWeights(NamedTuple):
    """A linear model of the log odds that a text is sensitive: a bias, and a coefficient for each dimension of its vector."""

    bias: float
    vector: tuple[float, ...]


def _read(path: Path) -> SensitivityWeights:
    payload = json.loads(path.read_text(encoding="utf-8"))
    return SensitivityWeights(payload["bias"], tuple(payload["vector"]))


SENSITIVITY: Final = {name: _read(path) for name, path in FILES.items()}
"""By embedder, the fitted weights. The `vector` of each is the probe of its memories."""


def lenience(products: Sequence[float | None], aloofness: float, embedder: str) -> NDArray[np.float64]:
    """Return the addend to the likeness of each memory, given the products of their vectors with the probe. `aloofness` is the
    deduction from likenesses (`likeness.aloofness`), less that of a question about the user's own life.

    The addend is -0.01 for a sensitive memory, and 0.03 plus 1.5 times the aloofness, at most 0.2, for one that is not; 0 if its
    product is unknown.
    """
    odds = np.array([np.nan if one is None else one for one in products], np.float64) + SENSITIVITY[embedder].bias
    sensitive = 1 / (1 + np.exp(-np.clip(_PER_LOG_ODDS * odds, -35, 35)))
    lenient = min(MOST_LENIENT, _LEAST_LENIENT + _OF_ALOOFNESS * aloofness)
    return np.nan_to_num((1 - sensitive) * lenient - sensitive * _STRICTNESS)
