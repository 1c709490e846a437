"""Runs blocking calls in daemon threads, off the event loop.

The threads of a standard pool are joined at exit, so an unresponsive server could delay a stop for minutes; daemon threads are
not joined. The caller lists the errors that a call may raise.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Generic, TypeVar

T = TypeVar("T")


class ThreadLost(RuntimeError):
    """A call's thread ended with an unexpected error; its traceback is in the process's output."""


class BlockingCalls:
    """Runs at most `count` blocking calls at once. For one event loop.

    The call of a cancelled caller keeps running, and keeps its slot until its own timeout.
    """

    def __init__(self, count: int, *, failures: tuple[type[Exception], ...]) -> None:
        self._free = asyncio.Semaphore(count)
        self._failures = failures

    async def run(self, work: Callable[[], T]) -> T:
        """Wait for a slot, run `work` and return its result. Raises the listed failures, and ThreadLost for any other error."""
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
    """The channel by which a thread reports the outcome of its call to the event loop."""

    def __init__(self, free: asyncio.Semaphore) -> None:
        self._loop = asyncio.get_running_loop()
        self._free = free
        self.result: asyncio.Future[T] = self._loop.create_future()

    def tell(self, outcome: T | Exception, *, is_value: bool) -> None:
        # The loop may have been closed.
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
