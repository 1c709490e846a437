"""Builds spans after their work has ended: a turn's from its receipt, a call's from its outcome.

A span here is a finished value; this module measures and sends nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from http import HTTPStatus
from typing import Any

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import Event, ReadableSpan
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import Link, SpanContext, SpanKind, Status, StatusCode

from sidecar.telemetry import names
from sidecar.telemetry.calls import CallTrace, new_span_of
from store.accounting.receipts import NewReceipt
from store.text.texts import hash_named

Attributes = dict[str, str | bool | int | float | Sequence[str]]

SERVER_ERRORS = frozenset({"UNKNOWN", "DEADLINE_EXCEEDED", "UNIMPLEMENTED", "INTERNAL", "UNAVAILABLE", "DATA_LOSS"})
_SCOPE = InstrumentationScope(names.SCOPE)
_UNSET, _FAILED = Status(StatusCode.UNSET), StatusCode.ERROR
_NOT_QUERIED = "SKIPPED"
_ANSWERED = frozenset({"OK", "EMPTY"})
_MEMORY_SOURCES = frozenset({"memory", "wiki"})


@dataclass(frozen=True, slots=True)
class TimeRange:
    """A start and end time, in nanoseconds of the wall clock."""

    began_ns: int
    ended_ns: int


@dataclass(frozen=True, slots=True)
class SpanContent:
    """A span's content, apart from its trace context and its times."""

    name: str
    attributes: Attributes
    kind: SpanKind = SpanKind.INTERNAL
    failure: str = ""
    events: tuple[Event, ...] = ()
    links: tuple[Link, ...] = ()


class SpanMaker:
    """Makes finished spans of the process that `resource` describes. With `keeps_content`, spans may hold texts."""

    def __init__(self, resource: Resource, *, keeps_content: bool = False) -> None:
        self._resource = resource
        self._keeps_content = keeps_content

    def span(
        self, place: tuple[SpanContext, SpanContext | None], made: SpanContent, stretch: TimeRange
    ) -> ReadableSpan:
        """Return a span; `place` holds its own ids and its parent's."""
        return ReadableSpan(
            name=made.name,
            context=place[0],
            parent=place[1],
            resource=self._resource,
            attributes=made.attributes,
            events=made.events,
            links=made.links,
            kind=made.kind,
            status=Status(_FAILED, made.failure) if made.failure else _UNSET,
            start_time=stretch.began_ns,
            end_time=stretch.ended_ns,
            instrumentation_scope=_SCOPE,
        )

    def of_call(
        self, call: CallTrace, method: str, *, code: str, ended_ns: int, messages: int | None = None
    ) -> ReadableSpan:
        """Return the span of a call without a receipt. Only a code that is the server's fault makes it an error.

        `messages` is the number a stream sent; None for a unary call.
        """
        is_fault = code in SERVER_ERRORS
        attributes: Attributes = {names.RPC_SYSTEM: "grpc", names.RPC_METHOD: method, names.RPC_STATUS: code}
        if is_fault:
            attributes[names.ERROR_TYPE] = code
        if messages is not None:
            attributes[names.MESSAGES] = messages
        is_turn = method.endswith("/AssembleContext")
        name = names.ASSEMBLE if is_turn else method
        made = SpanContent(name, attributes, SpanKind.SERVER, failure=code if is_fault else "")
        return self.span((call.span, call.parent), made, TimeRange(call.began_ns, ended_ns))

    def of_post(self, call: CallTrace, route: str, *, status: int, ended_ns: int) -> ReadableSpan:
        """Return the span of a posted HTTP request. Only a status that is the server's fault makes it an error."""
        attributes: Attributes = {names.HTTP_METHOD: "POST", names.HTTP_ROUTE: route, names.HTTP_STATUS: status}
        failure = str(status) if status >= HTTPStatus.INTERNAL_SERVER_ERROR else ""
        if failure:
            attributes[names.ERROR_TYPE] = failure
        made = SpanContent(f"POST {route}", attributes, SpanKind.SERVER, failure=failure)
        return self.span((call.span, call.parent), made, TimeRange(call.began_ns, ended_ns))

    def of_turn(self, receipt: NewReceipt, call: CallTrace) -> Iterator[ReadableSpan]:
        """Yield a turn's spans: the turn, each queried source, and the fitting."""
        ended_ns = ns_of(receipt.created_at)
        began_ns = min(call.began_ns, ended_ns - int(receipt.duration_ms * 1e6))
        made = SpanContent(names.ASSEMBLE, self._turn_attributes(receipt), SpanKind.SERVER)
        yield self.span((call.span, call.parent), made, TimeRange(began_ns, ended_ns))
        fan_out = _fan_out_time(receipt, ended_ns)
        for row in receipt.details["sources"]:
            if row["status"] != _NOT_QUERIED:
                until_ns = min(ended_ns, fan_out.began_ns + int(row["latency_ms"] * 1e6))
                stretch = TimeRange(fan_out.began_ns, max(until_ns, fan_out.began_ns))
                yield self.span((new_span_of(call.span), call.span), self._source(row, receipt), stretch)
        yield self.span((new_span_of(call.span), call.span), _fitting(receipt), TimeRange(fan_out.ended_ns, ended_ns))

    def _turn_attributes(self, receipt: NewReceipt) -> Attributes:
        details = receipt.details
        attributes: Attributes = {
            names.RPC_SYSTEM: "grpc",
            names.RPC_METHOD: "sidecar.v1.ContextService/AssembleContext",
            names.RPC_STATUS: "OK",
            names.RECEIPT: str(receipt.receipt_id),
            names.REQUEST_MODEL: receipt.model_id,
            names.PROFILE: details["profile"]["version"],
            names.DEGRADED: receipt.is_degraded,
            names.WINDOW_TOKENS: details["pool"]["window_tokens"],
            names.POOL_TOKENS: details["pool"]["pool_tokens"],
            names.USED_TOKENS: details["pool"]["used_tokens"],
        }
        optional = {names.CONVERSATION: receipt.thread_id, names.AGENT: receipt.agent_id}
        if self._keeps_content:
            optional[names.QUERY_TEXT] = _text(receipt, details["asked"]["message"])
        return attributes | {name: value for name, value in optional.items() if value}

    def _source(self, row: Mapping[str, Any], receipt: NewReceipt) -> SpanContent:
        source, status = row["source"], row["status"]
        attributes: Attributes = {
            names.SOURCE: source,
            names.STATUS: status,
            names.OPERATION: "search_memory" if source in _MEMORY_SOURCES else "retrieval",
            names.DATA_SOURCE: source,
            names.ATTEMPTS: row["attempts"],
            names.BREAKER_OPEN: status == "BREAKER_OPEN",
            names.CANDIDATES: row.get("offered_count", len(row["items"])),
            names.INCLUDED: row.get("included_count", 0) + row.get("shortened_count", 0),
            names.SOURCE_TOKENS: row.get("included_tokens", 0),
        }
        if row["reason"]:
            attributes[names.REASON] = row["reason"]
        is_failure = status not in _ANSWERED
        if is_failure:
            attributes[names.ERROR_TYPE] = status
        if self._keeps_content:
            attributes[names.DOCUMENTS] = [f"{item['id']} {item['relevance']:.4f}" for item in row["items"]]
        at_ns = ns_of(receipt.created_at)
        return SpanContent(
            f"retrieval {source}",
            attributes,
            SpanKind.CLIENT,
            status if is_failure else "",
            _decisions(row, at_ns),
        )


