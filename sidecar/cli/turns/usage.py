"""`sidecar usage report`: reports the provider's token counts for an assembly."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import click

from sidecar.cli.shared.session import CommandSession, connected
from sidecar.client.answers import UsageEffect

_TOKENS = click.IntRange(min=0)


@click.group()
def usage() -> None:
    """Report the provider's token counts of a turn."""


@usage.command(short_help="Report the provider's token counts of an assembly.")
@click.argument("receipt")
@click.option("--input", "input_tokens", type=_TOKENS, required=True, help="Input tokens, including cached ones.")
@click.option("--output", "output_tokens", type=_TOKENS, default=0, help="Output tokens.")
@click.option("--cache-read", "cache_read_tokens", type=_TOKENS, default=0, help="Input tokens read from the cache.")
@click.option("--cache-write", "cache_write_tokens", type=_TOKENS, default=0, help="Input tokens written to the cache.")
@click.option(
    "--used", "used_item_ids", multiple=True, metavar="ITEM", help="An item that the answer used; repeatable."
)
@connected
def report(session: CommandSession, receipt: str, used_item_ids: Sequence[str], **counts: Any) -> None:
    """Report the provider's token counts of an assembly. Later estimates for the model learn from it.

    \b
    Example:
      sidecar usage report 0198c0de-… --input 5120 --output 310 --used mem-0001
    """
    effect = session.client.report_usage(receipt_id=receipt, used_item_ids=used_item_ids, **counts)
    session.voice.show(effect, _draw)


def _draw(effect: UsageEffect) -> Iterator[str]:
    yield f"expected {effect.expected_input_tokens:,} input tokens; the model's ratio is now {effect.ratio:.3f}"
