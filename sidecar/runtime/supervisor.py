"""Keeps long-lived tasks alive: restarts one that fails, with growing pauses, and counts how often.

Whatever ends a long-lived task is logged and the task starts again.
"""

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
        """Run `work` again and again until `stop`; it is meant never to return."""
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
                log.error("task_failed", extra={"task": name, "error": type(error).__name__}, exc_info=error)
            self.restarts[name] += 1
            pause_s = pause_after(asyncio.get_running_loop().time() - began_s, pause_s)
            await asyncio.sleep(pause_s)


def pause_after(lasted_s: float, pause_s: float) -> float:
    """Return the seconds to wait before a task starts again that ran for `lasted_s` after a pause of `pause_s`.

    Twice as long as before, up to 30; a tenth of a second again after a run longer than that.
    """
    return _FIRST_PAUSE_S if lasted_s > _LONGEST_PAUSE_S else min(_LONGEST_PAUSE_S, pause_s * 2)
