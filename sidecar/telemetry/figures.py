"""The metrics of one process: counted in memory, read as Prometheus text or sent by OTLP. No value bears a tenant's id."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, disable_created_metrics, generate_latest

from sidecar.telemetry import names
from sidecar.telemetry.names import Metric

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

disable_created_metrics()  # type: ignore[no-untyped-call]  # the library annotates it not

F = TypeVar("F")


class Figures:
    """Every metric of the process, in a registry of its own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.metrics: dict[str, Metric] = {}
        self._calls = self._histogram(names.CALL_DURATION)
        self._turns = self._histogram(names.TURN_DURATION)
        self._sources = self._histogram(names.SOURCE_DURATION)
        self._tokens = self._counter(names.SOURCE_TOKENS_USED)
        self._items = self._counter(names.SOURCE_ITEMS)
        self._fill = self._histogram(names.FILL_RATIO)
        self._stable = self._histogram(names.STABLE_PREFIX)
        self._jobs = self._histogram(names.JOB_DURATION)
        self._job_tokens = self._counter(names.JOB_TOKENS)
        self._rejections = self._counter(names.PLAN_REJECTIONS)
        self._alerts = self._counter(names.BUDGET_ALERTS)
        self._compiles = self._gauge(names.COMPILE_JOBS)
        self._lag = self._gauge(names.COMPILE_LAG)
        self._refreshing: list[Callable[[], None]] = []

    def call(self, method: str, code: str, duration_s: float) -> None:
        """Count a call that has ended."""
        self._calls.labels(method, code).observe(duration_s)

    def turn(self, details: Mapping[str, Any], *, duration_s: float, is_degraded: bool) -> None:
        """Count a turn by what its receipt says."""
        self._turns.labels(str(is_degraded).lower()).observe(duration_s)
        pool = details["pool"]
        self._fill.observe(pool["used_tokens"] / max(1, pool["pool_tokens"]))
        self._stable.observe(details["rendered"]["stable_prefix_tokens"])
        for row in details["sources"]:
            if row["status"] != "SKIPPED":
                self._source(row)

    def _source(self, row: Mapping[str, Any]) -> None:
        source = row["source"]
        self._sources.labels(source, row["status"]).observe(row["latency_ms"] / 1000)
        self._tokens.labels(source, "offered").inc(row.get("offered_tokens", 0))
        self._tokens.labels(source, "included").inc(row.get("included_tokens", 0))
        for decision in ("included", "shortened", "dropped"):
            self._items.labels(source, decision).inc(row.get(f"{decision}_count", 0))

    def job(self, status: str, duration_s: float) -> None:
        """Count a compile job that has ended."""
        self._jobs.labels(status).observe(duration_s)

    def job_tokens(self, model: str, in_pass: str, *, kind: str, tokens: int) -> None:
        """Count tokens of a compile's model calls; `kind` is input or output."""
        self._job_tokens.labels(model, in_pass, kind).inc(tokens)

    def rejected(self, reason: str, count: int) -> None:
        """Count parts of plans that were refused."""
        self._rejections.labels(reason).inc(count)

    def alerted(self, percent: int) -> None:
        """Count a spending threshold that was crossed."""
        self._alerts.labels(str(percent)).inc()

    def compile_state(self, by_status: Mapping[str, int], *, lag_s: float) -> None:
        """Set how the compile stands now, over all tenants."""
        for status, count in by_status.items():
            self._compiles.labels(status).set(count)
        self._lag.set(lag_s)

    def watch_value(self, metric: Metric, read: Callable[[], float]) -> None:
        """Have a figure read whenever the metrics are."""
        self._gauge(metric).set_function(read)

    def watch_values(self, metric: Metric, read: Callable[[], Mapping[str, float]]) -> None:
        """Have a figure with one label read whenever the metrics are."""
        gauge = self._gauge(metric)

        def refresh() -> None:
            for label, value in read().items():
                gauge.labels(label).set(value)

        self._refreshing.append(refresh)

    def refresh(self) -> None:
        """Read the figures that others keep."""
        for one in self._refreshing:
            one()

    def as_text(self) -> bytes:
        """Return every metric in Prometheus' text format."""
        self.refresh()
        return generate_latest(self.registry)

    def _histogram(self, metric: Metric) -> Histogram:
        made = Histogram(
            metric.prometheus_name, metric.text, metric.labels, registry=self.registry, buckets=metric.buckets
        )
        return self._kept(metric, made)

    def _counter(self, metric: Metric) -> Counter:
        return self._kept(metric, Counter(metric.prometheus_name, metric.text, metric.labels, registry=self.registry))

    def _gauge(self, metric: Metric) -> Gauge:
        return self._kept(metric, Gauge(metric.prometheus_name, metric.text, metric.labels, registry=self.registry))

    def _kept(self, metric: Metric, made: F) -> F:
        self.metrics[metric.prometheus_name] = metric
        return made
