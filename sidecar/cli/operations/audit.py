"""`sidecar audit`: lists the audited calls of admins."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import click

from sidecar.cli.shared import drawing
from sidecar.cli.shared.paging import every, limit_option
from sidecar.cli.shared.session import CommandSession, connected
from sidecar.client import Stance
from sidecar.client.answers import AuditEntry


@click.command(short_help="List the calls of admins.")
@click.option("--days", type=click.IntRange(1, 3660), default=7, show_default=True, help="How far to look back.")
@limit_option
@connected
def audit(session: CommandSession, days: int, limit: int) -> None:
    """List the audited calls and console pages of the tenant's admins, newest first; needs an admin's token.

    With --owner, only entries about that owner. Entries are kept for SIDECAR_AUDIT_DAYS.

    \b
    Example:
      sidecar audit --days 30
      sidecar audit --owner mara --json
    """
    since = datetime.now(UTC) - timedelta(days=days)
    client = session.client
    if not click.get_current_context().params.get("owner"):
        client = client.taking(Stance(session.tenant))  # without a token, calls otherwise name the owner `default`
    entries = every(client.list_audit_entries, limit=limit, since_time=since)
    session.voice.show(list(entries), draw)


def draw(entries: Sequence[AuditEntry]) -> Iterator[Any]:
    names = ("time (UTC)", "subject", "via", "method", "owner", "object", "outcome")
    rows = (
        (drawing.moment(one.call_time), one.subject, one.via, _short(one.method), one.owner_id, one.object, one.outcome)
        for one in entries
    )
    yield drawing.rows(names, rows, empty="No admin called in this time.")


def _short(method: str) -> str:
    """Return the method without the package that all methods of this release share."""
    return method.removeprefix("sidecar.v1.")
