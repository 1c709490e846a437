"""Converts a message's content from providers' formats to its text, and its tool calls and results as they are stored.

Pure. A model's private reasoning is left out, since it was not said. A picture or file is replaced by a short mark.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from sidecar.ingest.exports.conversation import word
from sidecar.ingest.exports.records import safe

_TEXTS = frozenset({"text", "input_text", "output_text", "summary_text"})
_PRIVATE = frozenset({"thinking", "redacted_thinking", "reasoning", "thoughts", "reasoning_recap", "cache_point"})
_CALLS = frozenset({"tool_use", "server_tool_use", "mcp_tool_use", "function_call"})
_PICTURES = frozenset({"image", "image_url", "input_image", "image_file", "image_asset_pointer"})
_CITED = "citations"  # a text in pieces, each with its sources
_CONVERSE = {
    "toolUse": "tool_use", "toolResult": "tool_result", "reasoningContent": "reasoning", "cachePoint": "cache_point",
    "image": "image", "document": "document", "video": "video", "audio": "audio", "guardContent": "guard_content",
    "citationsContent": _CITED, "searchResult": "search_result",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class MessageContent:
    """A message's text and its tool parts."""

    text: str
    parts: tuple[dict[str, Any], ...] = ()


def tool_call(call_id: str, name: object, arguments: object) -> dict[str, Any]:
    """Return a tool call. Arguments that are not a JSON object are kept whole under "input"."""
    return {"type": "tool_call", "id": call_id, "name": str(name or "tool"), "arguments": _arguments(arguments)}


def tool_result(call_id: str, content: str) -> dict[str, Any]:
    """Return a tool's result."""
    return {"type": "tool_result", "id": call_id, "content": content}


def content_of(content: object, message_id: str) -> MessageContent:
    """Return the text and tool parts of a content: a text, None, or a list of blocks as OpenAI, Anthropic, Bedrock and ChatGPT
    write it.

    A call without an id gets an id made from the message's. A result without an id answers the last call before it.
    """
    texts: list[str] = []
    parts: list[dict[str, Any]] = []
    for number, block in enumerate(map(_typed, content if isinstance(content, list) else [content])):
        kind = word(block.get("type")) if isinstance(block, Mapping) else ""
        if kind in _CALLS:
            call_id = str(_id_of(block, "call_id", "id", "toolUseId") or f"{message_id}:{number}")
            parts.append(tool_call(call_id, block.get("name"), block.get("input", block.get("arguments"))))
        elif kind.endswith("tool_result"):
            last = next((part["id"] for part in reversed(parts) if part["type"] == "tool_call"), message_id)
            call_id = str(_id_of(block, "tool_use_id", "toolUseId") or last)
            parts.append(tool_result(call_id, plain_text(block.get("content"))))
        else:
            texts.extend(_texts(block))
    return MessageContent("\n\n".join(filter(None, (text.strip() for text in texts))), tuple(parts))


def _typed(block: object) -> Any:
    """Return a block of Bedrock Converse, whose only key is its type, as the others write it; other blocks as they are."""
    if not isinstance(block, Mapping) or "type" in block:
        return block
    found = (key for key in block if key in _CONVERSE and isinstance(block[key], Mapping))
    return next(({**block[key], "type": _CONVERSE[key]} for key in found), block)


def _id_of(block: Mapping[str, Any], *keys: str) -> object:
    return next(filter(None, map(block.get, keys)), None)


def plain_text(content: object) -> str:
    """Return the content's text, or the content as JSON if it has no text."""
    if content is None or isinstance(content, str):
        return content or ""
    text = "\n".join(text for block in (content if isinstance(content, list) else [content]) for text in _texts(block))
    return text or json.dumps(content, ensure_ascii=False)


def _texts(block: object) -> Iterator[str]:
    block = _typed(block)
    if isinstance(block, str):
        yield block
    elif isinstance(block, Mapping) and block.get("type") == _CITED and isinstance(block.get("content"), list):
        yield "".join(text for piece in block["content"] for text in _texts(piece))
    elif isinstance(block, Mapping):
        yield from _block_texts(block)


def _block_texts(block: Mapping[str, Any]) -> Iterator[str]:
    kind = word(block.get("type")) or word(block.get("content_type"))
    text = block.get("text", block.get("refusal"))
    if isinstance(text, Mapping):
        text = text.get("value", text.get("text"))
    if kind in _PRIVATE:
        return
    if kind in _PICTURES:
        yield "[image]"
    elif isinstance(text, str):
        yield text
    elif not kind and "json" in block:
        yield json.dumps(block["json"], ensure_ascii=False)
    elif kind and kind not in _TEXTS:
        name = word(block.get("filename") or block.get("name") or block.get("title"))
        yield f"[{kind}: {name}]" if name else f"[{kind}]"


def _arguments(value: object) -> dict[str, Any]:
    if isinstance(value, str) and value.strip():
        try:
            parsed = safe(json.loads(value))
        except (ValueError, RecursionError):
            parsed = value
        return parsed if isinstance(parsed, dict) else {"input": value}
    if isinstance(value, dict):
        return value
    return {} if value is None or value == "" else {"input": value}
