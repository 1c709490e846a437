"""The trace of a compile job, made of what the job noted while it ran: one trace of its own, linked to whoever asked."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.id_generator import RandomIdGenerator
from opentelemetry.trace import Link, SpanContext, SpanKind, TraceFlags

from sidecar.telemetry import names
from sidecar.telemetry.calls import new_span_of, read_parent
from sidecar.telemetry.figures import Figures
from sidecar.telemetry.spans import Attributes, Made, SpanMaker, Stretch, ns_of

_IDS = RandomIdGenerator()
_MOST_MARKS = 10_000


@dataclass(frozen=True, slots=True)
class ModelCall:
    """What a model was asked and counted in one step. `in_pass` is leaf or aggregation."""

    model_id: str
    provider: str
    in_pass: str
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    finish_reason: str = ""


@dataclass(frozen=True, slots=True)
class JobStep:
    """One thing that a job did: a batch, a planner's call, a section's writing, an apply.

    `name` is one of `names`; a step with a model call is named `chat MODEL` as the conventions ask. `inside` is the place
    in the job's list of the step that it belongs to.
    """

    name: str
    began_at: datetime
    ended_at: datetime
    model: ModelCall | None = None
    error: str = ""
    counts: Mapping[str, int] | None = None
    inside: int | None = None


@dataclass(frozen=True, slots=True)
class JobRecord:
    """A finished job. `traceparent` is that of the call which asked for it, if one did; `metrics` are the job's own."""

    job_id: UUID
    status: str
    trigger: str
    began_at: datetime
    ended_at: datetime
    metrics: Mapping[str, Any]
    steps: tuple[JobStep, ...] = ()
    error: str = ""
    traceparent: str = ""

    @property
    def has_calls(self) -> bool:
        """Whether its steps tell of each model call."""
        return any(step.model for step in self.steps)


class JobClock:
    """Notes when a job passed its checkpoints, and makes steps of it: a batch, with its planning and its apply inside."""

    def __init__(self, now: Callable[[], datetime]) -> None:
        self._now = now
        self._marks: list[tuple[str, datetime]] = []

    def mark(self, place: str) -> None:
        """Note a checkpoint; past ten thousand, none."""
        if len(self._marks) < _MOST_MARKS:
            self._marks.append((place, self._now()))

    def taken(self) -> tuple[JobStep, ...]:
        """Return the steps since the last time this was asked."""
        marks, self._marks = self._marks, []
        steps: list[JobStep] = []
        frozen = planned = None
        for place, at in marks:
            if place == "frozen":
                frozen, planned = at, None
            elif place in {"planned", "aggregation_planned"}:
                planned = at
            elif place == "applied":
                began = frozen or planned or at
                steps.append(JobStep(names.BATCH, began, at))
                batch = len(steps) - 1
                if planned is not None:
                    steps.append(JobStep(names.PLAN, began, planned, inside=batch))
                steps.append(JobStep(names.APPLY, planned or began, at, inside=batch))
                frozen = planned = None
        return tuple(steps)


def spans_of(record: JobRecord, maker: SpanMaker) -> Iterator[ReadableSpan]:
    """Yield the job's span and one for each step."""
    flags = TraceFlags(TraceFlags.SAMPLED)
    root = SpanContext(_IDS.generate_trace_id(), _IDS.generate_span_id(), is_remote=False, trace_flags=flags)
    caller = read_parent({"traceparent": record.traceparent})
    made = Made(
        names.COMPILE,
        _job_attributes(record),
        failure=record.error if record.status == "failed" else "",
        links=(Link(caller),) if caller else (),
    )
    yield maker.span((root, None), made, _stretch(record.began_at, record.ended_at))
    places: list[SpanContext] = []
    for step in record.steps:
        inside = places[step.inside] if step.inside is not None and step.inside < len(places) else root
        places.append(new_span_of(root))
        yield maker.span((places[-1], inside), _step(step), _stretch(step.began_at, step.ended_at))


def count(record: JobRecord, figures: Figures) -> None:
    """Count the job, the tokens of its model calls, and what was refused of its plans."""
    figures.job(record.status, (record.ended_at - record.began_at).total_seconds())
    for step in record.steps:
        if step.model is not None:
            call = step.model
            figures.job_tokens(call.model_id, call.in_pass, kind="input", tokens=call.input_tokens)
            figures.job_tokens(call.model_id, call.in_pass, kind="output", tokens=call.output_tokens)
    for in_pass, prefix in (("leaf", ""), ("aggregation", "aggregation_")):
        for kind in ("input", "output"):
            tokens = record.metrics.get(f"{prefix}{kind}_tokens", 0)
            if not record.has_calls and tokens:
                figures.job_tokens(str(record.metrics.get("model_id", "")), in_pass, kind=kind, tokens=int(tokens))
    rejections = record.metrics.get("rejections")
    for reason, many in rejections.items() if isinstance(rejections, Mapping) else ():
        figures.rejected(str(reason), int(many))


def _job_attributes(record: JobRecord) -> Attributes:
    attributes: Attributes = {
        names.JOB: str(record.job_id),
        names.JOB_STATUS: record.status,
        names.TRIGGER: record.trigger,
    }
    for key, value in record.metrics.items():
        if isinstance(value, bool | int | float):
            attributes[names.JOB_METRIC + str(key)] = value
    return attributes


def _step(step: JobStep) -> Made:
    attributes: Attributes = {names.JOB_METRIC + key: value for key, value in (step.counts or {}).items()}
    if step.error:
        attributes[names.ERROR_TYPE] = step.error
    if step.model is None:
        return Made(step.name, attributes, failure=step.error)
    call = step.model
    attributes |= {
        names.OPERATION: "chat",
        names.PROVIDER: call.provider,
        names.REQUEST_MODEL: call.model_id,
        names.INPUT_TOKENS: call.input_tokens,
        names.OUTPUT_TOKENS: call.output_tokens,
        names.CACHE_READ_TOKENS: call.cache_read_tokens,
        names.PLANNER_PART: call.in_pass,
    }
    if call.finish_reason:
        attributes[names.FINISH_REASONS] = [call.finish_reason]
    return Made(f"chat {call.model_id}", attributes, SpanKind.CLIENT, failure=step.error)


def _stretch(began_at: datetime, ended_at: datetime) -> Stretch:
    return Stretch(ns_of(began_at), ns_of(max(began_at, ended_at)))


__all__ = ["JobRecord", "JobStep", "ModelCall", "count", "spans_of"]
