"""Measures the cost of a turn: its own time, and turns a second against empty calls, Postgres alone, and the embedder alone."""

from __future__ import annotations

import uvloop

from bench.figures import Figure
from bench.speed import own_time, throughput


def run(*, scale: float) -> list[Figure]:
    """Return the figures of a turn."""
    return uvloop.run(_measured(scale))


async def _measured(scale: float) -> list[Figure]:
    seconds = max(1.0, 4.0 * scale)
    own = await own_time.measured(max(30, round(300 * scale)))
    stored = [*await throughput.stored(seconds, scale), *await throughput.embedded(seconds, scale)]
    return [*own, *await throughput.stubbed(seconds), *stored]
