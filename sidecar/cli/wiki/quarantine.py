"""Commands about quarantined memories: list and retry."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click

from sidecar.cli.shared.listing import every, limit_option
from sidecar.cli.shared.session import CommandSession, connected
from sidecar.cli.wiki import drawing
from sidecar.client.answers.wiki import QuarantinedMemory, RetryEffect


@click.command(short_help="List memories that no batch could be made of.")
@limit_option
@connected
def quarantine(session: CommandSession, limit: int) -> None:
    """List memories that a compile set aside, and why; needs an admin's token.

    \b
    Example:
      sidecar wiki quarantine --owner mara
    """
    session.voice.show(list(every(session.client.list_quarantined, limit=limit)), _draw_held)


def _draw_held(found: list[QuarantinedMemory]) -> Iterator[Any]:
    return drawing.quarantined(found)


@click.command(short_help="Try memories again that were set aside.")
@click.argument("memory_ids", metavar="[MEMORY_ID]...", nargs=-1)
@click.option("--all", "is_all", is_flag=True, help="Try the first thousand that are held back.")
@connected
def retry(session: CommandSession, memory_ids: tuple[str, ...], is_all: bool) -> None:
    """Have memories that were set aside read again by a compile that is queued now; needs an admin's token.

    \b
    Example:
      sidecar wiki retry mem-0001 mem-0002
      sidecar wiki retry --all --json
    """
    if bool(memory_ids) == is_all:
        raise click.UsageError("Name the memories to try again, or say --all.")
    session.voice.show(session.client.retry_quarantined(memory_ids=memory_ids), drawn_retry)


def drawn_retry(effect: RetryEffect) -> Iterator[str]:
    """Yield how many memories are retried, and by which compile."""
    if not effect.memory_count:
        yield "none of them is held back"
        return
    then = f"follow it with: sidecar wiki watch {effect.job.job_id}" if effect.job else "the next compile does"
    yield f"{effect.memory_count:,} to read again; {then}"


COMMANDS = (quarantine, retry)
