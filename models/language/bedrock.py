"""Language models on Amazon Bedrock, by the Converse API.

This module holds only the format: it maps a question to Converse's request, and the response to a reply. Every Bedrock model uses
this format, but not every model accepts all of its fields; see `models/language/request_mode.py`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from models.errors import ModelUnavailable
from models.language.language import AnswerSchema, TokenUsage, counted
from models.language.remote import RemoteModel, Reply, StopReason, ending_of
from models.language.request_mode import JsonMeans, ModelRequest
from models.language.structured import kept_text
from models.tokens.catalog import CATALOG, Catalog
from models.transport.bedrock_runtime import BedrockConfig, BedrockRuntime
from models.transport.provider import RetryPolicy


def bedrock_model(
    config: BedrockConfig, *, catalog: Catalog = CATALOG, patience: RetryPolicy | None = None
) -> RemoteModel:
    """Return a LanguageModel on Bedrock, to be used in one event loop and closed. Raises InvalidRequest."""
    return RemoteModel(BedrockWire(BedrockRuntime(config)), catalog=catalog, patience=patience)


class BedrockWire:
    """The Converse format."""

    name = "bedrock"

    def __init__(self, runtime: BedrockRuntime) -> None:
        self._runtime = runtime

    async def ask(self, question: ModelRequest, timeout_s: float) -> Reply:
        """Return the reply to one question, sent once. Raises a ProviderError.

        The caller enforces the deadline, since the SDK has a timeout per client but none per call.
        """
        response = await self._runtime.call("converse", converse_parameters(question))
        return converse_reply(response, wants_object=question.request.schema is not None)

    async def close(self) -> None:
        """Release the connections."""
        await self._runtime.close()


def converse_parameters(question: ModelRequest) -> dict[str, Any]:
    """Return the parameters of Converse for a question."""
    request, schema = question.request, question.schema
    inference: dict[str, Any] = {"maxTokens": question.max_output_tokens}
    if question.mode.has_temperature:
        inference["temperature"] = request.temperature
    parameters: dict[str, Any] = {
        "modelId": request.model_id,
        "messages": [{"role": "user", "content": [{"text": kept_text(request.user)}]}],
        "inferenceConfig": inference,
    }
    if question.system:
        parameters["system"] = [{"text": kept_text(question.system)}]
    if schema is None:
        return parameters
    return parameters | (_as_tool(schema) if question.mode.form is JsonMeans.TOOL else _as_output(schema))


def converse_reply(response: Mapping[str, Any], *, wants_object: bool) -> Reply:
    """Return the reply in a Converse response. Raises ModelUnavailable for a response without a message."""
    content = response.get("output", {}).get("message", {}).get("content")
    if content is None:
        raise ModelUnavailable("200 without a message")
    reason = str(response.get("stopReason", ""))
    try:
        text, ending = _text(content, wants_object=wants_object), ending_of(reason)
    except RecursionError:
        text, ending = "", StopReason.MALFORMED
    return Reply(text, reason, ending, _usage(response.get("usage")))


def _as_tool(schema: AnswerSchema) -> dict[str, Any]:
    # The SDK accepts only plain dicts as objects, at every level.
    shape = json.loads(json.dumps(schema.schema, default=dict))
    tool = {"name": schema.name, "description": "Gives the answer.", "inputSchema": {"json": shape}}
    return {"toolConfig": {"tools": [{"toolSpec": tool}], "toolChoice": {"tool": {"name": schema.name}}}}


def _as_output(schema: AnswerSchema) -> dict[str, Any]:
    shape = {"name": schema.name, "schema": json.dumps(schema.schema, default=dict)}
    return {"outputConfig": {"textFormat": {"type": "json_schema", "structure": {"jsonSchema": shape}}}}


def _text(content: list[dict[str, Any]], *, wants_object: bool) -> str:
    """Return the tool's input if an object is wanted and the model used the tool, otherwise the text without reasoning."""
    for block in content:
        if wants_object and "toolUse" in block:
            used = block["toolUse"].get("input", {})
            return used if isinstance(used, str) else json.dumps(used)
    return "".join(text for block in content if isinstance(text := block.get("text"), str))


def _usage(usage: Mapping[str, object] | None) -> TokenUsage | None:
    if not usage:
        return None
    prompt, output, total = (usage.get(name) for name in ("inputTokens", "outputTokens", "totalTokens"))
    if isinstance(prompt, int) and isinstance(output, int) and isinstance(total, int):
        # For most models inputTokens excludes cached tokens; the total never does.
        prompt = max(prompt, total - output)
    return counted(prompt, output, usage.get("cacheReadInputTokens"), usage.get("cacheWriteInputTokens"))
