"""Maps the ranker's log odds to the log odds that were observed for a kind of candidate."""

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
    """A rising curve from given to observed log odds: linear between its points, a constant shift beyond them.

    `lead`, at least 0, is the weight of `leads`.
    """

    points: tuple[tuple[float, float], ...]
    lead: float = NO_LEAD

    def observed(self, odds: _Odds) -> _Odds:
        """Return the observed log odds of all of one message's candidates of a kind. Their order by size stays the same."""
        raw, observed = np.array(self.points).T
        beyond = odds - np.clip(odds, raw[0], raw[-1])
        return np.asarray(np.interp(odds, raw, observed) + beyond + self.lead * leads(odds))


def leads(odds: _Odds) -> _Odds:
    """Return how far each candidate is ahead of the best other candidate, -6 to 4; 0 for a single candidate.

    A candidate far ahead of the others is likelier to answer than the ranker estimates, and one of many similar ones less likely.
    """
    if len(odds) < 2:
        return np.zeros(len(odds))
    second, first = np.partition(odds, len(odds) - 2)[-2:]
    return np.asarray(np.clip(np.where(odds == first, first - second, odds - first), _LEAST_LEAD, _MOST_LEAD))
