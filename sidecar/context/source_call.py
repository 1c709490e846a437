"""A running call to a source: when its time limit begins, and when the turn stops waiting for it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from models.transport.endpoint import Permit
from sidecar.context.ports import SourceAnswer, SourceLimits, SourceQuery
from sidecar.turn.items import Source
from sidecar.turn.profile import LOCAL_DEADLINE_MS
from store.scope import Scope

_TICKS = 10
# A timeout under a shorter deadline, which callers may set, says nothing about the source.
_FAIR_MS = LOCAL_DEADLINE_MS


@dataclass(slots=True)
class SourceCall:
    """A running call to a source: its time limit, the time at which the turn stops waiting, and the circuit breaker's permit.

    A built-in source's time limit starts with its query. Until then it may wait as long as the turn lasts, and a timeout does not
    count against it.
    """

    source: Source
    find: Callable[[SourceQuery, Scope, SourceLimits], Awaitable[SourceAnswer]]
    time_s: float
    due_s: float
    permit: Permit | None = None
    is_local: bool = False
    has_begun: bool = True
    began_s: float = 0.0
    is_settled: bool = False
    timeout: asyncio.Timeout | None = None
    answer: SourceAnswer = field(default_factory=SourceAnswer)

    @property
    def has_fair_time(self) -> bool:
        """Whether the time limit is long enough for a healthy source to answer."""
        return self.time_s * 1000 >= _FAIR_MS

    def had_fair_time(self, now_s: float) -> bool:
        """Whether the call has run as long as a healthy source may need. Otherwise its missing answer says nothing about it."""
        return self.has_begun and (now_s - self.began_s) * 1000 >= _FAIR_MS

    def begin(self, now_s: float) -> None:
        """Start the time limit of a built-in source now."""
        if self.has_begun or self.timeout is None:
            return
        self.has_begun, self.began_s = True, now_s
        self.time_s = max(0.0, min(self.time_s, self.due_s - now_s))
        self._tick(_TICKS)

    def _tick(self, left: int) -> None:
        """Spend one tenth of the time limit.

        A blocked event loop spends only one tenth, however long it is blocked, since an answer may have arrived meanwhile.
        """
        if self.timeout is None:
            return
        loop = asyncio.get_running_loop()
        if left:
            loop.call_later(self.time_s / _TICKS, self._tick, left - 1)
        else:
            self.timeout.reschedule(loop.time())
