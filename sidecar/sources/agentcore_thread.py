"""Thread source on AgentCore: reads a conversation from a session's events, in order, with tool calls and results."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from sidecar.backends.agentcore import SESSION, AgentCoreMemory, Event
from sidecar.context.ports import SourceAnswer, SourceLimits, SourceQuery, SourceSkipped
from sidecar.ingest.conversation import Unusable
from sidecar.ingest.message_parts import plain_text, tool_call, tool_result
from sidecar.ingest.records import safe
from sidecar.turn.history import MESSAGE_TOKENS, message_text
from sidecar.turn.remote import readable
from store.content.threads import StoredTurn, turn_uuid
from store.scope import Scope

CLIENT_TURN_ID = "client_turn_id"
_ROLES = {"USER": "user", "ASSISTANT": "assistant", "TOOL": "tool", "OTHER": "user"}
_ROLE_WORDS = frozenset({"user", "assistant", "tool", "system"})

Count = Callable[[str], tuple[int, int]]
"""Counts a text's tokens in o200k_base and cl100k_base."""


@dataclass(frozen=True, slots=True)
class AgentCoreThreadSource:
    """Reads a thread from the session with the same id. `count` counts a turn's tokens as the store does."""

    memory: AgentCoreMemory
    count: Count

    async def find(self, query: SourceQuery, scope: Scope, limits: SourceLimits) -> SourceAnswer:
        """Return nothing: events are listed, not searched."""
        return SourceAnswer()

    async def recent(self, query: SourceQuery, scope: Scope, limits: SourceLimits) -> SourceAnswer:
        """Return the newest turns within the limits. Raises SourceSkipped for an id no session can have, or a BackendError."""
        if not query.thread_id:
            return SourceAnswer()
        if not SESSION.fullmatch(query.thread_id):
            raise SourceSkipped(f"{self.memory.name}: this thread's id cannot be a session's")
        found = await self.memory.events(scope.owner_id, query.thread_id, most=max(1, limits.window_turns))
        said = [one for event in found.events for one in _said(event)]
        newest = [one for one in said if not query.client_turn_id or one.client_turn_id != query.client_turn_id]
        turns = [self._turn(one, place, query.thread_id, scope) for place, one in enumerate(newest, 1)]
        notes = (f"{self.memory.name}: older events were left unread",) if found.is_cut else ()
        return SourceAnswer(history=_within(turns[-max(1, limits.window_turns) :], limits.window_tokens), notes=notes)

    def _turn(self, said: _Said, position: int, thread_id: str, scope: Scope) -> StoredTurn:
        text = readable(said.text)
        o200k, cl100k = self.count(message_text(text, said.parts))
        return StoredTurn(
            turn_id=turn_uuid(scope, thread_id, said.id),
            client_turn_id=said.client_turn_id,
            position=position,
            role=said.role,
            speaker="",
            text=text,
            said_at=said.event.at,
            parts=said.parts,
            o200k_tokens=o200k + MESSAGE_TOKENS,
            cl100k_tokens=cl100k + MESSAGE_TOKENS,
            is_imported=True,
        )


@dataclass(frozen=True, slots=True)
class _Said:
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
        if kept and sum(one.o200k_tokens for one in kept) + turn.o200k_tokens > tokens:
            break
        kept.append(turn)
    return tuple(reversed(kept))


def _said(event: Event) -> Iterator[_Said]:
    for place, payload in enumerate(event.payloads):
        message = _message(payload)
        if message is None:
            continue
        role, text, parts = message
        if text.strip() or parts:
            name = f"{event.event_id}:{place}"
            yield _Said(name, event, event.metadata.get(CLIENT_TURN_ID, name), role, text, parts)


def _message(payload: Mapping[str, Any]) -> tuple[str, str, tuple[dict[str, Any], ...]] | None:
    """Return a payload's role, text and tool parts; None if it holds no message."""
    if "conversational" in payload:
        spoken = payload["conversational"]
        role, text = _ROLES.get(spoken.get("role", ""), "user"), str(spoken.get("content", {}).get("text", ""))
        return _structured(text) or (role, text, ())
    return _structured(payload.get("blob", payload.get("json", {}).get("content")))


def _structured(content: object) -> tuple[str, str, tuple[dict[str, Any], ...]] | None:
    """Return role, text and tool parts of a message in Converse's shape (JSON with a role and a list of blocks)."""
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
        yield tool_call(str(use.get("toolUseId", "")), use.get("name"), use.get("input"))
    if isinstance(result := block.get("toolResult"), Mapping):
        yield tool_result(str(result.get("toolUseId", "")), _result_text(result.get("content")))


def _result_text(content: object) -> str:
    if not isinstance(content, list):
        return plain_text(content)
    parts = [one.get("text", one.get("json", one)) if isinstance(one, Mapping) else one for one in content]
    return "\n".join(one if isinstance(one, str) else json.dumps(one, ensure_ascii=False) for one in parts)
