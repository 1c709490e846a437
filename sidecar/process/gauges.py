"""Updates the compile gauges from the database every half minute, independent of the process that compiles."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import datetime

from sidecar.telemetry.figures import Figures
from store.compile import overview
from store.db.postgres import Pool, installation

_EVERY_S = 30.0
_STATUSES = ("pending", "running", "failed")


async def keep_counted(pool: Pool, figures: Figures, *, now: Callable[[], datetime]) -> None:
    """Update the gauges until cancelled."""
    while True:
        await count(pool, figures, now=now)
        await asyncio.sleep(_EVERY_S)


async def count(pool: Pool, figures: Figures, *, now: Callable[[], datetime]) -> None:
    """Set the numbers of waiting, running and failed compile jobs, and the age of the oldest waiting one."""
    async with installation(pool, read_only=True) as connection:
        rows = {row.status: row for row in await overview.job_counts(connection)}
    waiting = rows.get("pending")
    figures.compile_state(
        {status: rows[status].job_count if status in rows else 0 for status in _STATUSES},
        lag_s=max(0.0, (now() - waiting.oldest_at).total_seconds()) if waiting else 0.0,
    )
