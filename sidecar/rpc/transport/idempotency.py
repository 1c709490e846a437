"""Idempotency: caches recent answers by request id, so that a repeated request gets the first one's answer."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

from sidecar.runtime.errors import RequestIdReused

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")

_KEEP_S = 600.0
_CAPACITY = 2_000
_CAPACITY_BYTES = 64 * 1024 * 1024

Stands = Callable[[float], Awaitable[bool]]


async def _always_stands(_age_s: float) -> bool:
    return True


@dataclass(slots=True)
class _Check:
    """A check whether an answer is still valid, shared by all callers that arrived before it began."""

    began_s: float
    outcome: asyncio.Future[bool]


@dataclass(slots=True)
class _Entry(Generic[T]):
    digest: bytes
    answer: asyncio.Task[T]
    began_s: float
    waiting_count: int = 0
    size_bytes: int = 0
    check: _Check | None = None


class RepeatedAnswers(Generic[K, T]):
    """Caches the newest `capacity` answers, at most `capacity_bytes` in total, for ten minutes. `size_of` returns a size.

    A failed request is dropped, so that it can be retried. A request whose callers have all left is cancelled and dropped.
    """

    def __init__(
        self,
        *,
        clock: Callable[[], float],
        size_of: Callable[[T], int] = lambda _: 0,
        capacity: int = _CAPACITY,
        capacity_bytes: int = _CAPACITY_BYTES,
    ) -> None:
        self._clock = clock
        self._size_of = size_of
        self._capacity, self._capacity_bytes = capacity, capacity_bytes
        self._entries: OrderedDict[K, _Entry[T]] = OrderedDict()
        self._size_bytes = 0

    async def once(
        self, key: K, digest: bytes, work: Callable[[], Awaitable[T]], *, stands: Stands = _always_stands
    ) -> T:
        """Return the cached answer of the key, join a running request, or do the work. `digest` identifies the request.

        `stands` returns whether an answer of that age in seconds is still valid; if not, it is dropped and the work is done
        again. Raises RequestIdReused if the key was used for another request.
        """
        arrived_s = self._clock()
        while (entry := self._entries.get(key)) is not None and entry.began_s + _KEEP_S >= self._clock():
            if entry.digest != digest:
                raise RequestIdReused
            answer = await self._answer(key, entry)
            if await self._still_stands(entry, stands, arrived_s):
                return answer
            self._forget(key, entry)
        return await self._answer(key, self._begin(key, digest, work))

    def forget(self, is_concerned: Callable[[K], bool] = lambda _: True) -> None:
        """Drop the answers of matching keys. Running requests still answer the callers that wait for them."""
        for key, entry in list(self._entries.items()):
            if is_concerned(key):
                self._forget(key, entry)

    async def _answer(self, key: K, entry: _Entry[T]) -> T:
        """Await the answer; the last caller to leave cancels it."""
        entry.waiting_count += 1
        try:
            return await asyncio.shield(entry.answer)
        finally:
            entry.waiting_count -= 1
            if not entry.waiting_count and not entry.answer.done():
                self._forget(key, entry)
                entry.answer.cancel()

    async def _still_stands(self, entry: _Entry[T], stands: Stands, arrived_s: float) -> bool:
        """Return whether the answer is valid for a caller that arrived at `arrived_s`; concurrent callers share a check."""
        if entry.check is None or entry.check.began_s < arrived_s:
            now_s = self._clock()
            entry.check = _Check(now_s, asyncio.ensure_future(stands(now_s - entry.began_s)))
        return await asyncio.shield(entry.check.outcome)

    def _begin(self, key: K, digest: bytes, work: Callable[[], Awaitable[T]]) -> _Entry[T]:
        async def answered() -> T:
            return await work()

        entry = _Entry(digest, asyncio.create_task(answered()), self._clock())
        if key in self._entries:
            self._forget(key, self._entries[key])
        self._entries[key] = entry
        entry.answer.add_done_callback(lambda _: self._settled(key, entry))
        self._make_room()
        return entry

    def _settled(self, key: K, entry: _Entry[T]) -> None:
        if entry.answer.cancelled() or entry.answer.exception() is not None:
            self._forget(key, entry)
        elif self._entries.get(key) is entry:
            entry.size_bytes = self._size_of(entry.answer.result())
            self._size_bytes += entry.size_bytes
            self._make_room()

    def _make_room(self) -> None:
        while len(self._entries) > self._capacity or self._size_bytes > self._capacity_bytes:
            self._forget(*next(iter(self._entries.items())))

    def _forget(self, key: K, entry: _Entry[T]) -> None:
        if self._entries.get(key) is entry:
            del self._entries[key]
            self._size_bytes -= entry.size_bytes
