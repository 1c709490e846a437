"""Writes and reads the receipt of an assembly: plain JSON of the request, the offers and the decisions, enough to run `fit`
again.

A receipt refers to texts by their short hash in Base64; the texts are stored elsewhere, for a shorter time. The fence's tag is
never written, only the id of its key. Rows of candidates leave out empty fields, since there are hundreds of them.
"""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from itertools import count
from typing import Any

import orjson

from sidecar.runtime.errors import TextsDropped
from sidecar.turn.fitting.fitting import Fitted, Fitting
from sidecar.turn.fitting.history import TurnFate
from sidecar.turn.fitting.pool import PromptTokens
from sidecar.turn.fitting.render import Rendering, digest, message_parts
from sidecar.turn.items import (
    Decision,
    Fate,
    HistorySummary,
    HistoryTurn,
    Item,
    Ref,
    Source,
    SourceReport,
    Status,
    Zone,
    columns_of,
)
from sidecar.turn.message.reading import MessageReading
from sidecar.turn.profile import Profile, merge, parse_layer
from sidecar.turn.receipt.receipt_rows import read_features, whole_row, written_features
from store.text.texts import hash_named, short_hash, text_name

VERSION = 5
"""The version of the rendering rules. An older receipt is replayed by the current rules, and the difference notes it."""

_AS_THEY_ARE = ("header", "position", "group", "section", "is_pinned", "authority", "unsigned_chars")
_BEFORE_SPEND = {"spend": "full"}  # receipts of earlier releases have no `spend`: they used all the room
_WITH_FOLLOW_UPS = 5  # from this version on, a message that leans on its thread recalls fewer tokens
_PLACES = {source: place for place, source in enumerate(Source)}


@dataclass(frozen=True, slots=True)
class ReceiptInputs:
    """The receipt's inputs besides the fitting: the message, other request fields, profile version, fence key, meter ratio."""

    message: str
    fields: Mapping[str, Any]
    profile_version: str
    fence_key_id: str = ""
    meter_ratio: float = 1.0


class _Texts:
    """Collects the texts that a receipt references, by hash."""

    def __init__(self) -> None:
        self.by_hash: dict[bytes, str] = {}

    def keep(self, text: str) -> str:
        """Store the text and return its name; an empty string for an empty text."""
        if not text:
            return ""
        text_hash = short_hash(text)
        self.by_hash[text_hash] = text
        return text_name(text_hash)


def write(inputs: ReceiptInputs, question: Fitting, fitted: Fitted) -> tuple[dict[str, Any], dict[bytes, str]]:
    """Return the receipt of an assembly, and the texts it references, by hash."""
    texts = _Texts()
    details = {
        "version": VERSION,
        "asked": {**inputs.fields, "message": texts.keep(inputs.message)},
        "profile": {"version": inputs.profile_version, "knobs": _knobs(question.profile)},
        "tokenizer": {"name": fitted.tokenizer, "is_exact": fitted.is_exact, "ratio": inputs.meter_ratio},
        "pool": _fields(fitted.pool) | {"used_tokens": fitted.rendering.tokens},
        "reading": _reading(question.reading, texts),
        "fence_key_id": inputs.fence_key_id,
        "cache_minimum_tokens": question.cache_minimum_tokens,
        "seen_item_ids": sorted(question.seen_item_ids),
        "sources": _sources(question, fitted, texts),
        "history": _history(question, fitted, texts),
        "rendered": _rendered(fitted.rendering),
    }
    return details, texts.by_hash


@lru_cache(maxsize=256)
def _knobs(profile: Profile) -> dict[str, Any]:
    """Return every knob as plain JSON. Cached because profiles change rarely."""
    return profile.as_mapping()


def _fields(value: Any) -> dict[str, Any]:
    """Return a slotted dataclass's fields; unlike `asdict`, this copies no values."""
    return {name: getattr(value, name) for name in value.__slots__}


def text_hashes(details: Mapping[str, Any]) -> set[bytes]:
    """Return the hashes of all texts that a replay needs."""
    return {hash_named(name) for name in _text_names(details)}


