"""The metrics of one process, counted in memory and exported as Prometheus text or by OTLP. No label holds a tenant's id."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, disable_created_metrics, generate_latest
from prometheus_client import Metric as MetricFamily
from prometheus_client.parser import text_string_to_metric_families

from sidecar.telemetry import names
from sidecar.telemetry.names import Metric

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

disable_created_metrics()  # type: ignore[no-untyped-call]  # the library does not annotate it

F = TypeVar("F", Counter, Gauge, Histogram)


class Family(Generic[F]):
    """A metric with labels. It caches its children, since the library's look-up takes a lock and costs more than counting."""

    __slots__ = ("_children", "_made")

    def __init__(self, made: F) -> None:
        self._made: F = made
        self._children: dict[tuple[str, ...], F] = {}

    def of(self, *labels: str) -> F:
        """Return the child with these labels."""
        child = self._children.get(labels)
        if child is None:
            child = self._children[labels] = self._made.labels(*labels)
        return child


@dataclass(frozen=True, slots=True)
class _Collected:
    """A collector of given families, in place of a registry, for the library's text format."""

    families: Sequence[MetricFamily]

    def collect(self) -> Iterator[MetricFamily]:
        """Yield the families."""
        yield from self.families


class Figures:
    """Every metric of the process, in its own registry; after `join`, also those of the service's other processes."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.metrics: dict[str, Metric] = {}
        self._calls = Family(self._histogram(names.CALL_DURATION))
        self._messages = Family(self._counter(names.STREAM_MESSAGES))
        self._turns = Family(self._histogram(names.TURN_DURATION))
        self._sources = Family(self._histogram(names.SOURCE_DURATION))
        self._tokens = Family(self._counter(names.SOURCE_TOKENS_USED))
        self._items = Family(self._counter(names.SOURCE_ITEMS))
        self._fill = self._histogram(names.FILL_RATIO)
        self._stable = self._histogram(names.STABLE_PREFIX)
        self._jobs = Family(self._histogram(names.JOB_DURATION))
        self._model_tokens = Family(self._histogram(names.MODEL_TOKENS))
        self._model_calls = Family(self._histogram(names.MODEL_DURATION))
        self._rejections = Family(self._counter(names.PLAN_REJECTIONS))
        self._alerts = Family(self._counter(names.BUDGET_ALERTS))
        self._compiles = Family(self._gauge(names.COMPILE_JOBS))
        self._lag = self._gauge(names.COMPILE_LAG)
        self._decays = Family(self._counter(names.DECAY_JOBS))
        self._brain_copies = Family(self._counter(names.BRAIN_COPIES))
        self._reprocesses = Family(self._counter(names.REPROCESS_JOBS))
        self._reprocessed = self._counter(names.REPROCESSED_PAGES)
        self._refreshing: list[Callable[[], None]] = []
        self._name = ""
        self._others: Callable[[], Mapping[str, bytes]] = dict

    def call(self, method: str, code: str, duration_s: float) -> None:
        """Count a call that has ended."""
        self._calls.of(method, code).observe(duration_s)

    def streamed(self, method: str, count: int) -> None:
        """Count the messages of a stream that has ended."""
        self._messages.of(method).inc(count)

    def turn(self, details: Mapping[str, Any], *, duration_s: float, is_degraded: bool) -> None:
        """Count a turn from its receipt."""
        self._turns.of(str(is_degraded).lower()).observe(duration_s)
        pool = details["pool"]
        self._fill.observe(pool["used_tokens"] / max(1, pool["pool_tokens"]))
        self._stable.observe(details["rendered"]["stable_prefix_tokens"])
        for row in details["sources"]:
            if row["status"] != "SKIPPED":
                self._source(row)

    def _source(self, row: Mapping[str, Any]) -> None:
        source = row["source"]
        self._sources.of(source, row["status"]).observe(row["latency_ms"] / 1000)
        self._tokens.of(source, "offered").inc(row.get("offered_tokens", 0))
        self._tokens.of(source, "included").inc(row.get("included_tokens", 0))
        for decision in ("included", "shortened", "dropped"):
            self._items.of(source, decision).inc(row.get(f"{decision}_count", 0))

    def job(self, status: str, duration_s: float) -> None:
        """Count a compile job that has ended."""
        self._jobs.of(status).observe(duration_s)

    def model_call(self, call: Mapping[str, Any]) -> None:
        """Count a compile's model call from `compiles.tally`."""
        labels = ("chat", call["provider"], call["model"])
        self._model_calls.of(*labels, call["error"]).observe(call["duration_s"])
        for kind in ("input", "output"):
            self._model_tokens.of(*labels, kind, call["pass"]).observe(call[f"{kind}_tokens"])

    def rejected(self, reason: str, count: int) -> None:
        """Count rejected parts of plans."""
        self._rejections.of(reason).inc(count)

    def alerted(self, percent: int) -> None:
        """Count a spending threshold that was crossed."""
        self._alerts.of(str(percent)).inc()

    def compile_state(self, by_status: Mapping[str, int], *, lag_s: float) -> None:
        """Set the number of compile jobs by status, and the lag in seconds, over all tenants."""
        for status, count in by_status.items():
            self._compiles.of(status).set(count)
        self._lag.set(lag_s)

    def decayed(self, kind: str, state: str) -> None:
        """Count a decay job that has ended."""
        self._decays.of(kind, state).inc()

    def brain_changed(self, counts: Mapping[str, int]) -> None:
        """Count copies that were released, held or withdrawn."""
        for event, count in counts.items():
            self._brain_copies.of(event).inc(count)

    def reprocessed(self, status: str, pages: int) -> None:
        """Count a reprocess job that has ended, and its pages."""
        self._reprocesses.of(status).inc()
        self._reprocessed.inc(pages)

    def watch_value(self, metric: Metric, read: Callable[[], float]) -> None:
        """Register a gauge that is read whenever the metrics are exported."""
        self._gauge(metric).set_function(read)

    def watch_values(self, metric: Metric, read: Callable[[], Mapping[str, float]]) -> None:
        """Register a gauge with one label that is read whenever the metrics are exported."""
        gauge = Family(self._gauge(metric))

        def refresh() -> None:
            for label, value in read().items():
                gauge.of(label).set(value)

        self._refreshing.append(refresh)

    def refresh(self) -> None:
        """Read the registered gauges."""
        for refresh in self._refreshing:
            refresh()

    def join(self, name: str, others: Callable[[], Mapping[str, bytes]]) -> None:
        """Export other processes' metrics too; `others` returns their texts by process. Each sample gets the label `process`."""
        self._name, self._others = name, others

    def families(self) -> list[MetricFamily]:
        """Return every metric, including those of the joined processes."""
        self.refresh()
        own = list(self.registry.collect())
        if not self._name:
            return own
        joined: dict[str, MetricFamily] = {}
        others = ((name, text_string_to_metric_families(text.decode())) for name, text in self._others().items())
        for process, families in ((self._name, own), *others):
            for family in families:
                merged = joined.setdefault(family.name, MetricFamily(family.name, family.documentation, family.type))
                for sample in family.samples:
                    merged.samples.append(sample._replace(labels={**sample.labels, "process": process}))
        return list(joined.values())

    def as_text(self) -> bytes:
        """Return every metric in Prometheus's text format."""
        return generate_latest(_Collected(self.families()))

    def _histogram(self, metric: Metric) -> Histogram:
        name, labels = metric.prometheus_name, metric.prometheus_labels
        return self._kept(metric, Histogram(name, metric.text, labels, registry=self.registry, buckets=metric.buckets))

    def _counter(self, metric: Metric) -> Counter:
        name, labels = metric.prometheus_name, metric.prometheus_labels
        return self._kept(metric, Counter(name, metric.text, labels, registry=self.registry))

    def _gauge(self, metric: Metric) -> Gauge:
        name, labels = metric.prometheus_name, metric.prometheus_labels
        return self._kept(metric, Gauge(name, metric.text, labels, registry=self.registry))

    def _kept(self, metric: Metric, made: F) -> F:
        self.metrics[metric.prometheus_name] = metric
        return made
