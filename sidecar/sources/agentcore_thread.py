"""Thread source on AgentCore: reads a conversation from a session's events, in order, with tool calls and results."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from sidecar.backends.agentcore import SESSION, AgentCoreMemory, Event
from sidecar.context.ports import SourceAnswer, SourceLimits, SourceQuery, SourceSkipped
from sidecar.ingest.exports.conversation import Unusable
from sidecar.ingest.exports.message_parts import plain_text, tool_call, tool_result
from sidecar.ingest.exports.records import safe
from sidecar.turn.fitting.history import MESSAGE_TOKENS, message_text
from sidecar.turn.ranking.remote_evidence import readable
from store.content.threads import StoredTurn, turn_uuid
from store.scope import Scope

CLIENT_TURN_ID = "client_turn_id"
_ROLES = {"USER": "user", "ASSISTANT": "assistant", "TOOL": "tool", "OTHER": "user"}
_ROLE_WORDS = frozenset({"user", "assistant", "tool", "system"})
# Whoever writes a message may write JSON in it, which must not make it another speaker's.
_SPOKEN_AS = {"user": {"user", "tool"}, "assistant": {"assistant"}, "tool": {"user", "tool"}}
_MOST_INTEGER = 1 << 63

Count = Callable[[str], tuple[int, int]]
"""Counts a text's tokens in o200k_base and cl100k_base."""


@dataclass(frozen=True, slots=True)
class AgentCoreThreadSource:
    """Reads a thread from the session with the same id. `count` counts a text's tokens as the store does."""

    memory: AgentCoreMemory
    count: Count

    async def find(self, query: SourceQuery, scope: Scope, limits: SourceLimits) -> SourceAnswer:
        """Return an empty answer: events can be listed but not searched."""
        return SourceAnswer()

    async def recent(self, query: SourceQuery, scope: Scope, limits: SourceLimits) -> SourceAnswer:
        """Return the newest turns within the limits.

        Raises SourceSkipped for an id that no session can have, or a BackendError.
        """
        if not query.thread_id:
            return SourceAnswer()
        if not SESSION.fullmatch(query.thread_id):
            raise SourceSkipped(f"{self.memory.name}: the thread's id is not a valid session id")
        listed = await self.memory.events(scope.owner_id, query.thread_id, most=max(1, limits.window_turns))
        messages = [message for event in listed.events for message in _messages(event)]
        current_id = query.client_turn_id
        earlier = [message for message in messages if not current_id or message.client_turn_id != current_id]
        turns = [self._turn(message, place, query.thread_id, scope) for place, message in enumerate(earlier, 1)]
        notes = (f"{self.memory.name}: older events were not read",) if listed.is_cut else ()
        return SourceAnswer(history=_within(turns[-max(1, limits.window_turns) :], limits.window_tokens), notes=notes)

    def _turn(self, message: _EventMessage, position: int, thread_id: str, scope: Scope) -> StoredTurn:
        text = readable(message.text)
        o200k, cl100k = self.count(message_text(text, message.parts))
        return StoredTurn(
            turn_id=turn_uuid(scope, thread_id, message.id),
            client_turn_id=message.client_turn_id,
            position=position,
            role=message.role,
            speaker="",
            text=text,
            said_at=message.event.at,
            parts=message.parts,
            o200k_tokens=o200k + MESSAGE_TOKENS,
            cl100k_tokens=cl100k + MESSAGE_TOKENS,
            is_imported=True,
        )


@dataclass(frozen=True, slots=True)
class _EventMessage:
    """One message of an event."""

    id: str
    event: Event
    client_turn_id: str
    role: str
    text: str
    parts: tuple[dict[str, Any], ...] = ()


def _within(turns: list[StoredTurn], tokens: int) -> tuple[StoredTurn, ...]:
    """Return the newest turns whose tokens fit the window; always at least the last."""
    kept: list[StoredTurn] = []
    for turn in reversed(turns):
        if kept and sum(later.o200k_tokens for later in kept) + turn.o200k_tokens > tokens:
            break
        kept.append(turn)
    return tuple(reversed(kept))


def _messages(event: Event) -> Iterator[_EventMessage]:
    for place, payload in enumerate(event.payloads):
        message = _message(payload)
        if message is None:
            continue
        role, text, parts = message
        if text.strip() or parts:
            name = f"{event.event_id}:{place}"
            client_turn_id = readable(event.metadata.get(CLIENT_TURN_ID, name))
            yield _EventMessage(name, event, client_turn_id, role, text, parts)


def _message(payload: object) -> tuple[str, str, tuple[dict[str, Any], ...]] | None:
    """Return a payload's role, text and tool parts; None if it holds no message."""
    if not isinstance(payload, Mapping):
        return None
    if "conversational" in payload:
        spoken = payload["conversational"]
        role, text = _ROLES.get(spoken.get("role", ""), "user"), str(spoken.get("content", {}).get("text", ""))
        message = _structured(text)
        return message if message and message[0] in _SPOKEN_AS[role] else (role, text, ())
    return _structured(payload.get("blob", payload.get("json", {}).get("content")))


def _structured(content: object) -> tuple[str, str, tuple[dict[str, Any], ...]] | None:
    """Return the role, text and tool parts of a message in Converse's format (JSON with a role and a list of blocks), or None."""
    if isinstance(content, str):
        if not content.startswith(("{", "[")):
            return None
        try:
            content = json.loads(content)
        except (ValueError, RecursionError):
            return None
    if isinstance(content, Mapping) and isinstance(content.get("message"), Mapping):
        content = content["message"]
    if not isinstance(content, Mapping) or content.get("role") not in _ROLE_WORDS:
        return None
    try:
        role, blocks = str(content["role"]), safe(content.get("content"))
    except Unusable:
        return None
    if not isinstance(blocks, list):
        return None
    parts = tuple(part for block in blocks if isinstance(block, Mapping) for part in _parts(block))
    texts = [str(block["text"]) for block in blocks if isinstance(block, Mapping) and "text" in block]
    return role, "\n\n".join(texts), parts


def _parts(block: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    if isinstance(use := block.get("toolUse"), Mapping):
        yield tool_call(str(use.get("toolUseId", "")), use.get("name"), _in_64_bits(use.get("input")))
    if isinstance(result := block.get("toolResult"), Mapping):
        yield tool_result(str(result.get("toolUseId", "")), _result_text(result.get("content")))


def _in_64_bits(value: Any) -> Any:
    """Return the value with larger integers as texts, since a receipt cannot hold them."""
    if isinstance(value, dict):
        return {name: _in_64_bits(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_in_64_bits(inner) for inner in value]
    return str(value) if isinstance(value, int) and abs(value) >= _MOST_INTEGER else value


def _result_text(content: object) -> str:
    if not isinstance(content, list):
        return plain_text(content)
    parts = [block.get("text", block.get("json", block)) if isinstance(block, Mapping) else block for block in content]
    return "\n".join(part if isinstance(part, str) else json.dumps(part, ensure_ascii=False) for part in parts)
