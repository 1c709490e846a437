"""Values that are read from the database once and remembered for a few seconds.

Concurrent readers of one key share one read. A failed read is not remembered; while a remembered value is at hand it stands in,
for at most `grace_s`, so that a database that restarts does not take down what could go on without it.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, TypeVar

from store.errors import StoreError

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Remembered(Generic[K, V]):
    """Remembers what `read` gives, per key, for `for_s` seconds of `clock`; at most `capacity` keys, oldest out first."""

    def __init__(
        self,
        read: Callable[[K], Awaitable[V]],
        *,
        for_s: float,
        grace_s: float,
        clock: Callable[[], float],
        capacity: int = 10_000,
    ) -> None:
        self._read = read
        self._for_s = for_s
        self._grace_s = grace_s
        self._clock = clock
        self._capacity = capacity
        self._kept: OrderedDict[K, tuple[float, V]] = OrderedDict()
        self._reading: dict[K, asyncio.Task[V]] = {}

    async def get(self, key: K) -> V:
        """Return the value of the key. Raises what reading raises, when nothing fresh enough is at hand."""
        kept = self._kept.get(key)
        if kept is not None and self._clock() - kept[0] < self._for_s:
            return kept[1]
        try:
            return await asyncio.shield(self._read_once(key))
        except StoreError:
            if kept is not None and self._clock() - kept[0] < self._grace_s:
                return kept[1]
            raise

    def forget(self, matches: Callable[[K], bool]) -> None:
        """Forget the keys that match; a read under way for one of them is not kept either."""
        for key in [key for key in self._kept if matches(key)]:
            del self._kept[key]
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
        self._kept[key] = (self._clock(), task.result())
        self._kept.move_to_end(key)
        while len(self._kept) > self._capacity:
            self._kept.popitem(last=False)
