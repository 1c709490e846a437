"""The values read from an export: conversations of turns, and skipped pieces, with their ids.

All readers of exports return these values and do not know each other. A turn's id is that of the export, or a hash of its place
and content, so that importing the same file again changes nothing.
"""

import hashlib
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

Role = Literal["user", "assistant", "tool", "system"]

LONGEST_ID_CHARS = 200
ROLES: Mapping[str, Role] = {
    "user": "user", "human": "user",
    "assistant": "assistant", "model": "assistant", "ai": "assistant",
    "tool": "tool", "function": "tool",
    "system": "system", "developer": "system",
}  # fmt: skip
_CONVERSATIONS: Mapping[str, type] = {"messages": list, "mapping": dict, "chat_messages": list}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECONDS_FROM = 1e11  # as seconds, this is the year 5138


@dataclass(frozen=True, slots=True)
class ImportedTurn:
    """A turn of an export. `parts` are its tool calls and results, whose content is not repeated in `text`.

    A part is `{"type": "tool_call", "id", "name", "arguments"}` or `{"type": "tool_result", "id", "content"}`, JSON-safe.
    """

    client_turn_id: str
    role: Role
    text: str
    speaker: str = ""
    said_at: datetime | None = None
    parts: tuple[dict[str, Any], ...] = ()
    metadata: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Conversation:
    """Turns in the order in which they were said. If several conversations share an id, the later ones continue the earlier."""

    id: str
    title: str
    turns: tuple[ImportedTurn, ...]


@dataclass(frozen=True, slots=True)
class SkippedPiece:
    """A piece of a file that was left out: its position, and the reason with what to do about it.

    `is_lost` is False for a piece without new content, such as a repeated turn or an empty message.
    """

    name: str
    position: str
    reason: str
    is_lost: bool = True

    def __str__(self) -> str:
        """Return the piece as a line for users."""
        return f"{self.name}, {self.position}: {self.reason}"


class Unusable(ValueError):
    """A record can't be used; the text says why and what to change. Readers turn the error into a SkippedPiece."""

    is_lost = True


class Empty(Unusable):
    """A record holds nothing to store."""

    is_lost = False


def is_spoken(value: object) -> bool:
    """Return whether the record is a message or a conversation: it has a known role or a collection of messages, but no text."""
    if not isinstance(value, Mapping) or value.get("text"):
        return False
    is_message = word(value.get("role")) in ROLES
    return is_message or any(isinstance(value.get(key), kind) for key, kind in _CONVERSATIONS.items())


def is_memory(value: object) -> bool:
    """Return whether the record is a memory: it has a text, but no role and no collection of messages."""
    if not isinstance(value, Mapping) or "role" in value or is_spoken(value):
        return False
    return any(word(value.get(key)).strip() for key in ("text", "content"))


def id_of(given: object, *content: object) -> str:
    """Return the given id if it is a text or a whole number of at most 200 characters, otherwise a hash of the content."""
    if isinstance(given, str | int) and not isinstance(given, bool) and 0 < len(str(given).strip()) <= LONGEST_ID_CHARS:
        return str(given).strip()
    canonical = json.dumps([given, *content], sort_keys=True, separators=(",", ":"), default=str)
    return hashlib.sha256(canonical.encode()).hexdigest()[:32]


def word(value: object) -> str:
    """Return the value if it is a text, otherwise an empty text, since exports are untrusted."""
    return value if isinstance(value, str) else ""


def time_of(value: object) -> datetime | None:
    """Return the time in UTC, or None if the value is not a time.

    A time is given in seconds or milliseconds since 1970, or in ISO 8601, which means UTC unless it names a zone.
    """
    try:
        if isinstance(value, str):
            return _time_of_text(value.strip())
        if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
            seconds = value / 1000 if abs(value) >= _MILLISECONDS_FROM else value
            return _EPOCH + timedelta(seconds=seconds)
    except (ValueError, OverflowError):
        return None
    return None