def _text_names(details: Mapping[str, Any]) -> set[str]:
    items = [item for row in details["sources"] for item in row["items"]]
    turns, summary = details["history"]["turns"], details["history"]["summary"]
    names = {item.get(field, "") for item in items for field in ("text", "lead")}
    names |= {turn[field] for turn in turns for field in ("text", "parts")}
    names |= {summary["text"]} if summary else set()
    return names - {""}


def replay(details: Mapping[str, Any], texts: Mapping[bytes, str], *, fence_tag: str) -> Fitting:
    """Return the fitting input recorded in a receipt, to be fitted with a meter of the same name and ratio.

    `fence_tag` must be made with the key that the receipt names. Raises TextsDropped if a text has expired.
    """
    hashes = {name: hash_named(name) for name in _text_names(details)}
    missing = set(hashes.values()) - texts.keys()
    if missing:
        raise TextsDropped(len(missing))
    known = {name: texts[text_hash] for name, text_hash in hashes.items()} | {"": ""}
    pool = details["pool"]
    return Fitting(
        profile=merge(parse_layer(_BEFORE_SPEND | details["profile"]["knobs"])),
        window_tokens=pool["window_tokens"],
        spent=PromptTokens(
            system_tokens=pool["system_tokens"],
            tool_tokens=pool["tool_tokens"],
            response_reserve_tokens=pool["response_reserve_tokens"],
            message_tokens=pool["message_tokens"],
        ),
        reports=tuple(_report(row, known) for row in details["sources"]),
        history=tuple(_turn(row, known) for row in details["history"]["turns"]),
        summary=_summary(details["history"]["summary"], known),
        seen_item_ids=frozenset(details["seen_item_ids"]),
        fence_tag=fence_tag,
        cache_minimum_tokens=details["cache_minimum_tokens"],
        reading=_prospects_of(details),
    )


def _prospects_of(details: Mapping[str, Any]) -> MessageReading | None:
    """Return the parts of the message's reading that a fitting needs; None for receipts of earlier releases."""
    row = details.get("reading")
    if not row or "asks" not in row:
        return None
    leaning = row["leaning"] if details["version"] >= _WITH_FOLLOW_UPS else 0.0
    return MessageReading((), (), leaning, row["asks"], row["holds"])


def _reading(reading: MessageReading | None, texts: _Texts) -> dict[str, Any] | None:
    if reading is None:
        return None
    return {
        "parts": [texts.keep(part) for part in reading.parts],
        "thread_words": texts.keep(" ".join(reading.thread_words)),
        "leaning": reading.leaning,
        "asks": reading.asks,
        "holds": reading.holds,
        "days": list(reading.days),
        "days_searched": reading.days_searched,
    }


def asked_hashes(details: Mapping[str, Any]) -> set[bytes]:
    """Return the hashes of the message's text and of the texts of its reading."""
    reading = details.get("reading") or {"parts": [], "thread_words": ""}
    names = {details["asked"]["message"], *reading["parts"], reading["thread_words"]}
    return {hash_named(name) for name in names if name}


def reading_of(details: Mapping[str, Any], texts: Mapping[bytes, str]) -> MessageReading | None:
    """Return how the message was read; None if that was not recorded or a text has expired. Forgotten words of the thread are
    left out.
    """
    row = details.get("reading")
    words_hash = hash_named(row["thread_words"]) if row and row["thread_words"] else b""
    if not row or asked_hashes(details) - {words_hash} - texts.keys():
        return None
    words = texts.get(words_hash, "")
    parts = tuple(texts[hash_named(part)] if part else "" for part in row["parts"])
    asks, holds, days = row.get("asks", 1.0), row.get("holds", 1.0), tuple(row.get("days", ()))
    return MessageReading(
        parts, tuple(words.split()), row["leaning"], asks, holds, days, row.get("days_searched", False)
    )


