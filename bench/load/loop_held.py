"""Measures how long work holds the event loop: processor time between two iterations, without waits and other programs."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass


@dataclass(slots=True)
class Held:
    """The longest iteration, in seconds of this thread's processor time."""

    longest_s: float = 0.0


@asynccontextmanager
async def watching() -> AsyncIterator[Held]:
    """Yield the measurement while the body runs. The loop spins meanwhile, so other timings taken at the same time are
    worthless.
    """
    held = Held()

    async def spin() -> None:
        before = time.thread_time()
        while True:
            await asyncio.sleep(0)
            now = time.thread_time()
            held.longest_s = max(held.longest_s, now - before)
            before = now

    spinning = asyncio.create_task(spin())
    await asyncio.sleep(0)
    try:
        yield held
    finally:
        spinning.cancel()
