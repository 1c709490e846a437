"""Runs long synchronous steps one per event loop iteration, so that other tasks run in between."""

from __future__ import annotations

import asyncio


class OnePerIteration:
    """A lock that admits one task per event loop iteration. Code inside must not await."""

    def __init__(self) -> None:
        self._lock = asyncio.Lock()

    async def __aenter__(self) -> None:
        await self._lock.acquire()
        try:
            # Yield once, or the lock is never contended.
            await asyncio.sleep(0)
        except asyncio.CancelledError:
            self._lock.release()
            raise

    async def __aexit__(self, *_: object) -> None:
        self._lock.release()
