"""The lines of an owner's export (`sidecar owner export`), and how they are read back. Pure.

Each line is a JSON object with its kind under "sidecar", so that a part of an export is readable too. Unlike those of other
exports, its ids and texts are taken as they are. An export ends with an "end" line; without it, the export is cut off.
"""

from collections.abc import Container, Iterable, Iterator, Mapping
from typing import Any, BinaryIO

from sidecar.ingest.errors import NewerExport
from sidecar.ingest.exports.conversation import (
    LONGEST_ID_CHARS,
    ROLES,
    Conversation,
    ImportedTurn,
    SkippedPiece,
    Unusable,
    gathered,
    time_of,
    word,
)
from sidecar.ingest.exports.records import FileRecord, records

KEY = "sidecar"
VERSION = 1
"""The version of the lines that this release writes; it reads no newer one."""

OWNER, THREAD, TURN, MEMORY, PAGE, END = KINDS = ("owner", "thread", "turn", "memory", "page", "end")

_TURNS_AT_ONCE = 5_000
_PLACE = ("turn_id", "thread_id", "client_turn_id")
_PART_TEXTS: Mapping[object, tuple[str, ...]] = {"tool_call": ("id", "name"), "tool_result": ("id", "content")}


def kind_of(value: object) -> str:
    """Return the kind of an export's line; empty for other records."""
    kind = value.get(KEY) if isinstance(value, Mapping) else None
    return kind if isinstance(kind, str) and kind in KINDS else ""


def selected(
    name: str, file_records: Iterable[FileRecord | SkippedPiece], kinds: Container[str], noun: str
) -> Iterator[FileRecord | SkippedPiece]:
    """Yield an export's lines of these kinds, and all records of other files.

    An export without such lines, called by the noun, or without its end yields a skipped piece too. Raises NewerExport.
    """
    is_open, is_export, is_found = False, False, False
    for record in file_records:
        kind = "" if isinstance(record, SkippedPiece) else kind_of(record.value)
        if kind == OWNER:
            _check_version(name, record)
        is_open = kind == OWNER or (is_open and kind != END)
        is_export = is_export or kind == OWNER
        if not kind or kind in kinds:
            is_found = True
            yield record
    if is_open:
        yield SkippedPiece(name, "the end", "the export is cut off; export again, and import that file too")
    elif is_export and not is_found:
        yield SkippedPiece(name, "the export", f"it has no {noun}; no action is needed", is_lost=False)


def _check_version(name: str, record: Any) -> None:
    """Raise NewerExport for the first line of an export by a later release, whose other lines may mean something else."""
    version = record.value.get("version", VERSION)
    if type(version) is not int or version > VERSION:
        told = str(version)[:20]
        raise NewerExport(name, f"it is an export of version {told}, and this release reads version {VERSION}")


def conversations(
    name: str, file_records: Iterable[FileRecord | SkippedPiece]
) -> Iterator[Conversation | SkippedPiece]:
    """Yield the conversations of the lines of threads and turns, in parts of up to 5,000 turns, and the skipped pieces."""
    titles, thread_id, title = ("", ""), "", ""
    turns, kept = list[ImportedTurn](), dict[str, int]()
    for record in file_records:
        if isinstance(record, SkippedPiece):
            yield record
            continue
        try:
            if kind_of(record.value) == THREAD:
                titles = _id(record.value, "thread_id"), text_of(record.value, "title")
                continue
            own_thread_id, turn = _turn(record.value)
        except Unusable as error:
            yield SkippedPiece(name, record.position, str(error))
            continue
        if turns and (own_thread_id != thread_id or len(turns) >= _TURNS_AT_ONCE):
            yield from gathered(name, thread_id, title, turns, kept)
            turns, kept = [], kept if own_thread_id == thread_id else {}
        thread_id, title = own_thread_id, titles[1] if titles[0] == own_thread_id else ""
        turns.append(turn)
    if turns:
        yield from gathered(name, thread_id, title, turns, kept)


def _turn(value: Any) -> tuple[str, ImportedTurn]:
    """Return the thread and the turn of a line. Raises Unusable."""
    if kind_of(value) != TURN:
        raise Unusable("it is no line of the export; import it in a file of its own")
    role = ROLES.get(word(value.get("role")))
    parts = value.get("parts") or []
    if role is None or not isinstance(parts, list) or not all(map(_is_part, parts)):
        raise Unusable("its role or its parts are not those of a turn; export again")
    turn = ImportedTurn(
        client_turn_id=_id(value, "client_turn_id"),
        role=role,
        text=text_of(value, "text"),
        speaker=text_of(value, "speaker"),
        said_at=time_of(value.get("said_time")),
        parts=tuple(parts),
    )
    return _id(value, "thread_id"), turn


def places_of_turns(name: str, stream: BinaryIO, turn_ids: Container[str]) -> dict[str, tuple[str, str]]:
    """Return the thread and client turn id of these turns by their ids, for those in the export; none for another file."""
    places = {}
    for record in records(name, stream):
        if isinstance(record, FileRecord) and kind_of(record.value) == TURN:
            turn_id, thread_id, client_turn_id = (word(record.value.get(key)) for key in _PLACE)
            if turn_id in turn_ids:
                places[turn_id] = thread_id, client_turn_id
    return places


def text_of(value: Mapping[str, Any], key: str) -> str:
    """Return a text of a line; an absent one is empty. Raises Unusable for another value."""
    text = value.get(key, "")
    if not isinstance(text, str):
        raise Unusable(f"its {key} is not a text; export again")
    return text


def _id(value: Mapping[str, Any], key: str) -> str:
    given = text_of(value, key)
    if not 0 < len(given) <= LONGEST_ID_CHARS:
        raise Unusable(f"its {key} is not an id of 1 to {LONGEST_ID_CHARS} characters; export again")
    return given


def _is_part(part: object) -> bool:
    if not isinstance(part, dict) or word(part.get("type")) not in _PART_TEXTS:
        return False
    has_arguments = part["type"] == "tool_result" or isinstance(part.get("arguments"), dict)
    return has_arguments and all(isinstance(part.get(key), str) for key in _PART_TEXTS[part["type"]])
