"""Stop signals: they end a start at once, whatever it waits for, and ask a process that has started to drain."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class StopRequest:
    """The request to stop this process. Until `has_started`, it cancels the task that starts the process."""

    def __init__(self) -> None:
        self.requested = asyncio.Event()
        self._starting = asyncio.current_task()

    def request(self) -> None:
        """Ask the process to stop. A second request has no effect: the clean-up of a cancelled start goes on."""
        if self.requested.is_set():
            return
        self.requested.set()
        if self._starting is not None:
            self._starting.cancel()

    def has_started(self) -> None:
        """Declare the start complete: a request no longer cancels anything."""
        self._starting = None


@asynccontextmanager
async def stopped_by_signals() -> AsyncIterator[StopRequest]:
    """Yield the request that SIGTERM and SIGINT make. If it cancels the block, the block ends without an error."""
    stopping = StopRequest()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopping.request)
    try:
        yield stopping
    except asyncio.CancelledError:
        if not stopping.requested.is_set():
            raise
