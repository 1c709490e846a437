"""`sidecar owner`: what can be done about one owner as a whole."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import click

from sidecar.cli.session import Session, connected


@click.group()
def owner() -> None:
    """Forget a person or an agent."""


@owner.command(short_help="Delete everything that is an owner's.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@connected
def forget(session: Session, yes: bool) -> None:
    """Delete the threads, memories, wiki, receipts, accounts and jobs of --owner, for good; needs an admin's token.

    Revoke the owner's tokens first: a call that is under way may still write. Memories that another service keeps stay there.

    \b
    Example:
      sidecar owner forget --owner mara
      sidecar owner forget --owner mara --yes --json
    """
    if not yes:
        whose = f"of the owner {session.owner!r}" if session.owner else "of the token's owner"
        session.voice.confirm(f"Delete everything {whose}? It cannot be taken back.")
    session.voice.show(session.client.forget_owner(), _draw)


def _draw(counts: Mapping[str, int]) -> Iterator[Any]:
    from sidecar.cli import drawing

    if not counts:
        yield "there is nothing of that owner"
        return
    yield drawing.rows(("table", "rows deleted"), ((table, f"{count:,}") for table, count in sorted(counts.items())))
