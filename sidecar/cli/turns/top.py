"""`sidecar top`: shows statistics of the newest turns, refreshed repeatedly."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import click

from sidecar.cli.shared import drawing
from sidecar.cli.shared.numbers import FiniteRange
from sidecar.cli.shared.output import counted
from sidecar.cli.shared.session import CommandSession, connected
from sidecar.cli.turns import listing as turns
from sidecar.client.answers.cost import TurnCost

_ROWS = 100
_SHOWN = 15


@dataclass(frozen=True, slots=True)
class Glance:
    """The newest turns and their statistics; times in milliseconds."""

    turns: int
    degraded: int
    p50_ms: float
    p95_ms: float
    tokens: int
    cost_usd: float
    source_tokens: dict[str, int]
    failed: dict[str, int]
    newest: tuple[TurnCost, ...]


@click.command(short_help="Watch the newest turns.")
@click.option(
    "--every", "every_s", type=FiniteRange(min=0.2, max=86_400), default=2.0, show_default=True, help="Seconds."
)
@click.option("--once", is_flag=True, help="Draw once and end.")
@connected
def top(session: CommandSession, every_s: float, once: bool) -> None:
    """Watch the newest hundred turns: latency, degraded turns, and tokens by source. Ctrl-C ends it.

    \b
    Example:
      sidecar top
      sidecar top --once --json
    """
    while True:
        glance = glance_of(session.client.list_turn_costs(page_size=_ROWS).values)
        if not once and not session.voice.is_json:
            click.clear()
        session.voice.show(glance, _draw)
        if once or session.voice.is_json:
            return
        time.sleep(every_s)


def glance_of(rows: Sequence[TurnCost]) -> Glance:
    """Return the statistics of turns."""
    times = sorted(row.duration_ms for row in rows)
    source_tokens: dict[str, int] = {}
    failed: dict[str, int] = {}
    for row in rows:
        for source, tokens in row.source_tokens.items():
            source_tokens[source] = source_tokens.get(source, 0) + tokens
        for source in row.failed_sources:
            failed[source] = failed.get(source, 0) + 1
    return Glance(
        turns=len(rows),
        degraded=sum(row.degraded for row in rows),
        p50_ms=_quantile(times, 0.5),
        p95_ms=_quantile(times, 0.95),
        tokens=sum(row.input_tokens for row in rows),
        cost_usd=sum(row.cost_usd or 0.0 for row in rows),
        source_tokens=source_tokens,
        failed=failed,
        newest=tuple(rows[:_SHOWN]),
    )


def _quantile(ordered: Sequence[float], share: float) -> float:
    """Return the quantile by nearest rank; 0 without values."""
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0.0


def _draw(found: Glance) -> Iterator[Any]:
    yield (
        f"{counted(found.turns, 'turn')}, {found.degraded} degraded, p50 {found.p50_ms:.0f} ms, p95 {found.p95_ms:.0f} ms,"
        f" {counted(found.tokens, 'token')}, ${found.cost_usd:.4f}"
    )
    if found.failed:
        yield "failed: " + ", ".join(f"{source} {count}" for source, count in sorted(found.failed.items()))
    whole = sum(found.source_tokens.values())
    yield from drawing.bars([drawing.BarPart(name, tokens) for name, tokens in found.source_tokens.items()], whole)
    yield from turns.draw(found.newest)
