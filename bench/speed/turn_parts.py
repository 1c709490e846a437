"""Measures a turn's processor time in the serving process by part, without the server of Postgres."""

from __future__ import annotations

import uvloop

from bench.figures import Figure
from bench.speed import throughput


def run(*, scale: float) -> list[Figure]:
    """Return the figures; `scale` is the share of the full corpus and time."""
    return uvloop.run(throughput.parts(max(3.0, 20.0 * scale), scale))
