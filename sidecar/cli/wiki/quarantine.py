"""Commands about quarantined memories: list and retry."""

from __future__ import annotations

from collections.abc import Iterator

import click

from sidecar.cli.shared.paging import every, limit_option
from sidecar.cli.shared.session import CommandSession, connected
from sidecar.cli.wiki import drawing
from sidecar.client.answers.wiki import RetryEffect


@click.command(short_help="List quarantined memories.")
@limit_option
@connected
def quarantine(session: CommandSession, limit: int) -> None:
    """List quarantined memories with the reason; needs an admin's token.

    \b
    Example:
      sidecar wiki quarantine --owner mara
    """
    session.voice.show(list(every(session.client.list_quarantined, limit=limit)), drawing.quarantined)


@click.command(short_help="Retry quarantined memories.")
@click.argument("memory_ids", metavar="[MEMORY_ID]...", nargs=-1)
@click.option("--all", "is_all", is_flag=True, help="Retry the first thousand.")
@connected
def retry(session: CommandSession, memory_ids: tuple[str, ...], is_all: bool) -> None:
    """Queue a compile that reads quarantined memories again; needs an admin's token.

    \b
    Example:
      sidecar wiki retry mem-0001 mem-0002
      sidecar wiki retry --all --json
    """
    if bool(memory_ids) == is_all:
        raise click.UsageError("Name the memories to retry, or add --all.")
    session.voice.show(session.client.retry_quarantined(memory_ids=memory_ids), drawn_retry)


def drawn_retry(effect: RetryEffect) -> Iterator[str]:
    """Yield the number of retried memories, and the compile that reads them."""
    if not effect.memory_count:
        yield "none of them is quarantined"
        return
    then = f"follow it with: sidecar wiki watch {effect.job.job_id}" if effect.job else "the next compile reads them"
    yield f"{effect.memory_count:,} to read again; {then}"


COMMANDS = (quarantine, retry)
