"""`sidecar owner`: commands about one owner as a whole."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import closing, nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from sidecar.cli.content import owner_export
from sidecar.cli.shared import drawing
from sidecar.cli.shared.output import counted
from sidecar.cli.shared.session import CommandSession, connected
from sidecar.client.answers import ForgottenOwner
from sidecar.client.answers.cost import Storage

_MB = 2**20


@click.group()
def owner() -> None:
    """Show an owner's storage, export an owner's data, or delete all data of an owner."""


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


@owner.command(short_help="Write an owner's data to a file.")
@click.argument("file", type=click.Path(dir_okay=False, allow_dash=True, path_type=Path))
@click.option("--no-history", is_flag=True, help="Leave out the history of memories, which takes a call for each.")
@connected
def export(session: CommandSession, file: Path, no_history: bool) -> None:
    """Write the threads, memories and pages of --owner to FILE, as JSON lines; - is standard output.

    For the owner's own copy, or to move the owner: import the file with `sidecar thread import`, then `sidecar memory import`.
    Imported memories keep their status, validity, metadata, pins and turns. Their history, the links from summaries to their
    sources, the times at which they were written, and pages are in the file, but are not imported; the wiki is compiled
    again. Not in the file: receipts, accounts, vectors, held names, reports of sentences, rulings, episodes, and memories
    that a remote service keeps.

    The file gets its name when it is complete. It is no snapshot: of what is written meanwhile, some is in it.

    \b
    Example:
      sidecar owner export mara.jsonl --owner mara
      sidecar owner export - --owner mara | gzip > mara.jsonl.gz
    """
    is_stream = str(file) == "-"
    if is_stream and session.voice.is_json:
        raise click.UsageError("--json writes the counts to standard output; name a file.")
    about = {"tenant": session.tenant, "owner": session.owner, "export_time": datetime.now(UTC)}
    last: dict[str, Any] = {}
    with (
        nullcontext(sys.stdout.buffer) if is_stream else owner_export.written_whole(file) as stream,
        session.voice.progress("lines", None) as step,
        closing(owner_export.lines(session.client, about, with_history=not no_history)) as lines,
    ):
        for line in lines:
            stream.write(owner_export.encoded(line))
            last = line
            step(1)
    counts = {name: count for name, count in last.items() if isinstance(count, int)}
    if is_stream:
        session.voice.note(_summary(counts))
    else:
        session.voice.show({"file": str(file), **counts}, lambda _: [f"{file}: {_summary(counts)}"])


def _summary(counts: dict[str, int]) -> str:
    turns = f"{counted(counts['turns'], 'turn')} in {counted(counts['threads'], 'thread')}"
    return f"{turns}, {counted(counts['memories'], 'memory', 'memories')}, {counted(counts['pages'], 'page')}"


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
