"""The trace of a compile job, made from its recorded steps: a trace of its own, linked to the call that requested it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.trace import Link, SpanContext, SpanKind

from sidecar.telemetry import names
from sidecar.telemetry.calls import begin_job, new_span_of, read_parent
from sidecar.telemetry.figures import Figures
from sidecar.telemetry.spans import Attributes, SpanContent, SpanMaker, TimeRange, ns_of


@dataclass(frozen=True, slots=True)
class ModelCall:
    """A model call of one step, with its token counts. `in_pass` is leaf, section or aggregation.

    `answered_by` is the model named in the answer. If `is_kept`, the answer came from the cache and cost nothing.
    """

    model_id: str
    provider: str
    in_pass: str
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    finish_reason: str = ""
    answered_by: str = ""
    prompt_name: str = ""
    max_output_tokens: int = 0
    temperature: float = 0.0
    is_kept: bool = False


@dataclass(frozen=True, slots=True)
class JobStep:
    """One step of a job: a batch, a planner's call, the writing of a section, an apply.

    `name` is one of `names`; a step with a model call is named `chat MODEL`, as OpenTelemetry's conventions require. `inside` is
    the index of its parent step in the job's list.
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
    """A finished job. `traceparent` is that of the requesting call, if any; `metrics` are those of the job.

    `root` is the job's span, if it was created at its start.
    """

    job_id: UUID
    status: str
    trigger: str
    began_at: datetime
    ended_at: datetime
    metrics: Mapping[str, Any]
    steps: tuple[JobStep, ...] = ()
    error: str = ""
    traceparent: str = ""
    root: SpanContext | None = None


def spans_of(record: JobRecord, maker: SpanMaker) -> Iterator[ReadableSpan]:
    """Yield the job's span and one for each step."""
    root = record.root or begin_job().span
    caller = read_parent({"traceparent": record.traceparent})
    made = SpanContent(
        names.COMPILE,
        _job_attributes(record),
        failure=record.error.partition(":")[0] if record.status == "failed" else "",
        links=(Link(caller),) if caller else (),
    )
    yield maker.span((root, None), made, _time_range(record.began_at, record.ended_at))
    contexts: list[SpanContext] = []
    for step in record.steps:
        inside = contexts[step.inside] if step.inside is not None and step.inside < len(contexts) else root
        contexts.append(new_span_of(root))
        yield maker.span((contexts[-1], inside), _step(step), _time_range(step.began_at, step.ended_at))


def tally(record: JobRecord) -> dict[str, Any]:
    """Return a job's counts as JSON values: its outcome, its model calls, and the rejected parts of its plans.

    A requeued job reports its rejections only when it ends, since its metrics are incomplete until then.
    """
    rejections = record.metrics.get("rejections")
    is_over = record.status != "pending" and isinstance(rejections, Mapping)
    return {
        "status": record.status,
        "duration_s": (record.ended_at - record.began_at).total_seconds(),
        "calls": [_counted(step, step.model) for step in record.steps if step.model is not None],
        "rejections": dict(rejections) if is_over and rejections else {},
    }


def count(finished: Mapping[str, Any], figures: Figures) -> None:
    """Add a job's `tally` to the metrics, or the counts of a decay job (kind, state), a reprocess job (status, pages) or a
    Brain.
    """
    if "decay" in finished:
        kind, state = map(str, finished["decay"])
        figures.decayed(kind, state)
        return
    if "brain" in finished:
        figures.brain_changed({str(event): int(many) for event, many in finished["brain"].items()})
        return
    if "reprocess" in finished:
        status, pages = finished["reprocess"]
        figures.reprocessed(str(status), int(pages))
        return
    figures.job(finished["status"], finished["duration_s"])
    for call in finished["calls"]:
        figures.model_call(call)
    for reason, many in finished["rejections"].items():
        figures.rejected(str(reason), int(many))


def _counted(step: JobStep, call: ModelCall) -> dict[str, Any]:
    return {
        "provider": call.provider,
        "model": call.model_id,
        "pass": call.in_pass,
        "error": step.error,
        "duration_s": (step.ended_at - step.began_at).total_seconds(),
        "input_tokens": call.input_tokens,
        "output_tokens": call.output_tokens,
    }


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


def _step(step: JobStep) -> SpanContent:
    attributes: Attributes = {names.JOB_METRIC + key: value for key, value in (step.counts or {}).items()}
    if step.error:
        attributes[names.ERROR_TYPE] = step.error
    if step.model is None:
        return SpanContent(step.name, attributes, failure=step.error)
    call = step.model
    attributes |= {
        names.OPERATION: "chat",
        names.PROVIDER: call.provider,
        names.REQUEST_MODEL: call.model_id,
        names.INPUT_TOKENS: call.input_tokens,
        names.OUTPUT_TOKENS: call.output_tokens,
        names.CACHE_READ_TOKENS: call.cache_read_tokens,
        names.CACHE_WRITE_TOKENS: call.cache_write_tokens,
        names.MAX_TOKENS: call.max_output_tokens,
        names.TEMPERATURE: call.temperature,
        names.PLANNER_PART: call.in_pass,
    }
    optional = {names.RESPONSE_MODEL: call.answered_by, names.PROMPT: call.prompt_name}
    attributes |= {name: value for name, value in optional.items() if value}
    if call.finish_reason:
        attributes[names.FINISH_REASONS] = [call.finish_reason]
    return SpanContent(f"chat {call.model_id}", attributes, SpanKind.CLIENT, failure=step.error)


def _time_range(began_at: datetime, ended_at: datetime) -> TimeRange:
    return TimeRange(ns_of(began_at), ns_of(max(began_at, ended_at)))
