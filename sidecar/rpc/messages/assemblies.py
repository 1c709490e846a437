"""Assemblies as messages.

Messages are filled in place, field by field. A message passed into another is copied, which costs as much as making it again;
keyword arguments cost a third more than setting fields; joining serialized rows by hand saves nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from models.tokens.catalog import TokenSpending, cost_usd
from models.tokens.prices import Model
from sidecar.context.assembler import Assembly
from sidecar.rpc.messages.turns import write_parts
from sidecar.turn.fitting.fitting import Fitted, Share
from sidecar.turn.fitting.render import Message, SystemBlock
from sidecar.turn.items import Decision, Fate, Form, Source, SourceReport, Status
from sidecar.turn.message.reading import MessageReading
from sidecar.v1 import context_pb2 as pb
from sidecar.v1 import items_pb2

SOURCES = {source: items_pb2.Source.Value(f"SOURCE_{source.name}") for source in Source}
STATUSES = {status: items_pb2.SourceStatus.Value(f"SOURCE_STATUS_{status.name}") for status in Status}
DECISIONS = {decision: items_pb2.Decision.Value(f"DECISION_{decision.name}") for decision in Decision}
FORMS = {form: items_pb2.Form.Value(f"FORM_{form.name}") for form in Form}


@dataclass(frozen=True, slots=True)
class Detail:
    """The optional parts of an answer, beside the context and the ids of its items."""

    has_texts: bool = False
    has_decisions: bool = False


ALL = Detail(has_texts=True, has_decisions=True)
DETAILS: dict[int, Detail] = {
    pb.ASSEMBLY_DETAIL_UNSPECIFIED: ALL,
    pb.ASSEMBLY_DETAIL_CONTEXT: Detail(),
    pb.ASSEMBLY_DETAIL_ITEMS: Detail(has_texts=True),
    pb.ASSEMBLY_DETAIL_DECISIONS: ALL,
}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def write_response(assembly: Assembly, detail: Detail) -> pb.AssembleContextResponse:
    """Return the parts of an assembly that the caller requested."""
    response = pb.AssembleContextResponse()
    _fill(response.assembly, assembly, detail)
    return response


def write_assembly(assembly: Assembly) -> pb.Assembly:
    """Return an assembly as a message; a replayed assembly has no receipt id."""
    written = pb.Assembly()
    _fill(written, assembly, ALL)
    return written


def _fill(into: pb.Assembly, assembly: Assembly, detail: Detail) -> None:
    fitted = assembly.fitted
    rendering = fitted.rendering
    into.receipt_id = str(assembly.receipt_id) if assembly.receipt_id else ""
    for fate in fitted.fates:
        if fate.form is not None:
            _write_item(into, fate, FORMS[fate.form], has_text=detail.has_texts)
    for block in rendering.blocks:
        _write_block(into, block)
    for message in rendering.messages:
        _write_message(into, message)
    _write_budget(into.budget, fitted)
    _write_reports(into, assembly)
    if detail.has_decisions:
        _write_decisions(into, fitted)
    into.degraded = assembly.is_degraded
    into.profile_version = assembly.profile_version
    into.content_sha256 = rendering.sha256
    into.stable_prefix_tokens = rendering.stable_prefix_tokens
    into.last_exchange_cut = fitted.is_exchange_cut
    into.conversation_missing = assembly.is_conversation_missing
    into.nothing_found = fitted.has_found_nothing
    if assembly.reading is not None:
        write_reading(into.reading, assembly.reading)


def write_reading(into: items_pb2.MessageReading, reading: MessageReading) -> None:
    """Fill in the reading of a message."""
    into.parts.extend(reading.parts)
    into.thread_words.extend(reading.thread_words)
    into.leaning = reading.leaning
    into.asks, into.holds = reading.asks, reading.holds
    into.days.extend(reading.days)
    into.days_searched = reading.days_searched


def _write_item(into: pb.Assembly, fate: Fate, form: items_pb2.Form.ValueType, *, has_text: bool) -> None:
    item, written = fate.item, into.items.add()
    written.source = SOURCES[item.source]
    written.id = item.id
    if has_text:
        written.text = fate.text
    written.tokens = fate.tokens
    written.form = form
    written.score = item.relevance
    written.rank = item.rank
    written.mark = fate.mark
    if item.confidence is not None:
        written.confidence, written.authority = item.confidence, item.authority
    for ref in item.provenance:
        came_from = written.provenance.add()
        came_from.kind = ref.kind
        came_from.ref = ref.ref
        came_from.label = ref.label
    if item.at:
        since = (item.at if item.at.tzinfo else item.at.replace(tzinfo=UTC)) - _EPOCH
        freshness = written.freshness_time
        freshness.seconds = since.days * 86_400 + since.seconds
        if since.microseconds:
            freshness.nanos = since.microseconds * 1_000


def _write_block(into: pb.Assembly, block: SystemBlock) -> None:
    into.system_blocks.add(
        text=block.text,
        source=SOURCES[block.source] if block.source else items_pb2.SOURCE_UNSPECIFIED,
        zone=block.zone,
        tokens=block.tokens,
        is_cache_point=block.is_cache_point,
    )


def _write_message(into: pb.Assembly, message: Message) -> None:
    into.messages.add(
        role=message.role,
        text=message.text,
        parts=write_parts(message.parts),
        turn_id=message.turn_id,
        is_cache_point=message.is_cache_point,
    )


def _write_budget(into: items_pb2.Budget, fitted: Fitted) -> None:
    pool = fitted.pool
    into.window_tokens = pool.window_tokens
    into.system_tokens = pool.system_tokens
    into.tool_tokens = pool.tool_tokens
    into.response_reserve_tokens = pool.response_reserve_tokens
    into.message_tokens = pool.message_tokens
    into.headroom_tokens = pool.headroom_tokens
    into.pool_tokens = pool.pool_tokens
    into.used_tokens = fitted.rendering.tokens
    into.tokenizer = fitted.tokenizer
    into.is_exact = fitted.is_exact


def _write_reports(into: pb.Assembly, assembly: Assembly) -> None:
    by_source = {share.source: share for share in assembly.fitted.shares}
    for report in assembly.reports:
        _write_report(into, report, by_source[report.source], assembly.model)


def _write_report(into: pb.Assembly, report: SourceReport, share: Share, model: Model | None) -> None:
    into.sources.add(
        source=SOURCES[report.source],
        status=STATUSES[report.status],
        reason=report.reason,
        latency_ms=report.latency_ms,
        attempt_count=report.attempts,
        offered_count=share.offered_count,
        included_count=share.included_count,
        shortened_count=share.shortened_count,
        dropped_count=share.dropped_count,
        included_tokens=share.included_tokens,
        offered_tokens=share.offered_tokens,
        cost_usd=cost_usd(model, TokenSpending(share.included_tokens)) if model else None,
    )


def _write_decisions(into: pb.Assembly, fitted: Fitted) -> None:
    add = into.decisions.add
    for item, decision, reason, form, tokens, _, into_id, _ in fitted.fates:
        written = add()
        written.source = SOURCES[item.source]
        written.item_id = item.id
        written.decision = DECISIONS[decision]
        written.reason = reason
        written.score = item.relevance
        written.rank = item.rank
        if form:
            written.form = FORMS[form]
            written.tokens = tokens
        if into_id:
            written.into_item_id = into_id
        if item.confidence is not None:
            written.confidence, written.authority = item.confidence, item.authority
    for turn_fate in fitted.turn_fates:
        add(
            source=items_pb2.SOURCE_THREAD,
            item_id=turn_fate.turn.id,
            decision=DECISIONS[turn_fate.decision],
            reason=turn_fate.reason,
            form=items_pb2.FORM_FULL if turn_fate.tokens else items_pb2.FORM_UNSPECIFIED,
            tokens=turn_fate.tokens,
        )
