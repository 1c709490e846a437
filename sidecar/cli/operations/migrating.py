"""The work of `sidecar migrate`: opens the database without changing it, then applies migrations or reports their state."""

from __future__ import annotations

from typing import Any

from sidecar.runtime.database import bring_up_to_date, migrations, reached
from sidecar.runtime.settings import Settings
from store.db import migrate
from store.db.migrate import MigrationReport, MigrationState


async def apply(settings: Settings, *, dry_run: bool) -> MigrationReport:
    """Apply the pending migrations and return the report. Raises the errors of `store.db.migrate`."""
    async with reached(settings) as database:
        return await bring_up_to_date(database, dry_run=dry_run)


def facts(report: MigrationReport) -> dict[str, Any]:
    """Return a report as a JSON document; that of a dry run says what would be applied, never that anything was."""
    done = "would_apply" if report.is_dry_run else "applied"
    return {done: report.applied, "skipped": report.skipped, "is_dry_run": report.is_dry_run}


async def status(settings: Settings) -> tuple[MigrationState, ...]:
    """Return the state of every migration. Raises the errors of `store.db.migrate`."""
    async with reached(settings) as database:
        return await migrate.status(database.direct_dsn, migrations())
