"""Stored receipts and their differences as messages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

from models.tokens.catalog import CATALOG, TokenSpending, cost_usd
from models.tokens.prices import Model
from sidecar.context.replay import AskedMessage
from sidecar.rpc.messages.assemblies import DECISIONS, FORMS, SOURCES, STATUSES, write_reading
from sidecar.rpc.messages.knobs import write_knobs
from sidecar.rpc.transport.validation import write_struct, write_time
from sidecar.turn.items import Decision, Form, Source, Status
from sidecar.turn.receipt.difference import Change, Difference
from sidecar.turn.receipt.receipt_rows import decided_items, whole
from sidecar.v1 import context_pb2 as pb
from sidecar.v1 import items_pb2
from store.accounting.receipts import ReportedUsage, StoredReceipt

_POOL_TERMS = (
    "window_tokens",
    "system_tokens",
    "tool_tokens",
    "response_reserve_tokens",
    "message_tokens",
    "headroom_tokens",
    "pool_tokens",
    "used_tokens",
)
_COUNTS = (
    "offered_count",
    "included_count",
    "shortened_count",
    "dropped_count",
    "included_tokens",
    "offered_tokens",
)


def write_receipt(receipt: StoredReceipt, asked: AskedMessage) -> pb.Receipt:
    """Return a complete receipt; `asked` is the user's message, empty once its text is no longer stored."""
    details = receipt.details
    written = write_receipt_head(receipt)
    written.message = asked.text
    if asked.reading is not None:
        write_reading(written.reading, asked.reading)
    written.profile.CopyFrom(write_knobs(details["profile"]["knobs"]))
    written.decisions.extend(_decisions(details))
    if receipt.usage is not None:
        written.usage.CopyFrom(_usage(receipt.usage))
    written.details.CopyFrom(write_struct(whole(details)))
    return written


def write_receipt_head(receipt: StoredReceipt) -> pb.Receipt:
    """Return a receipt without its candidates."""
    details = receipt.details
    model = CATALOG.find(receipt.model_id)
    return pb.Receipt(
        receipt_id=str(receipt.receipt_id),
        create_time=write_time(receipt.created_at),
        agent_id=receipt.agent_id,
        thread_id=receipt.thread_id,
        model_id=receipt.model_id,
        profile_version=details["profile"]["version"],
        budget=_budget(details),
        sources=[_source(row, model) for row in details["sources"]],
        degraded=receipt.is_degraded,
        content_sha256=details["rendered"]["sha256"],
        duration_ms=receipt.duration_ms,
    )


def write_difference(difference: Difference) -> pb.AssemblyDiff:
    """Return the differences between two assemblies as a message."""
    return pb.AssemblyDiff(
        changes=[_change(change) for change in difference.changes],
        token_deltas={source.value: delta for source, delta in difference.token_deltas.items()},
        status_changes={source.value: change for source, change in difference.status_changes.items()},
        first_changed_zone=difference.first_changed_zone,
        note=difference.note,
    )


def _change(change: Change) -> pb.DecisionChange:
    return pb.DecisionChange(
        source=SOURCES[change.source],
        item_id=change.item_id,
        before=DECISIONS[change.before] if change.before else items_pb2.DECISION_UNSPECIFIED,
        after=DECISIONS[change.after] if change.after else items_pb2.DECISION_UNSPECIFIED,
        reason=change.reason,
    )


def _budget(details: Mapping[str, Any]) -> items_pb2.Budget:
    tokenizer = details["tokenizer"]
    terms = {term: details["pool"][term] for term in _POOL_TERMS}
    return items_pb2.Budget(**terms, tokenizer=tokenizer["name"], is_exact=tokenizer["is_exact"])


def _source(row: Mapping[str, Any], model: Model | None) -> items_pb2.SourceReport:
    counts = {name: row.get(name, 0) for name in _COUNTS}
    return items_pb2.SourceReport(
        source=SOURCES[Source(row["source"])],
        status=STATUSES[Status(row["status"])],
        reason=row["reason"],
        latency_ms=row["latency_ms"],
        attempt_count=row["attempts"],
        cost_usd=cost_usd(model, TokenSpending(counts["included_tokens"])) if model else None,
        **counts,
    )


def _decisions(details: Mapping[str, Any]) -> Iterator[items_pb2.CandidateDecision]:
    for source, item in decided_items(details):
        yield _decision(source, item)
    for turn in details["history"]["turns"]:
        if turn["decision"]:
            yield items_pb2.CandidateDecision(
                source=items_pb2.SOURCE_THREAD,
                item_id=turn["id"],
                decision=DECISIONS[Decision(turn["decision"])],
                reason=turn["reason"],
                form=items_pb2.FORM_FULL if turn["included_tokens"] else items_pb2.FORM_UNSPECIFIED,
                tokens=turn["included_tokens"],
            )


def _decision(source: Source, item: Mapping[str, Any]) -> items_pb2.CandidateDecision:
    return items_pb2.CandidateDecision(
        source=SOURCES[source],
        item_id=item["id"],
        decision=DECISIONS[Decision(item["decision"])],
        reason=item["reason"],
        form=FORMS[Form(item["form"])] if item["form"] else items_pb2.FORM_UNSPECIFIED,
        tokens=item["tokens"],
        score=item["relevance"],
        rank=item["rank"],
        into_item_id=item["into"],
        confidence=item.get("confidence"),
        authority=item.get("authority", ""),
    )


def _usage(usage: ReportedUsage) -> pb.UsageReport:
    return pb.UsageReport(**asdict(usage))
