"""Language models on Amazon Bedrock, by the Converse API.

This module holds only the format: it maps a question to Converse's request, and the response to a reply. Every Bedrock model uses
this format, but not every model accepts all of its fields; see `models/language/request_mode.py`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from models.errors import ModelUnavailable
from models.language.language import AnswerSchema, TokenUsage
from models.language.remote import RemoteModel, Reply, StopReason
from models.language.request_mode import JsonMeans, ModelRequest
from models.language.structured import kept_text
from models.tokens.catalog import CATALOG, Catalog
from models.transport.bedrock_runtime import BedrockConfig, BedrockRuntime
from models.transport.provider import RetryPolicy

_ENDINGS: Final = {
    "max_tokens": StopReason.CUT,
    "model_context_window_exceeded": StopReason.CUT,
    "guardrail_intervened": StopReason.REFUSED,
    "content_filtered": StopReason.REFUSED,
    "malformed_model_output": StopReason.MALFORMED,
    "malformed_tool_use": StopReason.MALFORMED,
}


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
        return converse_reply(await self._runtime.call("converse", converse_parameters(question)))

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


def converse_reply(response: Mapping[str, Any]) -> Reply:
    """Return the reply in a Converse response. Raises ModelUnavailable for a response without a message."""
    content = response.get("output", {}).get("message", {}).get("content")
    if content is None:
        raise ModelUnavailable("200 without a message")
    reason = str(response.get("stopReason", ""))
    return Reply(_text(content), reason, _ENDINGS.get(reason, StopReason.WHOLE), _usage(response.get("usage")))


def _as_tool(schema: AnswerSchema) -> dict[str, Any]:
    # The SDK accepts only plain dicts as objects, at every level.
    shape = json.loads(json.dumps(schema.schema, default=dict))
    tool = {"name": schema.name, "description": "Gives the answer.", "inputSchema": {"json": shape}}
    return {"toolConfig": {"tools": [{"toolSpec": tool}], "toolChoice": {"tool": {"name": schema.name}}}}


def _as_output(schema: AnswerSchema) -> dict[str, Any]:
    shape = {"name": schema.name, "schema": json.dumps(schema.schema, default=dict)}
    return {"outputConfig": {"textFormat": {"type": "json_schema", "structure": {"jsonSchema": shape}}}}


def _text(content: list[dict[str, Any]]) -> str:
    """Return the tool's input if the model used the tool, otherwise the text. Reasoning is not part of the answer."""
    for block in content:
        if "toolUse" in block:
            return json.dumps(block["toolUse"].get("input", {}))
    return "".join(block.get("text", "") for block in content)


def _usage(usage: Mapping[str, int] | None) -> TokenUsage | None:
    if not usage:
        return None
    output = usage.get("outputTokens", 0)
    # For most models inputTokens excludes cached tokens; the total never does.
    prompt = max(usage.get("inputTokens", 0), usage.get("totalTokens", 0) - output)
    return TokenUsage(prompt, output, usage.get("cacheReadInputTokens", 0), usage.get("cacheWriteInputTokens", 0))
