"""Language models behind any server with OpenAI's chat completions: vLLM, Ollama, gateways.

This module holds only the format: it maps a question to a request, and a response to a reply. The parts that a server supports
are found by trying; see `models/language/request_mode.py`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from models.errors import ModelUnavailable
from models.language.language import AnswerSchema, TokenUsage, counted
from models.language.remote import RemoteModel, Reply, StopReason, ending_of
from models.language.request_mode import JsonMeans, ModelRequest, RequestMode
from models.language.structured import kept_text
from models.tokens.catalog import CATALOG, Catalog
from models.transport.openai_client import OpenAIClient, OpenAIConfig
from models.transport.provider import RetryPolicy


def openai_model(
    config: OpenAIConfig, *, catalog: Catalog = CATALOG, patience: RetryPolicy | None = None
) -> RemoteModel:
    """Return a LanguageModel at a server, to be used in one event loop and closed. Raises InvalidRequest."""
    return RemoteModel(ChatWire(OpenAIClient(config)), catalog=catalog, patience=patience)


class ChatWire:
    """The chat completions format."""

    name = "openai-compatible"

    def __init__(self, client: OpenAIClient) -> None:
        self._client = client

    async def ask(self, question: ModelRequest, timeout_s: float) -> Reply:
        """Return the reply to one question, sent once. Raises a ProviderError. The caller enforces the deadline."""
        response = await self._client.post("chat/completions", chat_payload(question))
        return chat_reply(response, wants_object=question.request.schema is not None)

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()


def chat_payload(question: ModelRequest) -> dict[str, Any]:
    """Return the request's body for a question."""
    request, mode, schema = question.request, question.mode, question.schema
    messages = [("system", question.system), ("user", request.user)]
    payload: dict[str, Any] = {
        "model": request.model_id,
        "messages": [{"role": role, "content": kept_text(text)} for role, text in messages if text],
        "max_completion_tokens" if mode.has_new_cap else "max_tokens": question.max_output_tokens,
    }
    if mode.has_temperature:
        payload["temperature"] = request.temperature
    if schema is None:
        return payload
    return payload | (_as_tool(schema) if mode.form is JsonMeans.TOOL else _as_format(schema, mode))


def chat_reply(response: Mapping[str, Any], *, wants_object: bool) -> Reply:
    """Return the reply in a response. Raises ModelUnavailable for a response without a message."""
    try:
        choice = response["choices"][0]
        message: Mapping[str, Any] = choice["message"]
        text = _text(message, wants_object=wants_object)
    except (KeyError, IndexError, TypeError, AttributeError, RecursionError) as error:
        raise ModelUnavailable("200 without a message") from error
    reason = str(choice.get("finish_reason") or "")
    ending = StopReason.REFUSED if message.get("refusal") else ending_of(reason)
    return Reply(text, reason, ending, _usage(response.get("usage")))


def _as_tool(schema: AnswerSchema) -> dict[str, Any]:
    tool = {"name": schema.name, "description": "Gives the answer.", "parameters": schema.schema}
    choice = {"type": "function", "function": {"name": schema.name}}
    return {"tools": [{"type": "function", "function": tool}], "tool_choice": choice}


def _as_format(schema: AnswerSchema, mode: RequestMode) -> dict[str, Any]:
    shape = {"name": schema.name, "schema": schema.schema, "strict": mode.is_strict}
    return {"response_format": {"type": "json_schema", "json_schema": shape}}


def _text(message: Mapping[str, Any], *, wants_object: bool) -> str:
    """Return the tool's input if an object is wanted and the model used the tool, otherwise the text."""
    for tool_call in (message.get("tool_calls") or []) if wants_object else []:
        arguments = tool_call["function"]["arguments"]
        return arguments if isinstance(arguments, str) else json.dumps(arguments)
    content = message.get("content") or message.get("refusal") or ""
    if isinstance(content, str):
        return content
    parts = (part.get("text") for part in content)
    return "".join(part for part in parts if isinstance(part, str))


def _usage(usage: object) -> TokenUsage | None:
    """Return the server's token counts; None unless it counted both input and output."""
    if not isinstance(usage, Mapping):
        return None
    details = usage.get("prompt_tokens_details")
    cached = details.get("cached_tokens") if isinstance(details, Mapping) else 0
    return counted(usage.get("prompt_tokens"), usage.get("completion_tokens"), cached)
