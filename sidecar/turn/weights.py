"""The ranker's weights. placeholder"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Weights:
    """A logistic model: what each feature adds to the log odds per unit, and where they start."""

    bias: float
    of: Mapping[str, float]


BY_VECTORS = Weights(-4.0, {"cosine": 5.0})
BY_WORDS = Weights(-4.0, {"coverage": 5.0})
