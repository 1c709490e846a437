"""A call's trace context: its ids, created before any work so that they can be propagated, and the caller's span.

The ids are set as OpenTelemetry's current span, which remote clients and the log read. `spans` makes the span itself when the
call has ended.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from opentelemetry import context as contexts
from opentelemetry import trace
from opentelemetry.sdk.trace.id_generator import RandomIdGenerator
from opentelemetry.sdk.trace.sampling import Decision, Sampler
from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags, TraceState

_KEY = contexts.create_key("sidecar-call")
_IDS = RandomIdGenerator()
_TRACEPARENT = re.compile(r"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?")
_MAX_STATE_CHARS = 512


@dataclass(slots=True)
class CallTrace:
    """A running call: its span's ids, the caller's span if sent, and its start (wall clock, ns).

    `has_receipt` is set once the receipt writer will write the call's span.
    """

    span: SpanContext
    parent: SpanContext | None
    began_ns: int
    has_receipt: bool = field(default=False)

    @property
    def trace_id(self) -> str:
        """The trace's id in hexadecimal."""
        return f"{self.span.trace_id:032x}"

    @property
    def span_id(self) -> str:
        """The call's own span id in hexadecimal."""
        return f"{self.span.span_id:016x}"


def begin(metadata: Mapping[str, str | bytes], sampler: Sampler, name: str) -> CallTrace:
    """Return a new call in the caller's trace, or in a new trace. The sampler decides whether it is kept."""
    parent = read_parent(metadata)
    trace_id = parent.trace_id if parent else _IDS.generate_trace_id()
    context = trace.set_span_in_context(NonRecordingSpan(parent), contexts.Context()) if parent else contexts.Context()
    verdict = sampler.should_sample(context, trace_id, name).decision
    flags = TraceFlags(TraceFlags.SAMPLED if verdict is Decision.RECORD_AND_SAMPLE else TraceFlags.DEFAULT)
    state = parent.trace_state if parent else None
    span = SpanContext(trace_id, _IDS.generate_span_id(), is_remote=False, trace_flags=flags, trace_state=state)
    return CallTrace(span, parent, time.time_ns())


def begin_job() -> CallTrace:
    """Return a background job with a new trace, which is always kept, since jobs are few."""
    flags = TraceFlags(TraceFlags.SAMPLED)
    span = SpanContext(_IDS.generate_trace_id(), _IDS.generate_span_id(), is_remote=False, trace_flags=flags)
    return CallTrace(span, None, time.time_ns())


def enter(call: CallTrace) -> None:
    """Make the call current for the rest of this task."""
    contexts.attach(_context_with(call))


@contextmanager
def within(call: CallTrace) -> Iterator[None]:
    """Make the call current inside the block."""
    token = contexts.attach(_context_with(call))
    try:
        yield
    finally:
        contexts.detach(token)


def _context_with(call: CallTrace) -> contexts.Context:
    return contexts.set_value(
        _KEY, call, trace.set_span_in_context(NonRecordingSpan(call.span), contexts.get_current())
    )


def current() -> CallTrace | None:
    """Return the current call, or None."""
    call = contexts.get_value(_KEY)
    return call if isinstance(call, CallTrace) else None


def read_parent(metadata: Mapping[str, str | bytes]) -> SpanContext | None:
    """Return the caller's span from a W3C `traceparent`; None if the header is missing or invalid."""
    header = metadata.get("traceparent", "")
    match = _TRACEPARENT.fullmatch(header) if isinstance(header, str) else None
    if match is None or match[1] == "ff" or (match[1] == "00" and match[5]):
        return None
    state = metadata.get("tracestate", "")
    is_state = isinstance(state, str) and 0 < len(state) <= _MAX_STATE_CHARS
    span = SpanContext(
        int(match[2], 16),
        int(match[3], 16),
        is_remote=True,
        trace_flags=TraceFlags(int(match[4], 16) & TraceFlags.SAMPLED),
        trace_state=TraceState.from_header([state]) if is_state and isinstance(state, str) else None,
    )
    return span if span.is_valid else None


def new_span_of(parent: SpanContext) -> SpanContext:
    """Return ids for a new child span."""
    return SpanContext(
        parent.trace_id,
        _IDS.generate_span_id(),
        is_remote=False,
        trace_flags=parent.trace_flags,
        trace_state=parent.trace_state,
    )
