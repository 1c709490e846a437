"""Answers given lately, by request id, so that a repeated request gets the first one's answer instead of a second one."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

from sidecar.errors import RequestIdReused

T = TypeVar("T")

_KEEP_S = 600.0
_CAPACITY = 2_000
_CAPACITY_BYTES = 64 * 1024 * 1024


@dataclass(slots=True)
class _Given(Generic[T]):
    digest: bytes
    answer: asyncio.Task[T]
    until_s: float
    waiting_count: int = 0
    size_bytes: int = 0


class Repeats(Generic[T]):
    """Keeps up to 2,000 answers of 64 MiB in all for ten minutes, the newest. `size_of` weighs an answer in bytes.

    A failed request is forgotten, so that it can be tried again; so is one whose callers have all gone, and it is cancelled.
    """

    def __init__(self, *, clock: Callable[[], float], size_of: Callable[[T], int] = lambda _: 0) -> None:
        self._clock = clock
        self._size_of = size_of
        self._given: OrderedDict[Hashable, _Given[T]] = OrderedDict()
        self._size_bytes = 0

    async def once(self, key: Hashable, digest: bytes, work: Callable[[], Awaitable[T]]) -> T:
        """Return the answer kept under the key, joining one under way, or do the work. `digest` tells requests apart.

        Raises RequestIdReused when the key was used for another request.
        """
        given = self._given.get(key)
        if given is None or given.until_s < self._clock():
            given = self._begin(key, digest, work)
        elif given.digest != digest:
            raise RequestIdReused
        given.waiting_count += 1
        try:
            return await asyncio.shield(given.answer)
        finally:
            given.waiting_count -= 1
            if not given.waiting_count and not given.answer.done():
                self._forget(key, given)
                given.answer.cancel()

    def _begin(self, key: Hashable, digest: bytes, work: Callable[[], Awaitable[T]]) -> _Given[T]:
        async def answered() -> T:
            return await work()

        given = _Given(digest, asyncio.create_task(answered()), self._clock() + _KEEP_S)
        if key in self._given:
            self._forget(key, self._given[key])
        self._given[key] = given
        given.answer.add_done_callback(lambda _: self._settled(key, given))
        self._make_room()
        return given

    def _settled(self, key: Hashable, given: _Given[T]) -> None:
        if given.answer.cancelled() or given.answer.exception() is not None:
            self._forget(key, given)
        elif self._given.get(key) is given:
            given.size_bytes = self._size_of(given.answer.result())
            self._size_bytes += given.size_bytes
            self._make_room()

    def _make_room(self) -> None:
        while len(self._given) > _CAPACITY or self._size_bytes > _CAPACITY_BYTES:
            self._forget(*next(iter(self._given.items())))

    def _forget(self, key: Hashable, given: _Given[T]) -> None:
        if self._given.get(key) is given:
            del self._given[key]
            self._size_bytes -= given.size_bytes
