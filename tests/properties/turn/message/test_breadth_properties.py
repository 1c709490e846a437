"""Generated and hostile input for what `tests/unit/turn/message/test_breadth.py` tests by example."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sidecar.turn.message.breadth import MOST_BREADTH, stretched


@given(odds=st.lists(st.floats(-30, 30), min_size=1, max_size=20), wide=st.floats(-MOST_BREADTH, MOST_BREADTH))
def test_stretching_keeps_the_best_and_the_order(odds: list[float], wide: float) -> None:
    given_odds = np.array(odds)
    told = stretched(given_odds, wide)
    assert told.max() == given_odds.max()
    assert (np.diff(told[np.argsort(given_odds, kind="stable")]) >= 0).all()
    farther = (given_odds.max() - given_odds) - (told.max() - told)
    assert (farther >= -1e-9).all() if wide >= 0 else (farther <= 1e-9).all()
