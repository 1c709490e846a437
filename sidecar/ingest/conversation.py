"""The values read from an export: conversations of turns, and skipped pieces, with their ids.

Every reader of exports ends here; none of them knows another. A turn's id is the export's own, or a hash of its place
and content, so importing the same file again changes nothing.
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
    """A turn as it was said; `parts` are tool calls and results, whose content is not repeated in `text`.

    `{"type": "tool_call", "id", "name", "arguments"}` and `{"type": "tool_result", "id", "content"}`, JSON-safe.
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
    """Turns in the order they were said. One id may come more than once: the later turns follow the earlier ones."""

    id: str
    title: str
    turns: tuple[ImportedTurn, ...]


@dataclass(frozen=True, slots=True)
class SkippedPiece:
    """A piece of a file that was left out: where it stands, why, and what to do about it.

    `is_lost` is False for a piece without content of its own, such as a repeated turn or an empty message.
    """

    name: str
    position: str
    reason: str
    is_lost: bool = True

    def __str__(self) -> str:
        """Return the line a person reads."""
        return f"{self.name}, {self.position}: {self.reason}"


class Unusable(ValueError):
    """One record can't be used; the text says why and what to change. Readers turn it into a SkippedPiece."""

    is_lost = True


class Empty(Unusable):
    """One record holds nothing to store."""

    is_lost = False


def is_spoken(value: object) -> bool:
    """Return whether the record is a message or a conversation: it has a known role, or a list of messages, but no text."""
    if not isinstance(value, Mapping) or value.get("text"):
        return False
    is_message = word(value.get("role")) in ROLES
    return is_message or any(isinstance(value.get(key), kind) for key, kind in _CONVERSATIONS.items())


def is_memory(value: object) -> bool:
    """Return whether the record is a memory: it has a text, but neither a role nor a list of messages."""
    if not isinstance(value, Mapping) or "role" in value or is_spoken(value):
        return False
    return any(word(value.get(key)).strip() for key in ("text", "content"))


def id_of(given: object, *content: object) -> str:
    """Return the given id when it is a text or number of at most 200 characters, else a hash of the content."""
    if isinstance(given, str | int) and not isinstance(given, bool) and 0 < len(str(given).strip()) <= LONGEST_ID_CHARS:
        return str(given).strip()
    canonical = json.dumps([given, *content], sort_keys=True, separators=(",", ":"), default=str)
    return hashlib.sha256(canonical.encode()).hexdigest()[:32]


def word(value: object) -> str:
    """Return the value if it is a text, else "": exports are untrusted."""
    return value if isinstance(value, str) else ""


def time_of(value: object) -> datetime | None:
    """Return the time in UTC, or None: seconds or milliseconds since 1970, or ISO 8601, UTC where no zone is named."""
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
    """Yield what `turn` makes of each message and its number, from 1; a message it finds Unusable is skipped, and named."""
    for number, message in enumerate(messages, start=1):
        try:
            yield turn(message, number)
        except Unusable as error:
            yield SkippedPiece(name, f"{position}, message {number}", str(error), error.is_lost)


def gathered(
    name: str, conversation_id: str, title: object, turns: Iterable[ImportedTurn | SkippedPiece]
) -> Iterator[Conversation | SkippedPiece]:
    """Yield what of the turns had to be skipped, then the conversation the others make, if there are any.

    A turn that repeats an earlier one is skipped; another under an id already used gets an id of its own.
    """
    kept: dict[str, ImportedTurn] = {}
    for turn in turns:
        if isinstance(turn, SkippedPiece):
            yield turn
        elif kept.get(turn.client_turn_id) == turn:
            yield SkippedPiece(
                name, f"turn {turn.client_turn_id}", "it repeats an earlier turn; nothing to do", is_lost=False
            )
        elif turn.client_turn_id in kept:
            own = replace(turn, client_turn_id=id_of(None, turn.client_turn_id, turn.role, turn.text, turn.parts))
            kept[own.client_turn_id] = own
        else:
            kept[turn.client_turn_id] = turn
    if kept:
        yield Conversation(conversation_id, title if isinstance(title, str) else "", tuple(kept.values()))
