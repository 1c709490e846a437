"""Estimates how much of a turn's time to reserve for fitting and sending, from recent turns."""

from __future__ import annotations

from models.transport.endpoint import Latencies

_ITEM_S = 0.00003  # assumed per item until measured
_TURN_ITEMS = 100  # a turn's fixed cost, in items
_MARGIN = 1.5  # writing the answer takes less than half as long as fitting it
_WAY_S, _WAY_SHARE = 0.05, 0.1
_ROUNDED = 0.015  # gRPC reports a deadline up to 1 % later than the caller's


class Reserve:
    """Tracks the fitting time per item and estimates that of the next turn.

    Seconds are wall time on a monotonic clock, so a busy machine counts as a slow one.
    """

    def __init__(self) -> None:
        self._each_s = Latencies()

    def took(self, seconds: float, *, items: int) -> None:
        """Record that fitting `items` items took `seconds`."""
        self._each_s.add(seconds / (items + _TURN_ITEMS))

    def seconds(self, time_s: float, items: int) -> float:
        """Return how many of `time_s` seconds to reserve for fitting `items` items and sending; at most half."""
        fitting_s = _MARGIN * (self._each_s.p95_s() or _ITEM_S) * (items + _TURN_ITEMS)
        way_s = min(_WAY_S, _WAY_SHARE * time_s) + _ROUNDED * time_s
        return min(time_s / 2, fitting_s + way_s)
