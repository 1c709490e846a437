"""Reads files of memories: one JSON object per memory, on its own line or in an array."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, BinaryIO

from sidecar.ingest.errors import NotMemories
from sidecar.ingest.exports import owner_export
from sidecar.ingest.exports.archive import opened
from sidecar.ingest.exports.conversation import SkippedPiece, Unusable, id_of, is_spoken, repeated_of, time_of
from sidecar.ingest.exports.records import records

_LONGEST_TEXT_CHARS = 100_000
_LONGEST_LABEL_CHARS = 100
_STATUSES = frozenset({"", "candidate", "accepted", "rejected"})
_PRECISIONS = ("instant", "day", "month", "year")  # finest first
_KNOWN = frozenset({
    "id", "memory_id", "text", "content", "created_at", "occurred_at", "metadata", "document_id", "tags", "turn_ids",
    "memory_type", "status", "confidence", "authority", "domains", "valid_from", "valid_until", "valid_precision", "pinned",
})  # fmt: skip
# The names of these times in a list of memories (`sidecar memory list --json`), and its fields that only the service sets.
_LISTED = {
    "occurred_at": "occurred_time",
    "created_at": "create_time",
    "valid_from": "valid_from_time",
    "valid_until": "valid_until_time",
}
_SET_BY_SERVICE = frozenset({"update_time", "until_precision", "compressed", "source_episodes", "source_events"})
_NO_METADATA = _KNOWN | _SET_BY_SERVICE | set(_LISTED.values())


@dataclass(frozen=True, slots=True)
class ImportedMemory:
    """A memory as given in a file. Without an id, it gets a hash of its text, times and document.

    `is_exported` marks one of an owner's export, whose turn ids are those of the export.
    """

    id: str
    text: str
    occurred_at: datetime | None = None
    created_at: datetime | None = None
    document_id: str = ""
    tags: tuple[str, ...] = ()
    turn_ids: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    memory_type: str = ""
    status: str = ""
    confidence: float | None = None
    authority: str = ""
    domains: tuple[str, ...] = ()
    valid_from: datetime | None = None
    valid_until: datetime | None = None
    valid_precision: str = ""
    pinned: bool | None = None
    is_exported: bool = False


def read_memories(name: str, data: bytes | BinaryIO) -> Iterator[ImportedMemory | SkippedPiece]:
    """Yield the memories and the skipped pieces of a file, in its order.

    A memory is `{"text" or "content", "id"?, "occurred_at"?, "created_at"?, "document_id"?, "tags"?, "turn_ids"?, "metadata"?,
    "memory_type"?, "status"?, "confidence"?, "authority"?, "domains"?, "valid_from"?, "valid_until"?, "valid_precision"?,
    "pinned"?}`, or one of `sidecar memory list --json` or `sidecar owner export`; other keys are added to the metadata. Of
    memories of one id the last counts, and each earlier one is also yielded as skipped, when the next one is read. A stream must
    be seekable. Raises UnreadableExport or TooLarge, and NotMemories if a message or a conversation comes before any memory.
    """
    has_memories = False
    places: dict[str, tuple[str, int]] = {}
    for record in owner_export.selected(name, records(name, opened(data)), (owner_export.MEMORY,), "memories"):
        if isinstance(record, SkippedPiece):
            yield record
            continue
        if is_spoken(record.value) and not has_memories:
            raise NotMemories(name, f"{record.position} is part of a conversation, not a memory")
        try:
            memory = _exported(record.value) if owner_export.kind_of(record.value) else _memory(record.value)
            has_memories = True
            repeated = repeated_of(name, memory.id, memory, record.position, places)
            if repeated is not None:
                yield repeated
            if repeated is None or repeated.is_lost:
                yield memory
        except Unusable as error:
            yield SkippedPiece(name, record.position, str(error))


def _exported(value: Mapping[str, Any]) -> ImportedMemory:
    """Return a memory of an export: its ids and its text are not tidied up."""
    memory = _memory({key: one for key, one in value.items() if key in _NO_METADATA})
    return replace(
        memory,
        id=owner_export.text_of(value, "memory_id") or memory.id,
        document_id=owner_export.text_of(value, "document_id"),
        text=owner_export.text_of(value, "text"),
        is_exported=True,
    )


def _memory(value: Any) -> ImportedMemory:
    if not isinstance(value, dict):
        raise Unusable('it is not an object; write {"text": …}')
    if is_spoken(value):
        raise Unusable("it is part of a conversation, not a memory; import it with `sidecar thread import`")
    text = _text(value)
    document_id = value.get("document_id") or ""
    given_id = value.get("id") or value.get("memory_id")
    return ImportedMemory(
        id=id_of(given_id, text, _either(value, "occurred_at"), _either(value, "created_at"), document_id),
        text=text,
        occurred_at=_time(value, "occurred_at"),
        created_at=_time(value, "created_at"),
        document_id=id_of(document_id) if document_id else "",
        tags=_texts(value, "tags"),
        turn_ids=_texts(value, "turn_ids"),
        metadata=_metadata(value),
        memory_type=_label(value, "memory_type"),
        status=_status(value),
        confidence=_confidence(value),
        authority=_label(value, "authority"),
        domains=_texts(value, "domains"),
        **_validity(value),
        pinned=_pinned(value),
    )


def _label(value: Mapping[str, Any], key: str) -> str:
    label = value.get(key) or ""
    if not isinstance(label, str) or len(label) > _LONGEST_LABEL_CHARS:
        raise Unusable(f"its {key} is not a text of at most {_LONGEST_LABEL_CHARS} characters")
    return label


def _status(value: Mapping[str, Any]) -> str:
    status = _label(value, "status").lower()
    if status not in _STATUSES:
        raise Unusable('its status is not "candidate", "accepted" or "rejected"')
    return status


def _validity(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of the validity.

    A listed memory may have an end with a precision of its own, that of the memory that replaced it: the finer one is taken for
    both, else the end would be rounded down. Such an end may also lie before the beginning, which is then left out.
    """
    begun, ended = _time(value, "valid_from"), _time(value, "valid_until")
    precision = _precision(value, "valid_precision")
    of_end = _precision(value, "until_precision") if ended else ""
    if of_end and precision:
        precision = min(precision, of_end, key=_PRECISIONS.index)
    if of_end and begun and ended and ended <= begun:
        begun = None
    return {"valid_from": begun, "valid_until": ended, "valid_precision": precision}


