"""When a service purges: at its start, then at a steady interval."""

from __future__ import annotations

import asyncio

import asyncpg
import click.testing
import pytest

from sidecar.cli.operations import schema
from sidecar.runtime.settings import Settings
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


@pytest.mark.parametrize(
    ("report", "code", "said"),
    [
        (PurgeReport(settled=1, tables=("turns",), servers=("b:5432", "c:5432")), 0, "rewritten on b:5432, c:5432\n"),
        (PurgeReport(left=1, unpurged=("c:5432: failed to connect",)), 1, "run it again\nc:5432: failed to connect\n"),
        (PurgeReport(unpurged=("c:5432: failed to connect",)), 1, "run it again\nc:5432: failed to connect\n"),
    ],
)
def test_command_names_the_servers_of_a_cluster_that_are_purged_or_not(
    monkeypatch: pytest.MonkeyPatch, report: PurgeReport, code: int, said: str
) -> None:
    async def purged(settings: Settings) -> PurgeReport:
        return report

    monkeypatch.setattr(schema, "_purge", purged)
    told = click.testing.CliRunner().invoke(schema.purge)
    assert (told.exit_code, told.output.endswith(said)) == (code, True)
    assert ("settled, because" in told.output) == bool(code)


async def test_command_says_that_another_purge_is_running(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SIDECAR_DATABASE_URL", database)
    other = await asyncpg.connect(database)
    await other.execute("SELECT pg_advisory_lock(hashtextextended('purge', 0))")
    told = await asyncio.to_thread(click.testing.CliRunner().invoke, schema.purge)
    assert (told.exit_code, told.output) == (1, "another purge is running; run it again when that has ended\n")
    await other.close()
    told = await asyncio.to_thread(click.testing.CliRunner().invoke, schema.purge)
    assert "rewritten" in told.output
