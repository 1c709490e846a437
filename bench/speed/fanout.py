"""A turn's time beyond its slowest source, and its end when a source hangs."""

from __future__ import annotations

import time
from collections.abc import Mapping
from datetime import UTC, datetime
from statistics import median
from uuid import UUID

import uvloop

from bench import stand_ins
from bench.figures import Figure, at_most, plain
from sidecar.context.fan_out import FanOut, FanOutQuery
from sidecar.context.ports import ContextSource, SourceQuery
from sidecar.turn.items import Source
from sidecar.turn.profile import merge, parse_layer
from store.scope import Scope

_COUNTS = {Source.THREAD: 10, Source.KNOWLEDGE: 10, Source.MEMORY: 10, Source.WIKI: 10}
_DELAYS_S = {Source.THREAD: 0.05, Source.KNOWLEDGE: 0.3, Source.MEMORY: 0.15, Source.WIKI: 0.1}
_DEADLINE_MS = 400


def run(*, scale: float) -> list[Figure]:
    """Return the figures of a fan-out."""
    return uvloop.run(_measured(max(5, round(20 * scale))))


async def _measured(rounds: int) -> list[Figure]:
    fanned = [await _one_s(stand_ins.sources(_COUNTS, delays_s=_DELAYS_S)) for _ in range(rounds)]
    hung = {**stand_ins.sources(_COUNTS), Source.MEMORY: stand_ins.Hung()}
    late = [await _one_s(hung) * 1000 - _DEADLINE_MS for _ in range(rounds)]
    return [
        at_most("turn wall time ÷ slowest source", median(fanned) / max(_DELAYS_S.values()), 1.05, note="50 to 300 ms"),
        at_most("a hung source: answer after the deadline, worst", max(late), 25.0, unit=" ms"),
        plain("a hung source: answer after the deadline, p50", median(late), unit=" ms"),
    ]


async def _one_s(sources: Mapping[Source, ContextSource]) -> float:
    """Return the seconds of one question put to these sources for the first time."""
    query = SourceQuery("what?", ("what",), "t", "a", "default", "", "", datetime.now(UTC))
    profile = merge(parse_layer({"sources": {source.value: {"deadline_ms": _DEADLINE_MS} for source in _COUNTS}}))
    fan_out = FanOut(sources, clock=time.monotonic)
    began = time.monotonic()
    await fan_out.ask(FanOutQuery(query, Scope(UUID(int=1), UUID(int=2)), profile, "bench", 1000, began + 5))
    return time.monotonic() - began
