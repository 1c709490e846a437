"""The results of a benchmark: named figures with their targets, as a table or as JSON."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from math import ceil, nan
from typing import Any

from rich.console import Console
from rich.table import Table


def log_progress(line: str) -> None:
    """Print a line of a run's progress to standard error, with the time."""
    print(f"{time.strftime('%H:%M:%S')} {line}", file=sys.stderr, flush=True)


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured value. `target` is in words, `holds` says whether it is met; both are absent where there is no target."""

    name: str
    value: float
    unit: str = ""
    target: str | None = None
    holds: bool | None = None
    note: str = ""


def at_most(name: str, value: float, limit: float, *, unit: str = "", note: str = "") -> Figure:
    """Return a figure that must not exceed its limit."""
    return Figure(name, value, unit, f"≤ {limit:g}{unit}", value <= limit, note)


def at_least(name: str, value: float, limit: float, *, unit: str = "", note: str = "") -> Figure:
    """Return a figure that must reach its limit."""
    return Figure(name, value, unit, f"≥ {limit:g}{unit}", value >= limit, note)


def plain(name: str, value: float, *, unit: str = "", note: str = "") -> Figure:
    """Return a figure without a target."""
    return Figure(name, value, unit, note=note)


def as_json(bench: str, figures: list[Figure]) -> dict[str, Any]:
    """Return the figures in the JSON shape common to all benchmarks."""
    return {
        "bench": bench,
        "figures": {one.name: {"value": one.value, "target": one.target, "holds": one.holds} for one in figures},
    }


def print_table(bench: str, figures: list[Figure]) -> None:
    """Print the figures as a table."""
    table = Table(title=bench, title_justify="left")
    for heading in ("figure", "value", "target", "holds", "note"):
        table.add_column(heading)
    for one in figures:
        holds = "" if one.holds is None else "yes" if one.holds else "NO"
        table.add_row(one.name, f"{one.value:.4g}{one.unit}", one.target or "", holds, one.note)
    Console().print(table)


def quantile(values: list[float], share: float) -> float:
    """Return the least value that `share` (0 to 1) of the values do not exceed, by nearest rank; NaN without values."""
    ordered = sorted(values)
    return ordered[max(0, ceil(share * len(ordered)) - 1)] if ordered else nan
