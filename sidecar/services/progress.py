"""Waits for a job to move: notices of the database wake its watchers, and polling covers notices that are lost."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager, suppress

POLL_S = 2.0


class Progress:
    """The watchers of each job. It holds no state of jobs: a wake-up only means that the job may have moved."""

    def __init__(self) -> None:
        self._watchers: defaultdict[str, set[asyncio.Event]] = defaultdict(set)

    def moved(self, job_id: str) -> None:
        """Wake the watchers of the job."""
        for watcher in self._watchers.get(job_id, ()):
            watcher.set()

    def missed(self) -> None:
        """Wake everyone: notices may have been lost."""
        for watchers in self._watchers.values():
            for watcher in watchers:
                watcher.set()

    @contextmanager
    def watching(self, job_id: str) -> Iterator[asyncio.Event]:
        """Yield an event that is set whenever the job may have moved, from now on."""
        watcher = asyncio.Event()
        self._watchers[job_id].add(watcher)
        try:
            yield watcher
        finally:
            self._watchers[job_id].discard(watcher)
            if not self._watchers[job_id]:
                del self._watchers[job_id]


async def moved_or_stopping(moved: asyncio.Event, stopping: asyncio.Event, *, poll_s: float = POLL_S) -> bool:
    """Wait until the job may have moved, at most the poll; return whether the process begins to end instead."""
    waits = [asyncio.ensure_future(moved.wait()), asyncio.ensure_future(stopping.wait())]
    try:
        await asyncio.wait(waits, timeout=poll_s, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for wait in waits:
            wait.cancel()
            with suppress(asyncio.CancelledError):
                await wait
    moved.clear()
    return stopping.is_set()
