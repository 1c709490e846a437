"""Turns the ranker's log odds into those that were observed for a kind of candidate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

_LEAST_LEAD, _MOST_LEAD = -6.0, 4.0
NO_LEAD: Final = 0.0

_Odds = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class RelevanceCurve:
    """Log odds as given and as observed, rising: between the points a line, beyond them a shift.

    `lead`, from 0 on, is the weight of `leads`.
    """

    points: tuple[tuple[float, float], ...]
    lead: float = NO_LEAD

    def observed(self, odds: _Odds) -> _Odds:
        """Return the observed log odds of one message's candidates of a kind, in the same order of size."""
        raw, observed = np.array(self.points).T
        beyond = odds - np.clip(odds, raw[0], raw[-1])
        return np.asarray(np.interp(odds, raw, observed) + beyond + self.lead * leads(odds))


def leads(odds: _Odds) -> _Odds:
    """Return how far each candidate is ahead of the best other one, within bounds; 0 for one that is alone.

    An answer that stands alone is likelier than the ranker says, and one of many alike is less.
    """
    if len(odds) < 2:
        return np.zeros(len(odds))
    second, first = np.partition(odds, len(odds) - 2)[-2:]
    return np.asarray(np.clip(np.where(odds == first, first - second, odds - first), _LEAST_LEAD, _MOST_LEAD))
