"""How much of a turn's time to keep for what follows the sources' answers, by what that took of late."""

from __future__ import annotations

from models.transport.endpoint import Latencies

_ITEM_S = 0.00003  # what an item takes until that has been measured
_TURN_ITEMS = 100  # what a turn takes beside its items, as items
_MARGIN = 1.5  # writing the answer takes less than half as long as fitting it
_WAY_S, _WAY_SHARE = 0.05, 0.1
_ROUNDED = 0.015  # gRPC tells a server up to a hundredth more than the caller waits


class Reserve:
    """Remembers how long turns took to fit, an item, and says from that how long the next will take.

    Seconds are of any steady clock, so a busy machine counts as a slow one.
    """

    def __init__(self) -> None:
        self._each_s = Latencies()

    def took(self, seconds: float, *, items: int) -> None:
        """Learn from a turn that took so long to fit so many items."""
        self._each_s.add(seconds / (items + _TURN_ITEMS))

    def seconds(self, time_s: float, items: int) -> float:
        """Return the seconds to keep of `time_s` for fitting so many items and sending the answer, never more than half."""
        fitting_s = _MARGIN * (self._each_s.p95_s() or _ITEM_S) * (items + _TURN_ITEMS)
        way_s = min(_WAY_S, _WAY_SHARE * time_s) + _ROUNDED * time_s
        return min(time_s / 2, fitting_s + way_s)
