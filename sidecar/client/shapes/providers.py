"""Converts a conversation to the request of a model provider. Pure functions.

Four shapes with their rules: Bedrock Converse, Anthropic Messages, OpenAI Chat Completions, OpenAI Responses.
"""

from __future__ import annotations

import json
from typing import Any

from sidecar.client.shapes.conversation import Conversation, ToolCall
from sidecar.client.shapes.stretches import Stretch, apart, opened_by_user, stretches, system_texts


def to_bedrock_converse(conversation: Conversation) -> dict[str, Any]:
    """Return `system` and `messages` for Bedrock Converse. Raises EmptyMessage."""
    system: list[dict[str, Any]] = []
    for text, is_cache_point in system_texts(conversation):
        system.append({"text": text})
        if is_cache_point:
            system.append(_cache_point())
    sent = apart(opened_by_user(stretches(conversation)))
    messages = [{"role": stretch.role, "content": _bedrock_content(stretch)} for stretch in sent]
    return _request(system, messages)


def _bedrock_content(stretch: Stretch) -> list[dict[str, Any]]:
    results = [
        {"toolResult": {"toolUseId": result.call_id, "content": [{"text": result.content}]}}
        for result in stretch.results
    ]
    calls = [
        {"toolUse": {"toolUseId": call.id, "name": call.name, "input": dict(call.arguments)}} for call in stretch.calls
    ]
    content: list[dict[str, Any]] = [*results, *({"text": text} for text in stretch.texts), *calls]
    return [*content[: stretch.cached], *[_cache_point()] * bool(stretch.cached), *content[stretch.cached :]]


def to_anthropic(conversation: Conversation) -> dict[str, Any]:
    """Return `system` and `messages` for Anthropic Messages. Raises EmptyMessage."""
    system: list[dict[str, Any]] = []
    for text, is_cache_point in system_texts(conversation):
        system.append({"type": "text", "text": text, **(_cache_control() if is_cache_point else {})})
    sent = opened_by_user(stretches(conversation))
    messages = [{"role": stretch.role, "content": _anthropic_content(stretch)} for stretch in sent]
    return _request(system, messages)


def _anthropic_content(stretch: Stretch) -> list[dict[str, Any]]:
    results = [
        {"type": "tool_result", "tool_use_id": result.call_id, "content": result.content} for result in stretch.results
    ]
    calls = [
        {"type": "tool_use", "id": call.id, "name": call.name, "input": dict(call.arguments)} for call in stretch.calls
    ]
    content: list[dict[str, Any]] = [*results, *({"type": "text", "text": text} for text in stretch.texts), *calls]
    if stretch.cached:
        content[stretch.cached - 1] |= _cache_control()
    return content


def to_openai(conversation: Conversation) -> dict[str, Any]:
    """Return `messages` for OpenAI Chat Completions and compatible APIs.

    Some of these accept only one text as content, and some models' templates refuse two messages of one role in a row, such as
    those of a user whose first message got no answer. They cache prefixes of requests automatically. Raises EmptyMessage.
    """
    system = "\n\n".join(text for text, _ in system_texts(conversation))
    messages: list[dict[str, Any]] = [{"role": "system", "content": system}] if system else []
    for stretch in stretches(conversation, is_one_text=True):
        messages += [
            {"role": "tool", "tool_call_id": result.call_id, "content": result.content} for result in stretch.results
        ]
        text = "\n\n".join(stretch.texts) or None
        if stretch.calls:
            calls = [_openai_call(call) for call in stretch.calls]
            messages.append({"role": "assistant", "content": text, "tool_calls": calls})
        elif text:
            messages.append({"role": stretch.role, "content": text})
    return {"messages": messages}


def to_openai_responses(conversation: Conversation) -> dict[str, Any]:
    """Return `input`, and `instructions` if there are any, for OpenAI Responses. Raises EmptyMessage.

    Calls have no item ids, which the service would look up; they refer to their results by `call_id`. It caches prefixes of
    requests automatically.
    """
    instructions = "\n\n".join(text for text, _ in system_texts(conversation))
    items: list[dict[str, Any]] = []
    for stretch in stretches(conversation, is_one_text=True):
        items += [
            {"type": "function_call_output", "call_id": result.call_id, "output": result.content}
            for result in stretch.results
        ]
        if stretch.texts:
            items.append({"role": stretch.role, "content": "\n\n".join(stretch.texts)})
        items += [
            {"type": "function_call", "call_id": call.id, "name": call.name, "arguments": _json(call)}
            for call in stretch.calls
        ]
    return {"instructions": instructions, "input": items} if instructions else {"input": items}


def _openai_call(call: ToolCall) -> dict[str, Any]:
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": _json(call)}}


def _json(call: ToolCall) -> str:
    return json.dumps(dict(call.arguments), ensure_ascii=False)


def _cache_point() -> dict[str, Any]:
    """Return a new cache point: the caller may change it, such as its time to live."""
    return {"cachePoint": {"type": "default"}}


def _cache_control() -> dict[str, Any]:
    return {"cache_control": {"type": "ephemeral"}}


def _request(system: list[dict[str, Any]], messages: list[dict[str, Any]]) -> dict[str, Any]:
    return {"system": system, "messages": messages} if system else {"messages": messages}
