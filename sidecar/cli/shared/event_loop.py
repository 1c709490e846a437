"""The event loop of commands that work in their own process."""

from __future__ import annotations

import asyncio


def runner() -> asyncio.Runner:
    """Return a runner with the faster event loop, if installed."""
    try:
        import uvloop
    except ImportError:
        return asyncio.Runner()
    return asyncio.Runner(loop_factory=uvloop.new_event_loop)
