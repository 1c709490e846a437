"""Converts the conversations of a ChatGPT export to turns: the branch that was last shown, from its root to its current node.

Hidden messages, empty messages and a model's private reasoning are skipped.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from sidecar.ingest.exports.conversation import (
    Conversation,
    ImportedTurn,
    Role,
    SkippedPiece,
    gathered,
    id_of,
    time_of,
    word,
)
from sidecar.ingest.exports.message_parts import MessageContent, content_of, tool_call, tool_result
from sidecar.ingest.exports.records import FileRecord

_ROLES: Mapping[str, Role] = {"user": "user", "assistant": "assistant", "tool": "tool", "system": "system"}
_HIDDEN_TYPES = frozenset({"thoughts", "reasoning_recap", "user_editable_context", "model_editable_context"})
_EVERYONE = frozenset({"", "all"})

_Node = Mapping[str, Any]


def conversation(name: str, record: FileRecord) -> Iterator[Conversation | SkippedPiece]:
    """Yield the skipped pieces of a record with a `mapping`, then its conversation."""
    value: Mapping[str, Any] = record.value
    given_id = value.get("conversation_id") or value.get("id")
    conversation_id = id_of(given_id, value.get("title"), value.get("create_time"))
    nodes = value["mapping"]
    if not isinstance(nodes, dict):
        yield SkippedPiece(name, record.position, '"mapping" is not an object; export the conversations again')
        return
    path = _path({key: node for key, node in nodes.items() if isinstance(node, dict)}, value.get("current_node"))
    yield from gathered(name, conversation_id, value.get("title"), _turns(name, record, path))


def _path(nodes: Mapping[str, _Node], leaf: object) -> list[tuple[str, _Node]]:
    """Return the nodes from the root down to the leaf, or to the newest message if the leaf is unknown."""
    at = leaf if isinstance(leaf, str) and leaf in nodes else _newest(nodes)
    path: list[tuple[str, _Node]] = []
    seen: set[str] = set()
    while isinstance(at, str) and at in nodes and at not in seen:
        seen.add(at)
        path.append((at, nodes[at]))
        at = nodes[at].get("parent")
    return path[::-1]


def _newest(nodes: Mapping[str, _Node]) -> str | None:
    def created(key: str) -> float:
        time = time_of(_message(nodes[key]).get("create_time"))
        return time.timestamp() if time else 0.0

    return max(nodes, key=created, default=None)


def _message(node: _Node) -> Mapping[str, Any]:
    message = node.get("message")
    return message if isinstance(message, dict) else {}


def _turns(name: str, record: FileRecord, path: list[tuple[str, _Node]]) -> Iterator[ImportedTurn | SkippedPiece]:
    calls: dict[str, str] = {}
    for key, node in path:
        message = _message(node)
        author = message.get("author")
        if not isinstance(author, dict) or _is_hidden(message):
            continue
        role = _ROLES.get(word(author.get("role")))
        if role is None:
            problem = f"its author's role {author.get('role')!r} is unknown"
            yield SkippedPiece(name, f"{record.position}, node {key}", problem)
            continue
        turn_id = id_of(message.get("id") or key)
        content = _content(message, role, turn_id, calls)
        if content.text or content.parts:
            time = time_of(message.get("create_time"))
            yield ImportedTurn(turn_id, role, content.text, word(author.get("name")), time, content.parts)


def _is_hidden(message: Mapping[str, Any]) -> bool:
    metadata = message.get("metadata")
    is_marked = isinstance(metadata, dict) and metadata.get("is_visually_hidden_from_conversation") is True
    return is_marked or message.get("weight") == 0 or word(_raw_content(message).get("content_type")) in _HIDDEN_TYPES


def _raw_content(message: Mapping[str, Any]) -> Mapping[str, Any]:
    content = message.get("content")
    return content if isinstance(content, dict) else {}


def _content(message: Mapping[str, Any], role: Role, turn_id: str, calls: dict[str, str]) -> MessageContent:
    """Return the message's content. `calls` maps each tool to its last call, which the tool's next answer belongs to."""
    text = _text(message, turn_id)
    recipient = word(message.get("recipient"))
    if role == "assistant" and recipient not in _EVERYONE:
        calls[_tool(recipient)] = turn_id
        return MessageContent("", (tool_call(turn_id, recipient, text),))
    if role == "tool":
        author: Mapping[str, Any] = message["author"]
        call_id = calls.get(_tool(word(author.get("name"))))
        return MessageContent("", (tool_result(call_id, text),)) if call_id else MessageContent(text)
    return MessageContent(text)


def _tool(name: str) -> str:
    return name.partition(".")[0]  # a call to browser.search is answered by browser


def _text(message: Mapping[str, Any], turn_id: str) -> str:
    content = _raw_content(message)
    parts = content.get("parts")
    if isinstance(parts, list):
        return content_of(parts, turn_id).text
    return (word(content.get("text")) or word(content.get("result"))).strip()
