"""Values that are read from the database once and remembered for a few seconds.

Concurrent readers of one key share one read. A failed read is not remembered; while an earlier value is at hand it stands in,
for at most `grace_s`, so that a database that restarts or hangs does not take down what could go on without it.
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

_PATIENCE_S = 0.25


@dataclass(frozen=True, slots=True)
class _Kept(Generic[V]):
    value: V
    read_at_s: float
    is_outdated: bool = False


class TtlCache(Generic[K, V]):
    """Remembers what `read` gives, per key, for `for_s` seconds of `clock`; at most `capacity` keys, oldest out first.

    Where an earlier value could stand in, a new one is waited for `patience_s` seconds at most.
    """

    def __init__(
        self,
        read: Callable[[K], Awaitable[V]],
        *,
        for_s: float,
        grace_s: float,
        clock: Callable[[], float],
        capacity: int = 10_000,
        patience_s: float = _PATIENCE_S,
    ) -> None:
        self._read = read
        self._for_s = for_s
        self._grace_s = grace_s
        self._clock = clock
        self._capacity = capacity
        self._patience_s = patience_s
        self._kept: OrderedDict[K, _Kept[V]] = OrderedDict()
        self._reading: dict[K, asyncio.Task[V]] = {}

    async def get(self, key: K) -> V:
        """Return the value of the key. Raises what reading raises, when nothing fresh enough is at hand."""
        kept = self._kept.get(key)
        if kept is None or self._clock() - kept.read_at_s >= self._grace_s:
            return await asyncio.shield(self._read_once(key))
        if not kept.is_outdated and self._clock() - kept.read_at_s < self._for_s:
            return kept.value
        try:
            async with asyncio.timeout(self._patience_s):
                return await asyncio.shield(self._read_once(key))
        except (StoreError, TimeoutError):
            return kept.value

    def forget(self, matches: Callable[[K], bool]) -> None:
        """Read the keys that match anew when they are next asked for; a read under way for one of them is not kept.

        What was known of them stands in while they cannot be read.
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
