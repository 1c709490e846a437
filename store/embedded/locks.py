"""File locks between processes. The kernel holds them, so they end with their process, even on kill -9.

Nothing here blocks the event loop: a lock that is taken is polled until a deadline.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

_POLL_S = 0.02


class FileLock:
    """A lock file, never deleted. Two FileLocks on one path exclude each other, within a process and between processes."""

    __slots__ = ("_descriptor", "_path")

    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor: int | None = None

    @property
    def is_held(self) -> bool:
        """Return whether this object holds the lock, shared or exclusive."""
        return self._descriptor is not None

    def try_shared(self) -> bool:
        """Take the lock shared; False if another holder has it exclusively."""
        return self._try(fcntl.LOCK_SH)

    def try_exclusive(self) -> bool:
        """Take the lock exclusively; False if there is any other holder."""
        return self._try(fcntl.LOCK_EX)

    def release(self) -> None:
        """Release the lock; no effect if it is not held."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    @asynccontextmanager
    async def exclusive(self, deadline_s: float) -> AsyncIterator[None]:
        """Wait for the lock and hold it exclusively, among tasks too. Raises TimeoutError after `deadline_s`."""
        give_up_at = time.monotonic() + deadline_s
        while self.is_held or not self.try_exclusive():
            if time.monotonic() >= give_up_at:
                raise TimeoutError(f"{self._path} stayed locked for {deadline_s:g} s")
            await asyncio.sleep(_POLL_S)
        try:
            yield
        finally:
            self.release()

    def _try(self, mode: int) -> bool:
        if self._descriptor is not None:
            raise RuntimeError("the lock is held already; release it first")
        descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(descriptor, mode | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return False
        self._descriptor = descriptor
        return True
