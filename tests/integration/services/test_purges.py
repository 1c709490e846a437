"""When a service purges: at its start, then at a steady interval."""

from __future__ import annotations

import asyncio

import pytest

from sidecar.services.forgetting.purges import Purges, pause_s
from tests.support.waiting import until


class _Watched(Purges):
    """Purges nothing, and tells that it was asked to."""

    has_looked = False

    async def look(self) -> None:
        """Take note of it."""
        self.has_looked = True


async def test_purge_at_start_covers_forgettings_of_an_earlier_process() -> None:
    purges = _Watched("", every_s=100_000)
    running = asyncio.create_task(purges.run())
    await until(lambda: purges.has_looked)
    running.cancel()


@pytest.mark.parametrize(("took_s", "paused_s"), [(0, 300), (218, 82), (300, 0), (900, 0)])
def test_purges_begin_at_a_steady_interval_however_long_they_take(took_s: float, paused_s: float) -> None:
    assert pause_s(300, took_s) == paused_s
