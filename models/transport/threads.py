"""Blocking calls beside the event loop, in threads that nobody has to wait for.

A standard pool's threads are joined when the process ends, so one silent server could hold up a stop for minutes; these are
daemons. What a call may raise is named by its caller.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Generic, TypeVar

T = TypeVar("T")


class ThreadLost(RuntimeError):
    """A call's thread ended by an error that nobody expected; the error's trace stands in the process's output."""


class BlockingCalls:
    """Room for `count` blocking calls at once. For one event loop.

    A caller that gives up leaves its call running, and its place taken until the call's own time limit.
    """

    def __init__(self, count: int, *, failures: tuple[type[Exception], ...]) -> None:
        self._free = asyncio.Semaphore(count)
        self._failures = failures

    async def run(self, work: Callable[[], T]) -> T:
        """Return what `work` returns, once there is room. Raises the failures named, and ThreadLost for any other."""
        await self._free.acquire()
        ending: _Ending[T] = _Ending(self._free)
        threading.Thread(target=self._work, args=(work, ending), daemon=True, name="model-call").start()
        return await ending.result

    def _work(self, work: Callable[[], T], ending: _Ending[T]) -> None:
        outcome: T | Exception = ThreadLost()
        is_value = False
        try:
            outcome, is_value = work(), True
        except self._failures as error:
            outcome = error
        finally:
            ending.tell(outcome, is_value=is_value)


class _Ending(Generic[T]):
    """Where a thread tells its loop how the call ended."""

    def __init__(self, free: asyncio.Semaphore) -> None:
        self._loop = asyncio.get_running_loop()
        self._free = free
        self.result: asyncio.Future[T] = self._loop.create_future()

    def tell(self, outcome: T | Exception, *, is_value: bool) -> None:
        # A loop that has been closed waits for nobody.
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._settle, outcome, is_value)

    def _settle(self, outcome: T | Exception, is_value: bool) -> None:
        self._free.release()
        if self.result.done():
            return
        if is_value:
            self.result.set_result(outcome)  # type: ignore[arg-type]  # is_value says which of the two it is
        else:
            self.result.set_exception(outcome)  # type: ignore[arg-type]
