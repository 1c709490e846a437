"""Admission control: a bounded number of concurrent calls, a bounded and fair queue, and quick refusals.

The queue is round-robin over tenants, and within a tenant over its callers, so a burst delays only its own sender. Health
checks bypass it.
"""

from __future__ import annotations

import asyncio
import math
from collections import Counter, OrderedDict, deque
from collections.abc import AsyncIterator, Callable, Hashable
from contextlib import asynccontextmanager
from functools import partial
from typing import Protocol
from uuid import UUID

from sidecar.runtime.errors import Overloaded, SettingInvalid

MIN_RETRY_S = 0.05
MAX_RETRY_S = 5.0

_HOLD_WEIGHT = 0.1  # weight of the newest hold time in the moving average


class Timer(Protocol):
    """A scheduled callback."""

    def cancel(self) -> None:
        """Cancel the callback; does nothing once it has run."""


class Clock(Protocol):
    """A clock that schedules callbacks, in its own seconds. A running event loop is one."""

    def time(self) -> float:
        """Return the current time in seconds."""

    def call_at(self, when: float, callback: Callable[[], object], /) -> Timer:
        """Schedule a callback at that time."""


class Waiter:
    """One queued call. Its verdict becomes True when it gets a slot, False when it is refused."""

    __slots__ = ("caller", "tenant_id", "verdict")

    def __init__(self, tenant_id: UUID, caller: Hashable, verdict: asyncio.Future[bool]) -> None:
        self.tenant_id = tenant_id
        self.caller = caller
        self.verdict = verdict


class Slot:
    """A slot that a call holds until it leaves."""

    __slots__ = ("_leave",)

    def __init__(self, leave: Callable[[], None]) -> None:
        self._leave: Callable[[], None] | None = leave

    def leave(self) -> None:
        """Release the slot to the next waiter. Idempotent."""
        leave, self._leave = self._leave, None
        if leave is not None:
            leave()


_NO_CALLERS: OrderedDict[Hashable, deque[Waiter]] = OrderedDict()


class WaitingRoom:
    """A queue that is round-robin over tenants, and within each tenant over its callers."""

    def __init__(self) -> None:
        self._rounds: OrderedDict[UUID, OrderedDict[Hashable, deque[Waiter]]] = OrderedDict()
        self._counts: Counter[UUID] = Counter()
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def add(self, waiter: Waiter) -> None:
        """Append the waiter to its caller's queue."""
        callers = self._rounds.setdefault(waiter.tenant_id, OrderedDict())
        callers.setdefault(waiter.caller, deque()).append(waiter)
        self._counts[waiter.tenant_id] += 1
        self._size += 1

    def remove(self, waiter: Waiter) -> None:
        """Remove the waiter if it is still queued."""
        callers = self._rounds.get(waiter.tenant_id, _NO_CALLERS)
        queue = callers.get(waiter.caller, ())
        if waiter not in queue:
            return
        callers[waiter.caller].remove(waiter)
        self._counts[waiter.tenant_id] -= 1
        self._size -= 1
        if not queue:
            del callers[waiter.caller]
        if not callers:
            del self._rounds[waiter.tenant_id], self._counts[waiter.tenant_id]

    def take_next(self, has_room: Callable[[UUID], bool]) -> Waiter | None:
        """Remove and return the next waiter of a tenant that has room; None if there is none."""
        tenant_id = next((tenant_id for tenant_id in self._rounds if has_room(tenant_id)), None)
        if tenant_id is None:
            return None
        callers = self._rounds[tenant_id]
        caller = next(iter(callers))
        waiter = callers[caller][0]
        self._rounds.move_to_end(tenant_id)
        callers.move_to_end(caller)
        self.remove(waiter)
        return waiter

    def ahead_of(self, tenant_id: UUID) -> int:
        """Return the number of waiters that would get a slot before a new one of this tenant, without further arrivals."""
        return min(self._size, (self._counts[tenant_id] + 1) * len(self._rounds))

    def displaced_by(self, tenant_id: UUID, caller: Hashable) -> Waiter | None:
        """Return the waiter that a new caller displaces from a full queue: the newest of the longest queue.

        None if the new caller's own queue would become the longest: then the new caller is refused.
        """
        longest = max(self._counts, key=self._counts.__getitem__, default=tenant_id)
        if self._counts[longest] > self._counts[tenant_id] + 1:
            return self._newest(longest)
        callers = self._rounds.get(tenant_id, _NO_CALLERS)
        widest = max((len(queue) for queue in callers.values()), default=0)
        return self._newest(tenant_id) if widest > len(callers.get(caller, ())) + 1 else None

    def _newest(self, tenant_id: UUID) -> Waiter:
        return max(self._rounds[tenant_id].values(), key=len)[-1]


