"""Judges whether a source's candidates hold an answer at all, before each candidate is compared with the others.

The best of a few texts always looks relevant next to the others. So a relevance is a product:

    p(text answers) = p(its kind holds an answer) * p(text answers | its kind holds an answer)

The first factor comes from a logistic model (`calibration.HOLDS`) whose features do not depend on the number of texts. The
second comes from a curve (`calibration.CALIBRATION`), fitted to messages with an answer among the texts.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sidecar.turn.fitted.weights import RankerWeights

FEATURE = "holds"
"""The name of an item's feature: the probability that its kind holds an answer."""

_PAGE, _FACT = "page", "fact"

_Numbers = NDArray[np.float64]


class KindMatch(NamedTuple):
    """How well the texts of one kind match a message: their log odds of relevance, their cosines, and their shares of the
    message's words with neighbours. One entry per text.
    """

    odds: _Numbers
    cosines: _Numbers
    coverages: _Numbers


def holding_features(
    in_thread: KindMatch, alone: KindMatch, *, has_unknown_name: bool, leaning: float
) -> dict[str, float]:
    """Return features of all candidates of a kind together: their best log odds, cosine, and share of words with neighbours.

    Each of the three is given for the message read in its thread and for the message alone, because texts that match only the
    thread seldom hold an answer: its topic was found before. Two more features are of the message: whether it names a person or
    thing that no stored text of the kind names, and how far it leans on its thread (0 to 1).
    """
    return {
        "best": float(in_thread.odds.max()),
        "cosine": float(in_thread.cosines.max()),
        "coverage": float(in_thread.coverages.max()),
        "own_best": float(alone.odds.max()),
        "own_cosine": float(alone.cosines.max()),
        "own_coverage": float(alone.coverages.max()),
        "unknown": float(has_unknown_name),
        "leaning": leaning,
    }


def holdings(
    features_by_kind: Mapping[str, Mapping[str, float]], weights: Mapping[str, RankerWeights]
) -> dict[str, float]:
    """Return the probability that each kind's texts hold an answer, given its `holding_features`; 1 for a kind without weights.

    Pages repeat memories, so pages get the probability of facts if both are offered.
    """
    holds = {
        kind: weights[kind].probability(features) if kind in weights else 1.0
        for kind, features in features_by_kind.items()
    }
    return holds | ({_PAGE: holds[_FACT]} if _PAGE in holds and _FACT in holds else {})
