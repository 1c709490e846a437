"""Keeps long-lived tasks alive: logs each failure, restarts the task after a growing pause, and counts restarts."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable

log = logging.getLogger(__name__)

_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.1, 30.0


class Supervisor:
    """Runs named coroutines until they are stopped."""

    def __init__(self) -> None:
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self.restarts: Counter[str] = Counter()

    def start(self, name: str, work: Callable[[], Awaitable[None]]) -> None:
        """Run `work`, which should never return, and restart it until `stop`."""
        self._tasks[name] = asyncio.create_task(self._keep(name, work), name=name)

    async def stop(self) -> None:
        """Cancel every task and wait until all have ended."""
        for task in self._tasks.values():
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)
        self._tasks.clear()

    async def _keep(self, name: str, work: Callable[[], Awaitable[None]]) -> None:
        pause_s = _FIRST_PAUSE_S / 2
        while True:
            began_s = asyncio.get_running_loop().time()
            try:
                await work()
            except Exception as error:  # long-lived tasks are restarted and counted
                log.error("task_failed", extra={"task": name, "error": error_names(error)}, exc_info=error)
            self.restarts[name] += 1
            pause_s = pause_after(asyncio.get_running_loop().time() - began_s, pause_s)
            await asyncio.sleep(pause_s)


def error_names(error: BaseException) -> str:
    """Return the name of an error's class; of a group, those of its errors."""
    if isinstance(error, BaseExceptionGroup):
        return ", ".join(dict.fromkeys(map(error_names, error.exceptions)))
    return type(error).__name__


def pause_after(lasted_s: float, pause_s: float, *, first_s: float = _FIRST_PAUSE_S) -> float:
    """Return the seconds to wait before restarting a task that ran for `lasted_s` after a pause of `pause_s`.

    Twice the last pause, up to 30 s; back to `first_s` after a run of more than 30 s.
    """
    return first_s if lasted_s > _LONGEST_PAUSE_S else min(_LONGEST_PAUSE_S, pause_s * 2)
