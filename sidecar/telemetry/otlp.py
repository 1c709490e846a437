"""Exports by OTLP: spans in batches by the SDK's processor, metrics by a thread that reads the registry periodically.

A slow or unavailable collector affects only these two threads; spans that do not fit the queue are dropped.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from opentelemetry.sdk.metrics.export import (
    AggregationTemporality,
    Gauge,
    Histogram,
    HistogramDataPoint,
    Metric,
    MetricsData,
    NumberDataPoint,
    ResourceMetrics,
    ScopeMetrics,
    Sum,
)
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from prometheus_client import Metric as Family
from prometheus_client.samples import Sample

from sidecar.telemetry import names
from sidecar.telemetry.figures import Figures

if TYPE_CHECKING:
    from opentelemetry.sdk.metrics.export import MetricExporter

_SCOPE = InstrumentationScope(names.SCOPE)


@dataclass(frozen=True, slots=True)
class ReadTimes:
    """The start of counting and the time of reading, in nanoseconds of the wall clock."""

    began_ns: int
    now_ns: int


class MetricSender:
    """Reads the figures every `every_s` seconds and sends them, until stopped."""

    def __init__(self, figures: Figures, exporter: MetricExporter, resource: Resource, *, every_s: float) -> None:
        self._figures = figures
        self._exporter = exporter
        self._resource = resource
        self._every_s = every_s
        self._began_ns = time.time_ns()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="sidecar-metrics", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self, grace_s: float) -> None:
        """Send once more and stop, waiting at most `grace_s` seconds."""
        self._stopping.set()
        self._thread.join(grace_s)
        self._exporter.shutdown(timeout_millis=0.0)

    def send(self) -> None:
        """Send the current values of all metrics."""
        self._figures.refresh()
        read = ReadTimes(self._began_ns, time.time_ns())
        self._exporter.export(metrics_data(self._figures, self._resource, read))

    def _run(self) -> None:
        while not self._stopping.wait(self._every_s):
            self.send()
        self.send()


def metrics_data(figures: Figures, resource: Resource, read: ReadTimes) -> MetricsData:
    """Return the registry's metrics for OTLP, by their dotted names, cumulative since the start."""
    metrics = [_metric(family, figures.metrics, read) for family in figures.registry.collect()]
    scope = ScopeMetrics(_SCOPE, [metric for metric in metrics if metric is not None], "")
    return MetricsData([ResourceMetrics(resource, [scope], "")])


def _metric(family: Family, known: Mapping[str, names.Metric], read: ReadTimes) -> Metric | None:
    metric = known.get(family.name) or known.get(f"{family.name}_total")
    if metric is None or not family.samples:
        return None
    data: Any
    dotted = dict(zip(metric.prometheus_labels, metric.labels, strict=True))
    if family.type == "histogram":
        data = Histogram(_histogram_points(family.samples, dotted, read), AggregationTemporality.CUMULATIVE)
    else:
        points = [
            NumberDataPoint(_named(sample.labels, dotted), read.began_ns, read.now_ns, sample.value)
            for sample in family.samples
        ]
        is_counter = family.type == "counter"
        data = Sum(points, AggregationTemporality.CUMULATIVE, is_monotonic=True) if is_counter else Gauge(points)
    return Metric(metric.name, metric.text, metric.unit or "1", data)


def _named(labels: Mapping[str, str], dotted: Mapping[str, str]) -> dict[str, str]:
    """Return a sample's labels under their dotted names, without empty ones."""
    return {dotted[name]: value for name, value in labels.items() if name in dotted and value}


def _histogram_points(
    samples: Iterable[Sample], dotted: Mapping[str, str], read: ReadTimes
) -> list[HistogramDataPoint]:
    """Return a point per label set. Prometheus buckets are cumulative, OTLP's are not."""
    groups: dict[tuple[tuple[str, str], ...], list[Sample]] = {}
    for sample in samples:
        labels = tuple((name, value) for name, value in sample.labels.items() if name != "le")
        groups.setdefault(labels, []).append(sample)
    return [_histogram_point(_named(dict(labels), dotted), group, read) for labels, group in groups.items()]


def _histogram_point(labels: dict[str, str], group: list[Sample], read: ReadTimes) -> HistogramDataPoint:
    running = [int(sample.value) for sample in group if sample.name.endswith("_bucket")]
    bounds = [float(sample.labels["le"]) for sample in group if sample.name.endswith("_bucket")]
    return HistogramDataPoint(
        attributes=labels,
        start_time_unix_nano=read.began_ns,
        time_unix_nano=read.now_ns,
        count=running[-1],
        sum=next(sample.value for sample in group if sample.name.endswith("_sum")),
        bucket_counts=[running[0], *(after - before for before, after in pairwise(running))],
        explicit_bounds=bounds[:-1],
        min=float("nan"),
        max=float("nan"),
    )