def _sources(question: Fitting, fitted: Fitted, texts: _Texts) -> list[dict[str, Any]]:
    """Return a row for each report, in the order of `Source`, with its items in their order."""
    fates: dict[int, list[Fate]] = defaultdict(list)
    for fate in fitted.fates:
        fates[id(fate.item)].append(fate)
    shares = {share.source: _fields(share) for share in fitted.shares}
    unasked = [SourceReport(source, Status.SKIPPED, reason="it was not queried") for source in Source]
    known = {report.source for report in question.reports}
    reports = [*question.reports, *(report for report in unasked if report.source not in known)]
    rows = []
    for report in sorted(reports, key=lambda report: _PLACES[report.source]):
        account = {
            "source": report.source.value,
            "status": report.status.value,
            "reason": report.reason,
            "latency_ms": report.latency_ms,
            "attempts": report.attempts,
            "is_partial": report.is_partial,
        }
        items = _item_rows([fates[id(item)].pop() for item in report.items], texts)
        rows.append(shares.pop(report.source, {}) | account | {"items": items})
    return rows


def _times(times: Sequence[datetime | None]) -> list[str | None]:
    """Return each time in ISO 8601, as `isoformat` gives it."""
    if all(at is None or at.tzinfo is None or at.tzinfo is UTC for at in times):
        # Ten times as fast, but only for UTC and naive times: RFC 3339 cannot express offsets with seconds.
        written: list[str | None] = orjson.loads(orjson.dumps(times))
        return written
    return [at.isoformat() if at else None for at in times]


def _item_rows(fates: Sequence[Fate], texts: _Texts) -> list[dict[str, Any]]:
    """Return a row for each fate, without empty fields. Fields are set column by column, since most columns are empty."""
    if not fates:
        return []
    items, decisions, reasons, forms, tokens, marks, into, _ = zip(*fates, strict=True)
    column = columns_of(items)
    rows = [
        {"id": item_id, "text": texts.keep(text), "relevance": relevance, "decision": decision, "reason": reason}
        for item_id, text, relevance, decision, reason in zip(
            column["id"], column["text"], map(_finite, column["relevance"]), decisions, reasons, strict=True
        )
    ]
    for row, place, rank, confidence in zip(rows, count(), column["rank"], column["confidence"], strict=False):
        if rank != place:
            row["rank"] = rank
        if confidence is not None:
            row["confidence"] = confidence
    with_forms = zip(column["features"], forms, strict=True)
    others: dict[str, Sequence[Any]] = {
        "lead": [lead and texts.keep(lead) for lead in column["lead"]],
        **{name: column[name] for name in _AS_THEY_ARE},
        "features": [one and written_features(one, is_whole=form is not None) for one, form in with_forms],
        "provenance": [list(map(list, refs)) for refs in column["provenance"]],
        "stands_for": column["stands_for"],
        "at": _times(column["at"]),
        "form": forms,
        "tokens": tokens,
        "mark": marks,
        "into": into,
    }
    for name, values in others.items():
        for row, value in zip(rows, values, strict=True) if any(values) else ():
            if value:
                row[name] = value
    return rows


def _finite(relevance: float) -> float:
    return relevance if math.isfinite(relevance) else 0.0


def _history(question: Fitting, fitted: Fitted, texts: _Texts) -> dict[str, Any]:
    fates = {fate.turn.id: fate for fate in fitted.turn_fates}
    summary = question.summary
    return {
        "turns": [_turn_row(turn, fates.get(turn.id), texts) for turn in question.history],
        "summary": summary
        and {
            "text": texts.keep(summary.text),
            "through_position": summary.through_position,
            "turn_ids": list(summary.turn_ids),
            "item": _summary_row(question, fitted, texts),
        },
        "is_exchange_cut": fitted.is_exchange_cut,
    }


def _summary_row(question: Fitting, fitted: Fitted, texts: _Texts) -> dict[str, Any] | None:
    """Return the row of the summary, the only item that no source offered; None if it has no fate."""
    offered = {id(item) for report in question.reports for item in report.items}
    fate = next((fate for fate in fitted.fates if id(fate.item) not in offered), None)
    return _item_rows([fate], texts)[0] if fate else None


