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


@dataclass(frozen=True, slots=True)
class _Given(Generic[T]):
    digest: bytes
    answer: asyncio.Task[T]
    until_s: float


class Repeats(Generic[T]):
    """Keeps up to 2,000 answers for ten minutes. A failed request is forgotten, so that it can be tried again."""

    def __init__(self, *, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._given: OrderedDict[Hashable, _Given[T]] = OrderedDict()

    async def once(self, key: Hashable, digest: bytes, work: Callable[[], Awaitable[T]]) -> T:
        """Return the answer kept under the key, joining one under way, or do the work. `digest` tells requests apart.

        Raises RequestIdReused when the key was used for another request.
        """
        given = self._given.get(key)
        if given is None or given.until_s < self._clock():
            given = self._begin(key, digest, work)
        elif given.digest != digest:
            raise RequestIdReused
        return await asyncio.shield(given.answer)

    def _begin(self, key: Hashable, digest: bytes, work: Callable[[], Awaitable[T]]) -> _Given[T]:
        async def answered() -> T:
            return await work()

        given = _Given(digest, asyncio.create_task(answered()), self._clock() + _KEEP_S)
        self._given[key] = given
        self._given.move_to_end(key)
        given.answer.add_done_callback(lambda done: self._settled(key, given))
        while len(self._given) > _CAPACITY:
            self._given.popitem(last=False)
        return given

    def _settled(self, key: Hashable, given: _Given[T]) -> None:
        failed = given.answer.cancelled() or given.answer.exception() is not None
        if failed and self._given.get(key) is given:
            del self._given[key]
