"""Assemblies, receipts and their differences as messages."""

from __future__ import annotations

from collections.abc import Iterable

from models.catalog import Spending, cost_usd
from models.prices import Model
from sidecar.assembler import Assembly
from sidecar.rpc.fields import write_time
from sidecar.rpc.turns import write_parts
from sidecar.turn.fitting import Fitted, Share
from sidecar.turn.history import TurnFate
from sidecar.turn.items import Decision, Fate, Form, Ref, Source, SourceReport, Status
from sidecar.turn.render import Message, SystemBlock
from sidecar.v1 import context_pb2 as pb
from sidecar.v1 import items_pb2

SOURCES = {source: items_pb2.Source.Value(f"SOURCE_{source.name}") for source in Source}
STATUSES = {status: items_pb2.SourceStatus.Value(f"SOURCE_STATUS_{status.name}") for status in Status}
DECISIONS = {decision: items_pb2.Decision.Value(f"DECISION_{decision.name}") for decision in Decision}
FORMS = {form: items_pb2.Form.Value(f"FORM_{form.name}") for form in Form}


def write_assembly(assembly: Assembly) -> pb.Assembly:
    """Return an assembly as the message that callers get; one that was replayed has no receipt id."""
    fitted = assembly.fitted
    rendering = fitted.rendering
    return pb.Assembly(
        receipt_id=str(assembly.receipt_id) if assembly.receipt_id else "",
        items=[_item(fate) for fate in fitted.fates if fate.form is not None],
        system_blocks=[_block(block) for block in rendering.blocks],
        messages=[_message(message) for message in rendering.messages],
        budget=_budget(fitted),
        sources=_reports(assembly.reports, fitted.shares, assembly.model),
        decisions=[*map(_decision, fitted.fates), *map(_turn_decision, fitted.turn_fates)],
        degraded=assembly.is_degraded,
        profile_version=assembly.profile_version,
        content_sha256=rendering.sha256,
        stable_prefix_tokens=rendering.stable_prefix_tokens,
        last_exchange_cut=fitted.is_exchange_cut,
    )


def _item(fate: Fate) -> items_pb2.Item:
    item = fate.item
    return items_pb2.Item(
        source=SOURCES[item.source],
        id=item.id,
        text=fate.text,
        tokens=fate.tokens,
        form=FORMS[fate.form] if fate.form else items_pb2.FORM_UNSPECIFIED,
        score=item.relevance,
        rank=item.rank,
        provenance=map(_provenance, item.provenance),
        freshness_time=write_time(item.at) if item.at else None,
        mark=fate.mark,
    )


def _provenance(ref: Ref) -> items_pb2.Provenance:
    return items_pb2.Provenance(kind=ref.kind, ref=ref.ref, label=ref.label)


def _block(block: SystemBlock) -> items_pb2.SystemBlock:
    return items_pb2.SystemBlock(
        text=block.text,
        source=SOURCES[block.source] if block.source else items_pb2.SOURCE_UNSPECIFIED,
        zone=block.zone,
        tokens=block.tokens,
        is_cache_point=block.is_cache_point,
    )


def _message(message: Message) -> items_pb2.Message:
    return items_pb2.Message(
        role=message.role, text=message.text, parts=write_parts(message.parts), turn_id=message.turn_id
    )


def _budget(fitted: Fitted) -> items_pb2.Budget:
    pool = fitted.pool
    return items_pb2.Budget(
        window_tokens=pool.window_tokens,
        system_tokens=pool.system_tokens,
        tool_tokens=pool.tool_tokens,
        response_reserve_tokens=pool.response_reserve_tokens,
        message_tokens=pool.message_tokens,
        headroom_tokens=pool.headroom_tokens,
        pool_tokens=pool.pool_tokens,
        used_tokens=fitted.rendering.tokens,
        tokenizer=fitted.tokenizer,
        is_exact=fitted.is_exact,
    )


def _reports(
    reports: Iterable[SourceReport], shares: Iterable[Share], model: Model | None
) -> list[items_pb2.SourceReport]:
    by_source = {share.source: share for share in shares}
    return [_report(report, by_source[report.source], model) for report in reports]


def _report(report: SourceReport, share: Share, model: Model | None) -> items_pb2.SourceReport:
    cost = cost_usd(model, Spending(share.included_tokens)) if model else None
    return items_pb2.SourceReport(
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
        cost_usd=cost,
    )


def _decision(fate: Fate) -> items_pb2.CandidateDecision:
    item = fate.item
    return items_pb2.CandidateDecision(
        source=SOURCES[item.source],
        item_id=item.id,
        decision=DECISIONS[fate.decision],
        reason=fate.reason,
        form=FORMS[fate.form] if fate.form else items_pb2.FORM_UNSPECIFIED,
        tokens=fate.tokens,
        score=item.relevance,
        rank=item.rank,
        into_item_id=fate.into,
    )


def _turn_decision(fate: TurnFate) -> items_pb2.CandidateDecision:
    return items_pb2.CandidateDecision(
        source=items_pb2.SOURCE_THREAD,
        item_id=fate.turn.id,
        decision=DECISIONS[fate.decision],
        reason=fate.reason,
        form=items_pb2.FORM_FULL if fate.tokens else items_pb2.FORM_UNSPECIFIED,
        tokens=fate.tokens,
    )
