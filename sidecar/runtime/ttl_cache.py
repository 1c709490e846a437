"""A TTL cache of values read from the database.

Concurrent readers of one key share one read. A failed read is not cached; an earlier value is served instead for at most
`grace_s`, so that callers survive a database that restarts or hangs.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from store.errors import StoreError

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class ReadPatience:
    """Seconds to wait for a new value before an earlier one is served: for an expired value, and for an invalidated one."""

    expired_s: float = 0.25
    outdated_s: float = 0.25


_USUAL = ReadPatience()


@dataclass(frozen=True, slots=True)
class _Kept(Generic[V]):
    value: V
    read_at_s: float
    is_outdated: bool = False


class TtlCache(Generic[K, V]):
    """Caches the result of `read` per key for `for_s` seconds of `clock`, for at most `capacity` keys, evicting the oldest.

    Waits with `patience` for a new value if an earlier one can be served.
    """

    def __init__(
        self,
        read: Callable[[K], Awaitable[V]],
        *,
        for_s: float,
        grace_s: float,
        clock: Callable[[], float],
        capacity: int = 10_000,
        patience: ReadPatience = _USUAL,
    ) -> None:
        self._read = read
        self._for_s = for_s
        self._grace_s = grace_s
        self._clock = clock
        self._capacity = capacity
        self._patience = patience
        self._kept: OrderedDict[K, _Kept[V]] = OrderedDict()
        self._reading: dict[K, asyncio.Task[V]] = {}

    async def get(self, key: K) -> V:
        """Return the value of the key. Raises the error of `read` if no cached value is recent enough."""
        entry = self._kept.get(key)
        if entry is None or self._clock() - entry.read_at_s >= self._grace_s:
            return await asyncio.shield(self._read_once(key))
        if not entry.is_outdated and self._clock() - entry.read_at_s < self._for_s:
            return entry.value
        try:
            async with asyncio.timeout(self._patience.outdated_s if entry.is_outdated else self._patience.expired_s):
                return await asyncio.shield(self._read_once(key))
        except (StoreError, TimeoutError):
            return entry.value

    def forget(self, matches: Callable[[K], bool]) -> None:
        """Invalidate the matching keys, and discard running reads of them.

        Their old values are still served while the keys cannot be read.
        """
        for key, kept in self._kept.items():
            if matches(key):
                self._kept[key] = replace(kept, is_outdated=True)
        for key in [key for key in self._reading if matches(key)]:
            del self._reading[key]

    def _read_once(self, key: K) -> asyncio.Task[V]:
        task = self._reading.get(key)
        if task is None:
            task = asyncio.create_task(self._now(key))
            self._reading[key] = task
            task.add_done_callback(lambda done: self._settled(key, done))
        return task

    async def _now(self, key: K) -> V:
        return await self._read(key)

    def _settled(self, key: K, task: asyncio.Task[V]) -> None:
        is_current = self._reading.get(key) is task
        if is_current:
            del self._reading[key]
        if task.cancelled() or task.exception() is not None or not is_current:
            return
        self._kept[key] = _Kept(task.result(), self._clock())
        self._kept.move_to_end(key)
        while len(self._kept) > self._capacity:
            self._kept.popitem(last=False)
