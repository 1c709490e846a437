"""Commands on the database itself: migrate and purge. They load nothing of the service."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

import click

from sidecar.cli.shared import drawing
from sidecar.cli.shared.event_loop import runner
from sidecar.cli.shared.failures import FAILED, OK
from sidecar.cli.shared.output import Voice, counted
from sidecar.cli.shared.speaking import speaking
from sidecar.runtime import settings
from sidecar.runtime.database import bring_up_to_date, migrations, reached
from sidecar.runtime.settings import Settings
from store.db import distribution, purging
from store.db import migrate as ledger
from store.db.distribution import DistributionReport
from store.db.migrate import MigrationReport, MigrationState
from store.db.purging import PurgeReport


@click.command(short_help="Bring the database's schema up to date.")
@click.argument("action", type=click.Choice(["status"]), required=False)
@click.option("--dry-run", is_flag=True, help="Only show what would be applied.")
@click.option(
    "--distribute", is_flag=True, help="Then distribute the tables over the servers of a Citus cluster, by tenant."
)
@speaking
def migrate(voice: Voice, action: str | None, dry_run: bool, distribute: bool) -> None:
    """Apply pending migrations; safe to repeat, and to run concurrently.

    \b
    Example:
      sidecar migrate --dry-run
      sidecar migrate
      sidecar migrate --distribute
      sidecar migrate status
    """
    if distribute and (dry_run or action):
        raise click.UsageError("--distribute cannot be combined with --dry-run or status")
    read = settings.read(os.environ)
    with runner() as loop:
        if action == "status":
            voice.show(loop.run(_states(read)), _draw_states)
            return
        report, spread = loop.run(_migrate(read, dry_run=dry_run, distribute=distribute))
    if voice.is_json:
        voice.document(_facts(report) | (asdict(spread) if spread else {}))
    else:
        voice.show(report, _draw_report)
        if spread:
            voice.show(spread, _draw_spread)


async def _migrate(
    settings: Settings, *, dry_run: bool, distribute: bool
) -> tuple[MigrationReport, DistributionReport | None]:
    """Apply the pending migrations, distribute the tables if requested, and return the reports.

    If the tables cannot be distributed, nothing changes.

    Raises the errors of `store.db.migrate` and `store.db.distribution`.
    """
    async with reached(settings) as database:
        if distribute:
            await distribution.check(database.direct_dsn)
        report = await bring_up_to_date(database, dry_run=dry_run)
        return report, await distribution.distribute(database.direct_dsn) if distribute else None


def _facts(report: MigrationReport) -> dict[str, Any]:
    """Return a report as a JSON document; that of a dry run has only the migrations that would be applied."""
    done = "would_apply" if report.is_dry_run else "applied"
    return {done: report.applied, "skipped": report.skipped, "is_dry_run": report.is_dry_run}


async def _states(settings: Settings) -> tuple[MigrationState, ...]:
    """Return the state of every migration. Raises the errors of `store.db.migrate`."""
    async with reached(settings) as database:
        return await ledger.status(database.direct_dsn, migrations())


@click.command(short_help="Remove forgotten content from the database's files.")
@speaking
def purge(voice: Voice) -> int:
    """Rewrite every table and drop the log's old files, so that no file contains deleted content. A table is locked meanwhile.

    On a Citus cluster it does so on every server.

    A running service does this every SIDECAR_PURGE_EVERY_S seconds if content was forgotten.

    \b
    Example:
      sidecar purge
    """
    read = settings.read(os.environ)
    with runner() as loop:
        report = loop.run(_purge(read))
    voice.show(report, _draw_purged)
    return OK if report.is_complete else FAILED


async def _purge(settings: Settings) -> PurgeReport:
    """Purge the database of the settings. Raises the errors of `store.db.purging`."""
    async with reached(settings) as database:
        return await purging.purge(database.direct_dsn, is_forced=True, pgdata=database.pgdata)


def _draw_purged(report: PurgeReport) -> Iterator[str]:
    if report.is_elsewhere:
        yield "another purge is running; run it again when that has ended"
        return
    if report.unpurged:
        yield "nothing was settled, because not every server of the cluster could be purged; run it again"
        yield from report.unpurged
        return
    yield f"{counted(len(report.tables), 'table')} rewritten, {counted(report.settled, 'forgetting')} settled"
    if report.servers:
        yield f"every table of the tenants rewritten on {', '.join(report.servers)}"
    if report.left:
        waiting = counted(report.left, "forgetting waits", "forgettings wait")
        yield f"{waiting} for a session that may still see deleted rows; run it again"
    yield from (f"{table} was in use; run it again" for table in report.busy)
    yield from (f"the role may not clear the {name}; let the owner or a superuser do it" for name in report.refused)


def _draw_states(states: Sequence[MigrationState]) -> Iterator[Any]:
    yield drawing.rows(
        ("migration", "applied", "waits for"),
        ((one.name, drawing.moment(one.applied_at), one.waits_for) for one in states),
    )


def _draw_report(report: MigrationReport) -> Iterator[str]:
    verb = "would apply" if report.is_dry_run else "applied"
    yield from (f"{verb} {name}" for name in report.applied)
    yield from (f"skipped {one.name}: the server lacks the extension {one.extension}" for one in report.skipped)
    if not report.applied:
        yield "nothing to apply"


def _draw_spread(report: DistributionReport) -> Iterator[str]:
    yield from (f"distributed {name}" for name in report.distributed)
    before = counted(report.before, "table was", "tables were")
    yield f"{before} spread before; {counted(report.servers, 'server holds', 'servers hold')} them"
