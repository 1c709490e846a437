"""`sidecar turns`: lists the newest turns with their duration and spending."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import click

from sidecar.cli.shared import drawing
from sidecar.cli.shared.listing import every, limit_option
from sidecar.cli.shared.session import CommandSession, connected
from sidecar.client.answers.cost import TurnCost


@click.command(short_help="List turns with what they took and spent.")
@click.option("--thread", default="", help="Only this thread's.")
@click.option("--agent", default="", help="Only this agent's.")
@click.option("--model", default="", help="Only this model's.")
@click.option("--failed", default="", help="Only those in which this source failed.")
@click.option("--degraded", is_flag=True, help="Only degraded ones.")
@click.option("--slower-ms", type=click.FloatRange(min=0), default=0.0, help="Only those that took at least so long.")
@limit_option
@connected
def turns(session: CommandSession, limit: int, **given: Any) -> None:
    """List turns, newest first: when, how long, how many tokens, what they cost, and what failed.

    \b
    Example:
      sidecar turns --degraded
      sidecar turns --thread t1 --limit 10 --json
    """
    found = every(
        session.client.list_turn_costs,
        limit=limit,
        thread_id=given["thread"],
        agent_id=given["agent"],
        model_id=given["model"],
        failed_source=given["failed"],
        degraded_only=given["degraded"],
        least_ms=given["slower_ms"],
    )
    session.voice.show(list(found), draw)


def draw(rows: Sequence[TurnCost]) -> Iterator[Any]:
    """Yield a line for each turn."""
    names = ("time (UTC)", "receipt", "thread", "model", "ms", "tokens", "cost", "state")
    yield drawing.rows(names, map(cells, rows), empty="No such turns yet; one begins with: sidecar assemble")


def cells(row: TurnCost) -> tuple[str, ...]:
    """Return a turn's line."""
    cost = "–" if row.cost_usd is None else f"${row.cost_usd:.4f}"
    state = f"degraded: {', '.join(row.failed_sources)}" if row.degraded else "whole"
    return (
        drawing.moment(row.create_time), row.receipt_id, row.thread_id, row.model_id, f"{row.duration_ms:.1f}",
        f"{row.input_tokens:,}", cost, state,
    )  # fmt: skip
