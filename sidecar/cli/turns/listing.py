"""`sidecar turns`: lists the newest turns with their duration and spending."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import click

from sidecar.cli.shared import drawing
from sidecar.cli.shared.numbers import FiniteRange
from sidecar.cli.shared.paging import every, limit_option
from sidecar.cli.shared.session import CommandSession, connected
from sidecar.client.answers.cost import TurnCost


@click.command(short_help="List turns with their duration and cost.")
@click.option("--thread", "thread_id", default="", help="Only turns of this thread.")
@click.option("--agent", "agent_id", default="", help="Only turns of this agent.")
@click.option("--model", "model_id", default="", help="Only turns with this model.")
@click.option("--failed", "failed_source", default="", help="Only turns in which this source failed.")
@click.option("--degraded", "degraded_only", is_flag=True, help="Only degraded turns.")
@click.option("--slower-ms", "least_ms", type=FiniteRange(min=0), default=0.0, help="Only turns at least this slow.")
@limit_option
@connected
def turns(session: CommandSession, limit: int, **options: Any) -> None:
    """List turns, newest first, with time, duration, tokens, cost and failed sources.

    \b
    Example:
      sidecar turns --degraded
      sidecar turns --thread t1 --limit 10 --json
    """
    session.voice.show(list(every(session.client.list_turn_costs, limit=limit, **options)), draw)


def draw(rows: Sequence[TurnCost]) -> Iterator[Any]:
    """Yield a line for each turn."""
    names = ("time (UTC)", "receipt", "thread", "model", "ms", "tokens", "cost", "state")
    yield drawing.rows(names, map(cells, rows), empty="No such turns yet; start one with: sidecar assemble")


def cells(row: TurnCost) -> tuple[str, ...]:
    """Return a turn's line."""
    cost = "–" if row.cost_usd is None else f"${row.cost_usd:.4f}"
    state = f"degraded: {', '.join(row.failed_sources)}" if row.degraded else "whole"
    return (
        drawing.moment(row.create_time), row.receipt_id, row.thread_id, row.model_id, f"{row.duration_ms:.1f}",
        f"{row.input_tokens:,}", cost, state,
    )  # fmt: skip