def _precision(value: Mapping[str, Any], key: str) -> str:
    precision = _label(value, key).lower()
    if precision and precision not in _PRECISIONS:
        raise Unusable(f'its {key} is not "instant", "day", "month" or "year"')
    return precision


def _confidence(value: Mapping[str, Any]) -> float | None:
    confidence = value.get("confidence")
    if confidence is None:
        return None
    if isinstance(confidence, bool) or not isinstance(confidence, int | float) or not 0 <= confidence <= 1:
        raise Unusable("its confidence is not a number from 0 to 1")
    return float(confidence)


def _text(value: Mapping[str, Any]) -> str:
    text = value.get("text") or value.get("content")
    if not isinstance(text, str) or not text.strip():
        raise Unusable('it has no text; write it under "text"')
    if len(text) > _LONGEST_TEXT_CHARS:
        raise Unusable(f"its text has {len(text)} characters, the limit is {_LONGEST_TEXT_CHARS}; split it")
    return text.strip()


def _pinned(value: Mapping[str, Any]) -> bool | None:
    pinned = value.get("pinned")
    if pinned is not None and not isinstance(pinned, bool):
        raise Unusable("its pinned is not true or false")
    return pinned


def _either(value: Mapping[str, Any], key: str) -> object:
    given = value.get(key)
    return value.get(_LISTED[key]) if given is None else given


def _time(value: Mapping[str, Any], key: str) -> datetime | None:
    given = _either(value, key)
    time = time_of(given)
    if time is None and given is not None:
        raise Unusable(f'its {key} is not a time; write it as "2026-02-01T16:20:00Z"')
    return time


def _texts(value: Mapping[str, Any], key: str) -> tuple[str, ...]:
    items = value.get(key) or []
    if not isinstance(items, list) or not all(isinstance(item, str) for item in items):
        raise Unusable(f'its {key} is not a list of texts; write ["one", "two"]')
    return tuple(items)


def _metadata(value: Mapping[str, Any]) -> dict[str, Any]:
    metadata = value.get("metadata") or {}
    if not isinstance(metadata, dict):
        raise Unusable("its metadata is not an object; write {…}")
    return {key: item for key, item in value.items() if key not in _NO_METADATA} | metadata
