"""Judges whether what a source offers holds an answer at all, before each text is judged beside the others.

The best of a few texts always looks relevant beside its like. So a relevance is a product:

    p(text answers) = p(its kind holds an answer) * p(text answers | its kind holds an answer)

The first factor, of a logistic model (`calibration.HOLDS`), reads features that do not depend on how many texts there are. The
second is a curve (`calibration.CALIBRATION`), fitted where an answer is among the texts.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from sidecar.turn.weights import RankerWeights

FEATURE = "holds"
"""The name of an item's feature: the probability that its kind holds an answer."""

_PAGE, _FACT = "page", "fact"

_Numbers = NDArray[np.float64]


def holding_features(
    odds: _Numbers, cosines: _Numbers, coverages: _Numbers, *, has_unknown_name: bool, leaning: float
) -> dict[str, float]:
    """Return what the offered texts of a kind tell together: the best log odds, cosine and share of words with neighbours.

    Beside them, whether the message names somebody or something that no stored text of the kind does, and how far it leans on its
    thread: what goes on there was found before.
    """
    return {
        "best": float(odds.max()),
        "cosine": float(cosines.max()),
        "coverage": float(coverages.max()),
        "unknown": float(has_unknown_name),
        "leaning": leaning,
    }


def holdings(of_kinds: Mapping[str, Mapping[str, float]], weights: Mapping[str, RankerWeights]) -> dict[str, float]:
    """Return the probability of each of these kinds that its texts hold an answer, given what its texts tell together.

    Pages repeat memories, so beside facts they hold what those hold.
    """
    holds = {kind: probability(weights[kind], one) if kind in weights else 1.0 for kind, one in of_kinds.items()}
    return holds | ({_PAGE: holds[_FACT]} if _PAGE in holds and _FACT in holds else {})


def probability(weights: RankerWeights, features: Mapping[str, float]) -> float:
    """Return the probability of a logistic model."""
    score = weights.bias + sum(weight * features[name] for name, weight in weights.of.items())
    return 1 / (1 + math.exp(-max(-35.0, min(35.0, score))))
