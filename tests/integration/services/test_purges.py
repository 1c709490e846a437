"""When a service purges: at its start, then at a steady interval."""

from __future__ import annotations

import asyncio

import asyncpg
import click.testing
import pytest

from sidecar.cli.operations.schema import purge
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


async def test_command_says_that_another_purge_is_running(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SIDECAR_DATABASE_URL", database)
    other = await asyncpg.connect(database)
    await other.execute("SELECT pg_advisory_lock(hashtextextended('purge', 0))")
    told = await asyncio.to_thread(click.testing.CliRunner().invoke, purge)
    assert (told.exit_code, told.output) == (1, "another purge is running; run it again when that has ended\n")
    await other.close()
    told = await asyncio.to_thread(click.testing.CliRunner().invoke, purge)
    assert "rewritten" in told.output