def _time_of_text(text: str) -> datetime:
    if text.replace(".", "", 1).isdecimal():
        whole, _, fraction = text.partition(".")
        return _EPOCH + timedelta(seconds=int(whole), microseconds=int(fraction[:6].ljust(6, "0")))
    moment = datetime.fromisoformat(text)
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def listed(
    name: str, position: str, messages: list[Any], turn: Callable[[object, int], ImportedTurn]
) -> Iterator[ImportedTurn | SkippedPiece]:
    """Yield `turn(message, number)` of each message, numbered from 1; a message for which it raises Unusable is skipped."""
    for number, message in enumerate(messages, start=1):
        try:
            yield turn(message, number)
        except Unusable as error:
            yield SkippedPiece(name, f"{position}, message {number}", str(error), error.is_lost)


def gathered(
    name: str,
    conversation_id: str,
    title: object,
    turns: Iterable[ImportedTurn | SkippedPiece],
    earlier: dict[str, int] | None = None,
) -> Iterator[Conversation | SkippedPiece]:
    """Yield the skipped pieces, then the conversation of the turns, if there are any.

    A turn equal to an earlier one is skipped. A different turn with an id already used gets a new id. A tool result without an
    id answers the first open call before it. `earlier` holds the conversation's turns that were yielded before, as marks by id,
    and gets these.
    """
    known = {} if earlier is None else earlier
    kept: dict[str, ImportedTurn] = {}
    for turn in turns:
        if isinstance(turn, SkippedPiece):
            yield turn
        elif known.get(turn.client_turn_id) == _mark(turn):
            yield SkippedPiece(
                name, f"turn {turn.client_turn_id}", "it repeats an earlier turn; no action is needed", is_lost=False
            )
        elif turn.client_turn_id in known:
            new_id = id_of(None, turn.client_turn_id, turn.role, turn.text, turn.parts)
            kept[new_id] = replace(turn, client_turn_id=new_id)
        else:
            kept[turn.client_turn_id], known[turn.client_turn_id] = turn, _mark(turn)
    if kept:
        yield Conversation(conversation_id, title if isinstance(title, str) else "", tuple(_answering(kept.values())))


def _answering(turns: Iterable[ImportedTurn]) -> Iterator[ImportedTurn]:
    """Yield the turns, each result without an id with that of the first open call before it, else with one of its own."""
    waiting, is_answered = list[str](), False
    for turn in turns:
        parts = list[dict[str, Any]]()
        calls = [part["id"] for part in turn.parts if part["type"] == "tool_call"]
        waiting = [*([] if calls and is_answered else waiting), *calls]
        is_answered = not calls
        for number, part in enumerate(turn.parts):
            if part["type"] == "tool_result":
                call_id = part["id"] or next(iter(waiting), f"{turn.client_turn_id}:{number}"[-LONGEST_ID_CHARS:])
                waiting = [one for one in waiting if one != call_id]
                parts.append(part | {"id": call_id})
            else:
                parts.append(part)
        yield turn if parts == list(turn.parts) else replace(turn, parts=tuple(parts))


def repeated_of(
    name: str, value_id: str, value: object, position: str, places: dict[str, tuple[str, int]]
) -> SkippedPiece | None:
    """Return this value if it repeats an earlier one of the file, else the earlier one of the id, which this replaces, if any.

    `places` holds the places and marks of the values read before, by id, and gets this one's.
    """
    earlier, places[value_id] = places.get(value_id), (position, _mark(value))
    if earlier is None:
        return None
    if earlier[1] == _mark(value):
        return SkippedPiece(name, position, "it repeats an earlier one; no action is needed", is_lost=False)
    same = "has the same id (without an id: the same text and times) and replaces it"
    return SkippedPiece(name, earlier[0], f"{position} {same}; give one of them another id to keep both")


def _mark(value: object) -> int:
    return hash(repr(value))
