"""Converts OpenAI-style messages, `{"role", "content", "tool_calls", "tool_call_id"}`, with Anthropic's or Bedrock's blocks, and
the items of OpenAI's Responses API to turns.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from sidecar.ingest.exports.conversation import (
    ROLES,
    Conversation,
    Empty,
    ImportedTurn,
    Role,
    SkippedPiece,
    Unusable,
    gathered,
    id_of,
    listed,
    time_of,
    word,
)
from sidecar.ingest.exports.message_parts import MessageContent, content_of, plain_text, tool_call, tool_result
from sidecar.ingest.exports.records import FileRecord

_EMPTY_CONTENTS: tuple[object, ...] = ("", None, [])
_ITEM_ROLES: Mapping[str, Role] = {
    "function_call": "assistant", "reasoning": "assistant", "function_call_output": "tool",
}  # fmt: skip
_TIMES = ("created_at", "said_at", "timestamp", "create_time", "created", "time")


def turn(message: object, number: int, conversation_id: str) -> ImportedTurn:
    """Return the turn of a message. `number` is its place, which enters its id if it has none. Raises Unusable."""
    if not isinstance(message, Mapping):
        raise Unusable('it is not an object; write {"role": …, "content": …}')
    role = _role(message)
    if role is None:
        raise Unusable(f"its role is {message.get('role')!r}; use user, assistant, tool or system")
    turn_id = id_of(message.get("id"), conversation_id, number, message.get("role"), message.get("content"))
    content = _content(message, role, turn_id)
    if message.get("type") == "reasoning":
        raise Empty("it is a model's reasoning, which was not said")
    if not content.text and not content.parts:
        kind = Empty if message.get("content", ...) in _EMPTY_CONTENTS else Unusable
        raise kind('it is empty: it has no text, tool call or result; write its text under "content"')
    if content.parts and not content.text and all(part["type"] == "tool_result" for part in content.parts):
        role = "tool"
    return ImportedTurn(turn_id, role, content.text, word(message.get("name")), _time(message), content.parts)


def is_message(value: object) -> bool:
    """Return whether the value is a single message or item, of a known role or not."""
    return isinstance(value, Mapping) and ("role" in value or word(value.get("type")) in _ITEM_ROLES)


def _role(message: Mapping[str, Any]) -> Role | None:
    return ROLES.get(word(message.get("role"))) or _ITEM_ROLES.get(word(message.get("type")))


def conversation(name: str, record: FileRecord, default_id: str) -> Iterator[Conversation | SkippedPiece]:
    """Yield the skipped pieces of a `{"messages": […]}` record, then its conversation."""
    value: Mapping[str, Any] = record.value
    thread_id = id_of(value.get("id") or value.get("thread_id") or value.get("conversation_id") or default_id)
    yield from gathered(name, thread_id, value.get("title") or value.get("name"), _turns(name, record, thread_id))


def _turns(name: str, record: FileRecord, thread_id: str) -> Iterator[ImportedTurn | SkippedPiece]:
    messages = record.value["messages"]
    if not isinstance(messages, list):
        yield SkippedPiece(
            name, record.position, '"messages" is not a list; write {"messages": [{"role": …, "content": …}]}'
        )
        return
    yield from listed(name, record.position, messages, lambda message, number: turn(message, number, thread_id))


def _content(message: Mapping[str, Any], role: Role, turn_id: str) -> MessageContent:
    if message.get("type") == "function_call":
        return content_of([message], turn_id)
    if message.get("type") == "function_call_output":
        return MessageContent("", (tool_result(str(message.get("call_id") or ""), plain_text(message.get("output"))),))
    if role == "tool":
        # Only the result of an old function call names its function instead of a call.
        name = message.get("name") if word(message.get("role")) == "function" else None
        call_id = message.get("tool_call_id") or (f"function:{name}" if name else "")
        return MessageContent("", (tool_result(str(call_id), plain_text(message.get("content"))),))
    content = content_of(message.get("content"), turn_id)
    return MessageContent(content.text or word(message.get("refusal")), (*content.parts, *_calls(message, turn_id)))


def _calls(message: Mapping[str, Any], turn_id: str) -> Iterator[dict[str, Any]]:
    calls = message.get("tool_calls")
    for number, call in enumerate(calls if isinstance(calls, list) else ()):
        if isinstance(call, Mapping):
            inner = call.get("function")
            function: Mapping[str, Any] = inner if isinstance(inner, Mapping) else call
            call_id = str(call.get("id") or f"{turn_id}:{number}")
            yield tool_call(call_id, function.get("name"), function.get("arguments"))
    legacy = message.get("function_call")
    if isinstance(legacy, Mapping):
        yield tool_call(f"function:{legacy.get('name') or turn_id}", legacy.get("name"), legacy.get("arguments"))


def _time(message: Mapping[str, Any]) -> Any:
    return next((time for key in _TIMES if (time := time_of(message.get(key)))), None)
