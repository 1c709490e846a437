"""The telemetry of one process: makes the spans and metrics of calls, turns and jobs when these end."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus

from opentelemetry.exporter.otlp.proto.grpc.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.sampling import ParentBased, Sampler, TraceIdRatioBased
from opentelemetry.sdk.trace.sampling import _get_from_env_or_default as sampler_of_environment
from opentelemetry.trace import SpanContext, TraceFlags

from sidecar.telemetry import calls, compiles
from sidecar.telemetry.calls import CallTrace
from sidecar.telemetry.compiles import JobRecord
from sidecar.telemetry.figures import Figures
from sidecar.telemetry.otlp import MetricSender
from sidecar.telemetry.spans import SERVER_ERRORS, SpanMaker
from store.accounting.receipts import NewReceipt

DEFAULT_RATIO = 0.1
_STOP_GRACE_S = 2.0
_ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"


@dataclass(frozen=True, slots=True)
class WatchConfig:
    """The telemetry's options. The SDK reads the other standard variables (endpoints, headers, TLS, batching) itself."""

    sends_spans: bool = False
    sends_metrics: bool = False
    has_own_sampler: bool = False
    metrics_every_s: float = 60.0
    slow_turn_s: float = 1.0
    keeps_content: bool = False
    process: str = ""


def config_of(environ: Mapping[str, str], *, slow_turn_s: float = 1.0, keeps_content: bool = False) -> WatchConfig:
    """Return the options from the standard OTEL_ variables. Nothing is sent unless an endpoint or exporter is set."""
    is_off = environ.get("OTEL_SDK_DISABLED", "").lower() == "true"

    def sends(signal: str) -> bool:
        exporter = environ.get(f"OTEL_{signal}_EXPORTER", "").lower()
        has_endpoint = bool(environ.get(_ENDPOINT) or environ.get(f"OTEL_EXPORTER_OTLP_{signal}_ENDPOINT"))
        return not is_off and exporter != "none" and (exporter == "otlp" or has_endpoint)

    every_ms = environ.get("OTEL_METRIC_EXPORT_INTERVAL", "")
    return WatchConfig(
        sends_spans=sends("TRACES"),
        sends_metrics=sends("METRICS"),
        has_own_sampler=bool(environ.get("OTEL_TRACES_SAMPLER")),
        metrics_every_s=int(every_ms) / 1000 if every_ms.isdecimal() and int(every_ms) else 60.0,
        slow_turn_s=slow_turn_s,
        keeps_content=keeps_content,
    )