def _turn_row(turn: HistoryTurn, fate: TurnFate | None, texts: _Texts) -> dict[str, Any]:
    return {
        "id": turn.id,
        "position": turn.position,
        "role": turn.role,
        "text": texts.keep(turn.text),
        "parts": texts.keep(json.dumps(turn.parts, ensure_ascii=False)) if turn.parts else "",
        "tokens": turn.tokens,
        "speaker": turn.speaker,
        "is_imported": turn.is_imported,
        "tokens_before": turn.tokens_before,
        "said_at": turn.said_at.isoformat() if turn.said_at else None,
        "decision": fate.decision if fate else None,
        "reason": fate.reason if fate else "",
        "included_tokens": fate.tokens if fate else 0,
    }


def _rendered(rendering: Rendering) -> dict[str, Any]:
    zones: dict[str, Any] = {}
    for zone in (Zone.STABLE, Zone.VOLATILE):
        blocks = [block for block in rendering.blocks if block.zone is zone]
        zones[zone.value] = {
            "sha256": digest([block.text for block in blocks]),
            "tokens": sum(block.tokens for block in blocks),
        }
    zones[Zone.TURNS.value] = {
        "sha256": digest([part for message in rendering.messages for part in message_parts(message)]),
        "tokens": sum(message.tokens for message in rendering.messages),
    }
    return {
        "sha256": rendering.sha256,
        "tokens": rendering.tokens,
        "stable_prefix_tokens": rendering.stable_prefix_tokens,
        "zones": zones,
        "cache_points": [_fields(point) for point in rendering.cache_points],
    }


def _report(row: Mapping[str, Any], texts: Mapping[str, str]) -> SourceReport:
    source = Source(row["source"])
    items = tuple(_item(source, item, texts) for item in map(whole_row, row["items"], count()))
    measured = (row["reason"], row["latency_ms"], row["attempts"])
    return SourceReport(source, Status(row["status"]), items, *measured, is_partial=row.get("is_partial", False))


def _item(source: Source, row: Mapping[str, Any], texts: Mapping[str, str]) -> Item:
    return Item(
        id=row["id"],
        source=source,
        text=texts[row["text"]],
        rank=row["rank"],
        relevance=row["relevance"],
        header=row["header"],
        lead=texts[row["lead"]],
        provenance=tuple(Ref(*ref) for ref in row["provenance"]),
        stands_for=tuple(row["stands_for"]),
        at=datetime.fromisoformat(row["at"]) if row["at"] else None,
        features=read_features(row["features"]),
        position=row["position"],
        fault=_fault(row),
        group=row["group"],
        section=row["section"],
        is_pinned=row["is_pinned"],
        confidence=row["confidence"],
        authority=row["authority"],
        unsigned_chars=row["unsigned_chars"],
    )


def _fault(row: Mapping[str, Any]) -> str:
    """Return the reason why the item or turn was unusable, as recorded: a replay may be unable to detect it again."""
    return str(row["reason"]) if row["decision"] == Decision.UNUSABLE else ""


def _turn(row: Mapping[str, Any], texts: Mapping[str, str]) -> HistoryTurn:
    return HistoryTurn(
        id=row["id"],
        position=row["position"],
        role=row["role"],
        text=texts[row["text"]],
        tokens=row["tokens"],
        parts=tuple(json.loads(texts[row["parts"]])) if row["parts"] else (),
        speaker=row["speaker"],
        said_at=datetime.fromisoformat(row["said_at"]) if row["said_at"] else None,
        is_imported=row.get("is_imported", False),
        fault=_fault(row),
        tokens_before=row.get("tokens_before", 0),
    )


def _summary(row: Mapping[str, Any] | None, texts: Mapping[str, str]) -> HistorySummary | None:
    if not row:
        return None
    item = row.get("item")
    fault = _fault(item) if item else ""
    return HistorySummary(texts[row["text"]], row["through_position"], tuple(row["turn_ids"]), fault)