class AdmissionControl:
    """Admits at most `max_in_flight` concurrent calls, `per_tenant_in_flight` per tenant, and queues at most `max_waiting`.

    A call waits at most `max_wait_s` seconds. If the queue is full, a call is refused at once, unless it displaces a waiter
    of a longer queue.
    """

    def __init__(
        self, *, max_in_flight: int, max_waiting: int, max_wait_s: float, per_tenant_in_flight: int, clock: Clock
    ) -> None:
        """Raise SettingInvalid for limits that would admit no call."""
        if max_in_flight < 1 or per_tenant_in_flight < 1 or max_waiting < 0 or not max_wait_s >= 0:
            raise SettingInvalid("admission", "would admit no call", "give at least one slot, no negative limits")
        self._max_in_flight = max_in_flight
        self._max_waiting = max_waiting
        self._max_wait_s = max_wait_s
        self._per_tenant_in_flight = per_tenant_in_flight
        self._clock = clock
        self._room = WaitingRoom()
        self._by_tenant: Counter[UUID] = Counter()
        self._in_flight = 0
        self._hold_s = 0.0

    @property
    def in_flight_count(self) -> int:
        """Return the number of calls that hold a slot."""
        return self._in_flight

    @property
    def waiting_count(self) -> int:
        """Return the number of queued calls."""
        return len(self._room)

    @asynccontextmanager
    async def slot(self, tenant_id: UUID, caller: Hashable) -> AsyncIterator[None]:
        """Hold a slot while the block runs. Raises Overloaded, at once or after the longest wait."""
        slot = await self.enter(tenant_id, caller)
        try:
            yield
        finally:
            slot.leave()

    async def enter(self, tenant_id: UUID, caller: Hashable, *, within_s: float = math.inf) -> Slot:
        """Return a slot, which its holder must leave.

        Raises Overloaded, at once or after the longest wait. A call that must wait has to finish `within_s` seconds from now:
        it is refused if its wait plus twice the recent average hold time would exceed that.
        """
        if self._has_room(tenant_id):
            self._occupy(tenant_id)
        else:
            await self._wait(tenant_id, caller, min(self._max_wait_s, within_s - 2 * self._hold_s))
        return Slot(partial(self._leave, tenant_id, self._clock.time()))

    def _leave(self, tenant_id: UUID, entered_s: float) -> None:
        held_s = self._clock.time() - entered_s
        self._hold_s += _HOLD_WEIGHT * (held_s - self._hold_s)
        self._vacate(tenant_id)

    def _has_room(self, tenant_id: UUID) -> bool:
        return self._in_flight < self._max_in_flight and self._by_tenant[tenant_id] < self._per_tenant_in_flight

    def _occupy(self, tenant_id: UUID) -> None:
        self._in_flight += 1
        self._by_tenant[tenant_id] += 1

    def _vacate(self, tenant_id: UUID) -> None:
        self._in_flight -= 1
        self._by_tenant[tenant_id] -= 1
        if not self._by_tenant[tenant_id]:
            del self._by_tenant[tenant_id]
        while (waiter := self._room.take_next(self._has_room)) is not None:
            # A waiter that was just cancelled stays queued until its task runs: its slot goes to the next waiter.
            if not waiter.verdict.done():
                self._occupy(waiter.tenant_id)
                waiter.verdict.set_result(True)

    async def _wait(self, tenant_id: UUID, caller: Hashable, patience_s: float) -> None:
        if patience_s < self._max_wait_s and self._wait_ahead_s(tenant_id) > patience_s:
            raise Overloaded(self._retry_after_s())
        waiter = self._enter_room(tenant_id, caller)
        timer = self._clock.call_at(self._clock.time() + patience_s, lambda: self._dismiss(waiter))
        try:
            has_slot = await waiter.verdict
        except asyncio.CancelledError:
            self._room.remove(waiter)
            if not waiter.verdict.cancelled() and waiter.verdict.result():
                self._vacate(tenant_id)
            raise
        finally:
            timer.cancel()
        if not has_slot:
            raise Overloaded(self._retry_after_s())

    def _enter_room(self, tenant_id: UUID, caller: Hashable) -> Waiter:
        if len(self._room) >= self._max_waiting:
            displaced = self._room.displaced_by(tenant_id, caller)
            if displaced is None:
                raise Overloaded(self._retry_after_s())
            self._dismiss(displaced)
        waiter = Waiter(tenant_id, caller, asyncio.get_running_loop().create_future())
        self._room.add(waiter)
        return waiter

    def _dismiss(self, waiter: Waiter) -> None:
        self._room.remove(waiter)
        if not waiter.verdict.done():
            waiter.verdict.set_result(False)

    def _wait_ahead_s(self, tenant_id: UUID) -> float:
        """Return the seconds that a new waiter of the tenant would wait for a slot, at the recent rate."""
        return self._hold_s * (self._room.ahead_of(tenant_id) + 1) / self._max_in_flight

    def _retry_after_s(self) -> float:
        """Return the seconds until a slot is likely to be free: the wait for the queue at the recent rate, between 0.05 and 5."""
        expected_s = self._hold_s * (len(self._room) + 1) / self._max_in_flight
        return min(max(expected_s, MIN_RETRY_S), MAX_RETRY_S)
