"""Measures the cost of telemetry: processor time of a turn's thread for its ids, metrics and spans."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from datetime import UTC, datetime
from statistics import median
from uuid import UUID, uuid4

from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

from bench.figures import Figure, at_most, plain
from bench.speed import own_time
from sidecar.telemetry import calls
from sidecar.telemetry.watch import Watch, WatchConfig
from sidecar.turn.items import Source
from store.accounting.receipts import NewReceipt
from store.scope import Scope

_METHOD = "/sidecar.v1.ContextService/AssembleContext"
_CANDIDATES = 84  # of each of six sources: about 500
_SAMPLED, _UNSAMPLED = "01", "00"


def run(*, scale: float) -> list[Figure]:
    """Return the cost of telemetry, and that of a turn."""
    rounds = max(50, round(2000 * scale))
    turn_ms = asyncio.run(own_time.measured(max(10, round(60 * scale))))[0].value
    full_ms, none_ms = _cost_ms(rounds, _SAMPLED), _cost_ms(rounds, _UNSAMPLED)
    default_ms = 0.1 * full_ms + 0.9 * none_ms
    return [
        at_most("watching ÷ a turn's own time, one trace in ten", default_ms / turn_ms, 0.05, note="500 candidates"),
        at_most("of the turn's thread, every turn traced", full_ms, 0.3, unit=" ms", note="8 spans, with metrics"),
        plain("of the turn's thread, no turn traced", none_ms, unit=" ms", note="metrics and ids"),
        plain("a turn's own time, p50", turn_ms, unit=" ms"),
    ]


class _Nowhere(SpanExporter):
    """An exporter that drops all spans."""

    def export(self, spans: object) -> SpanExportResult:
        """Report success."""
        return SpanExportResult.SUCCESS

    def shutdown(self) -> None:
        """Do nothing."""


def _cost_ms(rounds: int, flags: str) -> float:
    """Return the median milliseconds of this thread for the telemetry of one turn."""
    watch = Watch(WatchConfig(slow_turn_s=1e9), processor=BatchSpanProcessor(_Nowhere(), max_queue_size=1_000_000))
    metadata: dict[str, str | bytes] = {"traceparent": f"00-{'a' * 32}-{'b' * 16}-{flags}"}
    receipt = _receipt()
    took = [_timed(lambda: _one(watch, metadata, receipt)) for _ in range(rounds)]
    watch.stop()
    return median(took) * 1000


def _one(watch: Watch, metadata: dict[str, str | bytes], receipt: NewReceipt) -> None:
    watched = watch.call(_METHOD, metadata, lambda error: "UNKNOWN")
    with calls.within(watched.call), watched:
        watched.call.has_receipt = True
    watch.turn_written(receipt, watched.call)


def _timed(work: Callable[[], None]) -> float:
    began = time.thread_time()
    work()
    return time.thread_time() - began


def _receipt() -> NewReceipt:
    decisions = ["kept" if place % 3 else "over_budget" for place in range(_CANDIDATES)]
    items = [{"id": f"i{place}", "decision": one, "tokens": 40} for place, one in enumerate(decisions)]
    rows = [
        {
            "source": source.value, "status": "OK", "reason": "", "latency_ms": 12.5, "attempts": 1, "offered_count": 84,
            "included_count": 56, "shortened_count": 0, "dropped_count": 28, "included_tokens": 2240, "offered_tokens": 3360,
            "items": items,
        }
        for source in Source
    ]  # fmt: skip
    details = {
        "asked": {"message": ""}, "profile": {"version": "built-in"}, "tokenizer": {"name": "o200k_base"},
        "pool": {"window_tokens": 128_000, "pool_tokens": 120_000, "used_tokens": 14_000}, "sources": rows,
        "rendered": {"tokens": 14_000, "stable_prefix_tokens": 3000, "sha256": "0" * 64},
        "timings": {"before_ms": 1.0, "asking_ms": 15.0},
    }  # fmt: skip
    scope = Scope(UUID(int=1), UUID(int=2))
    return NewReceipt(scope, uuid4(), "a", "t", "gpt-4o", False, 20.0, details, {}, datetime.now(UTC))
