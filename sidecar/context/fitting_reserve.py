"""Estimates from recent turns how much of a turn's time to reserve for fitting and sending."""

from __future__ import annotations

from models.transport.endpoint import Latencies

_ITEM_S = 0.00003  # assumed per item until measured
_TURN_ITEMS = 100  # a turn's fixed cost, as a number of items
_MARGIN = 1.5  # serializing the answer takes less than half as long as fitting it
_NETWORK_S, _NETWORK_SHARE = 0.05, 0.1
_DEADLINE_ERROR = 0.015  # gRPC reports a deadline up to 1 % later than the caller's


class Reserve:
    """Tracks the fitting time per item to estimate the fitting time of the next turn.

    Seconds are elapsed time on a monotonic clock, so load on the machine counts.
    """

    def __init__(self) -> None:
        self._each_s = Latencies()

    def took(self, seconds: float, *, items: int) -> None:
        """Record that fitting `items` items took `seconds`."""
        self._each_s.add(seconds / (items + _TURN_ITEMS))

    def seconds(self, time_s: float, items: int) -> float:
        """Return the seconds to reserve for fitting `items` items and sending the answer; at most half of `time_s`."""
        fitting_s = _MARGIN * (self._each_s.p95_s() or _ITEM_S) * (items + _TURN_ITEMS)
        network_s = min(_NETWORK_S, _NETWORK_SHARE * time_s) + _DEADLINE_ERROR * time_s
        return min(time_s / 2, fitting_s + network_s)