def ns_of(moment: datetime) -> int:
    """Return the instant in nanoseconds of the wall clock."""
    return int(moment.timestamp() * 1e6) * 1_000


def _fan_out_time(receipt: NewReceipt, ended_ns: int) -> TimeRange:
    """Return the time range in which the sources were queried; the whole turn if its timings are missing."""
    began_ns = ended_ns - int(receipt.duration_ms * 1e6)
    timings = receipt.details.get("timings")
    if timings is None:
        return TimeRange(began_ns, ended_ns)
    asked_ns = began_ns + int(timings["before_ms"] * 1e6)
    return TimeRange(asked_ns, min(ended_ns, asked_ns + int(timings["asking_ms"] * 1e6)))


def _fitting(receipt: NewReceipt) -> SpanContent:
    details, rendered = receipt.details, receipt.details["rendered"]
    return SpanContent(
        names.FIT,
        {
            names.USED_TOKENS: rendered["tokens"],
            names.STABLE_TOKENS: rendered["stable_prefix_tokens"],
            names.CONTENT_SHA256: rendered["sha256"],
            names.TOKENIZER: details["tokenizer"]["name"],
        },
    )


def _decisions(row: Mapping[str, Any], at_ns: int) -> tuple[Event, ...]:
    """Return one event per kind of decision on a source's candidates, not one per candidate."""
    counts = Counter(item["decision"] for item in row["items"])
    tokens: Counter[str] = Counter()
    for item in row["items"]:
        tokens[item["decision"]] += item.get("tokens", 0)  # rows leave out empty fields
    return tuple(
        Event(
            "decided",
            {names.DECISION: decision, names.COUNT: count, names.SOURCE_TOKENS: tokens[decision]},
            timestamp=at_ns,
        )
        for decision, count in sorted(counts.items())
    )


def _text(receipt: NewReceipt, name: str) -> str:
    return receipt.texts.get(hash_named(name), "") if name else ""
