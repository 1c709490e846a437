"""Answers given lately, by request id, so that a repeated request gets the first one's answer instead of a second one."""

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
    """Whether an answer may still be given, asked once for all callers that had arrived by then."""

    began_s: float
    outcome: asyncio.Future[bool]


@dataclass(slots=True)
class _Given(Generic[T]):
    digest: bytes
    answer: asyncio.Task[T]
    began_s: float
    waiting_count: int = 0
    size_bytes: int = 0
    check: _Check | None = None


class RepeatedAnswers(Generic[K, T]):
    """Keeps up to 2,000 answers of 64 MiB in all for ten minutes, the newest. `size_of` weighs an answer in bytes.

    A failed request is forgotten, so that it can be tried again; so is one whose callers have all gone, and it is cancelled.
    """

    def __init__(self, *, clock: Callable[[], float], size_of: Callable[[T], int] = lambda _: 0) -> None:
        self._clock = clock
        self._size_of = size_of
        self._given: OrderedDict[K, _Given[T]] = OrderedDict()
        self._size_bytes = 0

    async def once(
        self, key: K, digest: bytes, work: Callable[[], Awaitable[T]], *, stands: Stands = _always_stands
    ) -> T:
        """Return the answer kept under the key, joining one under way, or do the work. `digest` tells requests apart.

        `stands` says whether an answer begun so many seconds ago may still be given; one that may not is dropped, and the
        work is done again. Raises RequestIdReused when the key was used for another request.
        """
        arrived_s = self._clock()
        while (given := self._given.get(key)) is not None and given.began_s + _KEEP_S >= self._clock():
            if given.digest != digest:
                raise RequestIdReused
            answer = await self._answer(key, given)
            if await self._still_stands(given, stands, arrived_s):
                return answer
            self._forget(key, given)
        return await self._answer(key, self._begin(key, digest, work))

    def forget(self, is_concerned: Callable[[K], bool] = lambda _: True) -> None:
        """Drop the answers kept under such keys; those under way go to the callers that wait for them, and no further."""
        for key, given in list(self._given.items()):
            if is_concerned(key):
                self._forget(key, given)

    async def _answer(self, key: K, given: _Given[T]) -> T:
        """Return the answer once it is there; the last caller to leave before that cancels it."""
        given.waiting_count += 1
        try:
            return await asyncio.shield(given.answer)
        finally:
            given.waiting_count -= 1
            if not given.waiting_count and not given.answer.done():
                self._forget(key, given)
                given.answer.cancel()

    async def _still_stands(self, given: _Given[T], stands: Stands, arrived_s: float) -> bool:
        """Return whether the answer may be given to a caller that arrived then; callers that wait together ask once."""
        if given.check is None or given.check.began_s < arrived_s:
            now_s = self._clock()
            given.check = _Check(now_s, asyncio.ensure_future(stands(now_s - given.began_s)))
        return await asyncio.shield(given.check.outcome)

    def _begin(self, key: K, digest: bytes, work: Callable[[], Awaitable[T]]) -> _Given[T]:
        async def answered() -> T:
            return await work()

        given = _Given(digest, asyncio.create_task(answered()), self._clock())
        if key in self._given:
            self._forget(key, self._given[key])
        self._given[key] = given
        given.answer.add_done_callback(lambda _: self._settled(key, given))
        self._make_room()
        return given

    def _settled(self, key: K, given: _Given[T]) -> None:
        if given.answer.cancelled() or given.answer.exception() is not None:
            self._forget(key, given)
        elif self._given.get(key) is given:
            given.size_bytes = self._size_of(given.answer.result())
            self._size_bytes += given.size_bytes
            self._make_room()

    def _make_room(self) -> None:
        while len(self._given) > _CAPACITY or self._size_bytes > _CAPACITY_BYTES:
            self._forget(*next(iter(self._given.items())))

    def _forget(self, key: K, given: _Given[T]) -> None:
        if self._given.get(key) is given:
            del self._given[key]
            self._size_bytes -= given.size_bytes
