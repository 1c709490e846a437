"""Reads files of journal records: one JSON object per record, on its own line or in an array."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, BinaryIO

from sidecar.ingest.errors import NotMemories
from sidecar.ingest.exports.archive import opened
from sidecar.ingest.exports.conversation import SkippedPiece, Unusable, id_of, is_spoken, repeated_of, time_of, word
from sidecar.ingest.exports.owner_export import MEMORY, kind_of
from sidecar.ingest.exports.records import records

_LONGEST_TEXT_CHARS = 100_000
_LONGEST_NAME_CHARS = 800
_MOST_NAMES = 100


@dataclass(frozen=True, slots=True)
class ImportedPlace:
    """The place where a record happened, as given in the file."""

    name: str
    city: str = ""
    address: str = ""
    alternate_names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ImportedRecord:
    """A journal record as given in a file. Without an id, it gets a hash of its text, time and journal."""

    id: str
    text: str
    occurred_at: datetime | None = None
    place: ImportedPlace | None = None
    tags: tuple[str, ...] = ()
    journal_id: str = ""


def read_journal(name: str, data: bytes | BinaryIO) -> Iterator[ImportedRecord | SkippedPiece]:
    """Yield the records and the skipped pieces of a file, in its order.

    A record is
    `{"text", "id"?, "occurred_at"?, "place"?: {"name", "city"?, "address"?, "alternate_names"?}, "tags"?, "journal_id"?}`,
    or has the API's names `record_id` and `occurred_time`. Of records of one id the last counts, and each earlier one is also
    yielded as skipped, when the next one is read. A stream must be seekable. Raises UnreadableExport or TooLarge, and NotMemories
    for a message or a conversation.
    """
    places: dict[str, tuple[str, int]] = {}
    for record in records(name, opened(data)):
        if isinstance(record, SkippedPiece):
            yield record
            continue
        if is_spoken(record.value) or kind_of(record.value) not in ("", MEMORY):
            raise NotMemories(name, f"{record.position} is part of a conversation or an export, not a journal record")
        try:
            read = _read(record.value)
            repeated = repeated_of(name, read.id, read, record.position, places)
            if repeated is not None:
                yield repeated
            if repeated is None or repeated.is_lost:
                yield read
        except Unusable as error:
            yield SkippedPiece(name, record.position, str(error))


def _read(value: object) -> ImportedRecord:
    if not isinstance(value, dict):
        raise Unusable('it is not an object; write {"text": …}')
    text = word(value.get("text")).strip()
    if not text:
        raise Unusable('it has no text; write it under "text"')
    if len(text) > _LONGEST_TEXT_CHARS:
        raise Unusable(f"its text has {len(text)} characters, the limit is {_LONGEST_TEXT_CHARS}; split it")
    given_at = _either(value, "occurred_at", "occurred_time")
    given_id = _either(value, "id", "record_id")
    occurred_at = time_of(given_at)
    if occurred_at is None and given_at is not None:
        raise Unusable('its occurred_at is not a time; write it as "2026-02-01T16:20:00Z"')
    journal = value.get("journal_id") or ""
    return ImportedRecord(
        id=id_of(given_id, text, given_at, journal),
        text=text,
        occurred_at=occurred_at,
        place=_place(value.get("place")),
        tags=_names(value.get("tags"), "tags"),
        journal_id=id_of(journal) if journal else "",
    )


def _either(value: Mapping[str, Any], name: str, other: str) -> object:
    given = value.get(name)
    return value.get(other) if given is None else given


def _place(value: object) -> ImportedPlace | None:
    if value is None:
        return None
    if not isinstance(value, Mapping) or not word(value.get("name")).strip():
        raise Unusable('its place has no name; write {"name": …, "city": …}, or leave it out')
    return ImportedPlace(
        _name(value["name"], "place"),
        _name(value.get("city"), "city"),
        _name(value.get("address"), "address"),
        _names(value.get("alternate_names"), "alternate_names"),
    )


def _name(value: Any, key: str) -> str:
    name = word(value).strip()
    if len(name) > _LONGEST_NAME_CHARS:
        raise Unusable(f"its {key} has {len(name)} characters, the limit is {_LONGEST_NAME_CHARS}")
    return name


def _names(value: object, key: str) -> tuple[str, ...]:
    if value is None:
        return ()
    if not isinstance(value, list) or len(value) > _MOST_NAMES or not all(isinstance(item, str) for item in value):
        raise Unusable(f"its {key} is not a list of at most {_MOST_NAMES} texts")
    return tuple(name for item in value if (name := _name(item, key)))
