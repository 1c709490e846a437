"""`sidecar owner`: commands about one owner as a whole."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click

from sidecar.cli.shared import drawing
from sidecar.cli.shared.session import CommandSession, connected
from sidecar.client.answers import ForgottenOwner
from sidecar.client.answers.cost import Storage

_MB = 2**20


@click.group()
def owner() -> None:
    """Show an owner's storage, or delete all data of an owner."""


@owner.command(short_help="Show an owner's storage.")
@connected
def show(session: CommandSession) -> None:
    """Show the bytes of the turns and memories of --owner, and the quota (SIDECAR_OWNER_QUOTA_MB).

    \b
    Example:
      sidecar owner show --owner mara
      sidecar owner show --json
    """
    session.voice.show(session.client.get_storage(), _draw_storage)


def _draw_storage(storage: Storage) -> Iterator[str]:
    quota = f" of {storage.quota_bytes / _MB:,.1f} MB" if storage.quota_bytes else "; there is no quota"
    yield f"turns and memories take {storage.stored_bytes / _MB:,.1f} MB{quota}"


@owner.command(short_help="Delete all data of an owner.")
@click.option("--dry-run", "is_dry_run", is_flag=True, help="Count what would be deleted; delete nothing.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@connected
def forget(session: CommandSession, is_dry_run: bool, yes: bool) -> None:
    """Delete the threads, memories, wiki, receipts, accounts and jobs of --owner, for good; needs an admin's token.

    Revoke the owner's tokens first: a running call may still write. Remote memory services forget the owner too; the answer has
    the outcome of each.

    \b
    Example:
      sidecar owner forget --owner mara
      sidecar owner forget --owner mara --yes --json
    """
    forget_everything(session, yes=yes, is_dry_run=is_dry_run)


def forget_everything(session: CommandSession, *, yes: bool, is_dry_run: bool) -> None:
    """Delete all data of the session's owner after a confirmation, and show the deletions; a dry run only counts."""
    if not yes and not is_dry_run:
        scope = f"of the owner {session.owner!r}" if session.owner else "of the token's owner"
        session.voice.confirm(f"Delete all data {scope}? This cannot be undone.")
    session.voice.show(session.client.forget_owner(dry_run=is_dry_run), _draw)


def _draw(done: ForgottenOwner) -> Iterator[Any]:
    if done.row_counts:
        counts = ((table, f"{count:,}") for table, count in sorted(done.row_counts.items()))
        yield drawing.rows(("table", "rows deleted"), counts)
    else:
        yield "that owner has no data"
    yield from drawing.elsewhere(done.elsewhere)
