"""How long work holds the event loop: the processor time between two of its rounds, waiting and other programs left out."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass


@dataclass(slots=True)
class Held:
    """The longest that one round took, in seconds of this thread's processor time."""

    longest_s: float = 0.0


@asynccontextmanager
async def watching() -> AsyncIterator[Held]:
    """Yield what is seen while the body runs. The loop spins meanwhile, so figures of speed taken beside it are worthless."""
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