class Watch:
    """The spans and metrics of the process. Without a processor no spans are made; metrics are always counted."""

    def __init__(self, config: WatchConfig, *, processor: SpanProcessor | None = None) -> None:
        resource = _resource(config.process)
        self.figures = Figures()
        self._config = config
        self._processor = processor or (BatchSpanProcessor(OTLPSpanExporter()) if config.sends_spans else None)
        self._maker = SpanMaker(resource, keeps_content=config.keeps_content)
        self._sampler: Sampler = ParentBased(TraceIdRatioBased(DEFAULT_RATIO))
        if config.has_own_sampler:
            self._sampler = sampler_of_environment()
        self._sender: MetricSender | None = None
        if config.sends_metrics:
            self._sender = MetricSender(self.figures, OTLPMetricExporter(), resource, every_s=config.metrics_every_s)
            self._sender.start()

    def call(
        self, method: str, metadata: Mapping[str, str | bytes], code_of: Callable[[BaseException], str]
    ) -> Watched:
        """Return a context manager for a call, which records its end and its error."""
        return Watched(self, method, calls.begin(metadata, self._sampler, method), code_of)

    def stream(
        self, method: str, metadata: Mapping[str, str | bytes], code_of: Callable[[BaseException], str]
    ) -> WatchedStream:
        """Return a context manager for a call with a streamed answer."""
        return WatchedStream(self, method, calls.begin(metadata, self._sampler, method), code_of)

    @contextmanager
    def post(self, route: str, headers: Mapping[str, str]) -> Iterator[Posted]:
        """Trace one posted HTTP request of a route; jobs queued inside are linked to its span."""
        posted = Posted()
        call = calls.begin(headers, self._sampler, f"POST {route}")
        try:
            with calls.within(call):
                yield posted
        finally:
            if self._processor is not None and (call.span.trace_flags.sampled or posted.is_fault):
                self.emit([self._maker.of_post(call, route, status=posted.status, ended_ns=time.time_ns())])

    def call_ended(self, call: CallTrace, method: str, code: str, *, messages: int | None = None) -> None:
        """Count the call, and make its span unless its receipt will. `messages` is the number that a stream sent."""
        ended_ns = time.time_ns()
        duration_s = max(0, ended_ns - call.began_ns) / 1e9
        self.figures.call(method, code, duration_s)
        if messages is not None:
            self.figures.streamed(method, messages)
        if self._processor is None or call.has_receipt:
            return
        is_slow = (
            messages is None and duration_s >= self._config.slow_turn_s
        )  # a stream lasts as long as its client reads it
        if call.span.trace_flags.sampled or code in SERVER_ERRORS or is_slow:
            self.emit([self._maker.of_call(call, method, code=code, ended_ns=ended_ns, messages=messages)])

    def turn_written(self, receipt: NewReceipt, call: CallTrace | None) -> None:
        """Count a turn and make its spans from its receipt. Slow and degraded turns are kept even if not sampled."""
        duration_s = receipt.duration_ms / 1000
        self.figures.turn(receipt.details, duration_s=duration_s, is_degraded=receipt.is_degraded)
        if self._processor is None or call is None:
            return
        is_notable = receipt.is_degraded or duration_s >= self._config.slow_turn_s
        if call.span.trace_flags.sampled or is_notable:
            self.emit(self._maker.of_turn(receipt, call))

    def job_ended(self, record: JobRecord) -> None:
        """Count a finished compile job and make its trace. All jobs are kept, since they are few."""
        compiles.count(compiles.tally(record), self.figures)
        if self._processor is not None:
            self.emit(compiles.spans_of(record, self._maker))

    def emit(self, spans: Iterable[ReadableSpan]) -> None:
        """Pass finished spans to the processor, marked as sampled, since it drops all others."""
        if self._processor is not None:
            for span in spans:
                self._processor.on_end(_marked(span))

    def stop(self) -> None:
        """Send the remaining data for at most 2 s, so that an unavailable collector does not delay the stop."""
        ending = threading.Thread(target=self._stop, name="sidecar-telemetry-end", daemon=True)
        ending.start()
        ending.join(_STOP_GRACE_S)

    def _stop(self) -> None:
        if self._processor is not None:
            self._processor.shutdown()
        if self._sender is not None:
            self._sender.stop(_STOP_GRACE_S)


@dataclass(slots=True)
class Posted:
    """A traced HTTP request. `status` is its response code: 500 until set."""

    status: int = HTTPStatus.INTERNAL_SERVER_ERROR.value

    @property
    def is_fault(self) -> bool:
        """Whether the status is the server's fault."""
        return self.status >= HTTPStatus.INTERNAL_SERVER_ERROR


class Watched:
    """A context manager that traces one call. An exception that leaves the block decides the call's status code."""

    __slots__ = ("_code_of", "_method", "_watch", "call")

    def __init__(self, watch: Watch, method: str, call: CallTrace, code_of: Callable[[BaseException], str]) -> None:
        self._watch = watch
        self._method = method.lstrip("/")
        self._code_of = code_of
        self.call = call

    def __enter__(self) -> CallTrace:
        return self.call

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self._ended("OK" if error is None else self._code_of(error))

    def _ended(self, code: str) -> None:
        self._watch.call_ended(self.call, self._method, code)


class WatchedStream(Watched):
    """A context manager that traces a call with a streamed answer. `message_count` is the number of messages sent so far."""

    __slots__ = ("message_count",)

    def __init__(self, watch: Watch, method: str, call: CallTrace, code_of: Callable[[BaseException], str]) -> None:
        super().__init__(watch, method, call, code_of)
        self.message_count = 0

    def _ended(self, code: str) -> None:
        self._watch.call_ended(self.call, self._method, code, messages=self.message_count)


def _resource(process: str) -> Resource:
    """Return the resource that identifies this process to a collector; each process of a service gets its own instance id."""
    named = Resource.create({"service.name": "context-sidecar"})
    if not process:
        return named
    instance = named.attributes.get("service.instance.id") or socket.gethostname()
    return named.merge(Resource({"service.instance.id": f"{instance}/{process}"}))


@contextmanager
def watching(config: WatchConfig) -> Iterator[Watch]:
    """Yield a watch, and stop it at the end."""
    watch = Watch(config)
    try:
        yield watch
    finally:
        watch.stop()


def _marked(span: ReadableSpan) -> ReadableSpan:
    context = span.context
    if context is None or context.trace_flags.sampled:
        return span
    span._context = SpanContext(  # noqa: SLF001  # there is no other way to sample a finished span
        context.trace_id,
        context.span_id,
        is_remote=False,
        trace_flags=TraceFlags(TraceFlags.SAMPLED),
        trace_state=context.trace_state,
    )
    return span
