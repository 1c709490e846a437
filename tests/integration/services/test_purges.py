"""When a service purges: at its start, then at a steady interval."""

from __future__ import annotations

import asyncio

import asyncpg
import click.testing
import pytest

from sidecar.cli.operations import schema
from sidecar.services.forgetting.purges import Purges, pause_s
from store.db.purging import PurgeReport
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


def test_command_names_the_servers_of_a_cluster_that_are_purged_or_not() -> None:
    purged = PurgeReport(settled=1, tables=("turns",), servers=("b:5432", "c:5432"))
    assert list(schema._draw_purged(purged))[1:] == ["every table of the tenants rewritten on b:5432, c:5432"]
    held_up = PurgeReport(unpurged=("c:5432: failed to connect",))
    assert list(schema._draw_purged(held_up))[1:] == ["c:5432: failed to connect"]
    assert (purged.is_complete, held_up.is_complete) == (True, False)


async def test_command_says_that_another_purge_is_running(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SIDECAR_DATABASE_URL", database)
    other = await asyncpg.connect(database)
    await other.execute("SELECT pg_advisory_lock(hashtextextended('purge', 0))")
    told = await asyncio.to_thread(click.testing.CliRunner().invoke, schema.purge)
    assert (told.exit_code, told.output) == (1, "another purge is running; run it again when that has ended\n")
    await other.close()
    told = await asyncio.to_thread(click.testing.CliRunner().invoke, schema.purge)
    assert "rewritten" in told.output
