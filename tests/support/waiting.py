"""Waiting for what sends no event: a row written by another process, a file, an entry of /proc. No other code in tests sleeps."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

PATIENCE_S = 600.0  # far more than a loaded machine needs; only a failure takes as long
_FIRST_S, _LONGEST_S = 0.001, 0.05


async def until(holds: Callable[[], object], patience_s: float = PATIENCE_S) -> None:
    """Return once the condition, a plain or an async function, is true; fail with TimeoutError after `patience_s`."""
    pause_s = _FIRST_S
    async with asyncio.timeout(patience_s):
        while True:
            answer = holds()
            if await answer if isinstance(answer, Awaitable) else answer:
                return
            await asyncio.sleep(pause_s)
            pause_s = min(2 * pause_s, _LONGEST_S)


async def until_equal(read: Callable[[], object], wanted: object, patience_s: float = PATIENCE_S) -> None:
    """Return once a plain or an async function returns the wanted value."""

    async def is_equal() -> bool:
        answer = read()
        return (await answer if isinstance(answer, Awaitable) else answer) == wanted

    await until(is_equal, patience_s)


def until_blocking(holds: Callable[[], object], patience_s: float = PATIENCE_S) -> None:
    """Do the same where no event loop runs."""
    pause_s, give_up_at = _FIRST_S, time.monotonic() + patience_s
    while not holds():
        assert time.monotonic() < give_up_at, f"the condition did not hold within {patience_s:.0f} s"
        time.sleep(pause_s)
        pause_s = min(2 * pause_s, _LONGEST_S)


async def next_round() -> None:
    """Let every task that is ready take one step."""
    await asyncio.sleep(0)


async def settle() -> None:
    """Let every task take twelve steps: enough for tasks that wait for one another."""
    for _ in range(12):
        await next_round()


async def think(seconds: float) -> None:
    """Pause as a caller of a load campaign does between two requests."""
    await asyncio.sleep(seconds)
