"""Bedrock's runtime API as its server sees it: Converse and Titan's InvokeModel, read and answered as the service model says."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from tests.stand_ins.model_script import Ask, Behaviour, Break, Cut, Decline, Garble, Refuse, Say, Throttle, Vectors
from tests.stand_ins.service_shapes import faults, operation

PATH = re.compile(r"/model/([^/]+)/(converse|invoke)")
SIGNED = re.compile(
    r"AWS4-HMAC-SHA256 Credential=[^/]+/\d{8}/[a-z0-9-]+/bedrock/aws4_request,"
    r" SignedHeaders=[a-z0-9;-]*host[a-z0-9;-]*, Signature=[0-9a-f]{64}"
)
_OPERATIONS = {"converse": "Converse", "invoke": "InvokeModel"}
_BROKEN = {500: "InternalServerException", 503: "ServiceUnavailableException", 424: "ModelErrorException"}
Answer = tuple[int, dict[str, str], bytes]


def read(model_id: str, action: str, body: bytes, headers: Mapping[str, str]) -> tuple[Ask, list[str]]:
    """Return what is asked, and what the service model has against it."""
    fields = json.loads(body)
    shape = operation(_OPERATIONS[action]).input_shape
    sent = {**fields, "modelId": model_id} if action == "converse" else {"body": body, "modelId": model_id}
    wrong = list(faults(sent, shape, "request"))
    if not SIGNED.fullmatch(headers.get("authorization", "")) or "x-amz-date" not in headers:
        wrong.append("request: not signed")
    if wrong:
        return Ask(action, model_id, body=fields, headers=dict(headers)), wrong
    asked = _converse if action == "converse" else _titan
    return asked(model_id, fields, headers), []


def write(behaviour: Behaviour, ask: Ask) -> tuple[Answer, list[str]]:
    """Return the response, and what the service model has against it."""
    match behaviour:
        case Throttle(retry_after):
            headers = {"retry-after": retry_after} if retry_after else {}
            return _error(429, "ThrottlingException", "Too many requests", headers), []
        case Break(status):
            return _error(status, _BROKEN.get(status, "InternalServerException"), "down"), []
        case Refuse(status, code, message):
            return _error(status, code, message), []
        case _ if ask.api == "titan":
            return _answer(_embedding(behaviour, ask)), []
        case _:
            response = _response(behaviour, ask)
            return _answer(response), list(faults(response, operation("Converse").output_shape, "response"))


def hashed_vector(text: str, dimensions: int) -> list[float]:
    """Return a vector that a text always has."""
    seed = hashlib.shake_256(text.encode()).digest(dimensions)
    return [byte / 255 - 0.5 for byte in seed]


def _converse(model_id: str, fields: Mapping[str, Any], headers: Mapping[str, str]) -> Ask:
    inference = fields.get("inferenceConfig", {})
    form, name, schema = _form(fields)
    return Ask(
        api="converse",
        model_id=model_id,
        system="".join(block.get("text", "") for block in fields.get("system", [])),
        user="".join(block.get("text", "") for one in fields.get("messages", []) for block in one["content"]),
        form=form,
        schema_name=name,
        schema=schema,
        max_output_tokens=inference.get("maxTokens", 0),
        temperature=inference.get("temperature"),
        body=fields,
        headers=dict(headers),
    )


def _form(fields: Mapping[str, Any]) -> tuple[str, str, Mapping[str, Any] | None]:
    if "outputConfig" in fields:
        shape = fields["outputConfig"]["textFormat"]["structure"]["jsonSchema"]
        return "json_schema", shape["name"], json.loads(shape["schema"])
    if "toolConfig" in fields:
        tool = fields["toolConfig"]["tools"][0]["toolSpec"]
        return "tool", tool["name"], tool["inputSchema"]["json"]
    return "text", "", None


def _titan(model_id: str, fields: Mapping[str, Any], headers: Mapping[str, str]) -> Ask:
    texts, dimensions = (fields["inputText"],), fields.get("dimensions", 1024)
    return Ask("titan", model_id, texts=texts, dimensions=dimensions, body=fields, headers=dict(headers))


def _embedding(behaviour: Behaviour, ask: Ask) -> dict[str, Any]:
    rows: Sequence[Sequence[float]] = behaviour.rows if isinstance(behaviour, Vectors) else ()
    vector = rows[0] if rows else hashed_vector(ask.texts[0], ask.dimensions)
    return {"embedding": vector, "inputTextTokenCount": len(ask.texts[0]) // 4}


def _response(behaviour: Behaviour, ask: Ask) -> dict[str, Any]:
    content, reason = _content(behaviour, ask)
    said = behaviour if isinstance(behaviour, Say) else Say("")
    prompt, output = (len(ask.system) + len(ask.user)) // 4 + 1, len(json.dumps(content)) // 4
    usage = {"inputTokens": prompt, "outputTokens": output, "totalTokens": prompt + output + said.cached_tokens}
    if said.cached_tokens:
        usage["cacheReadInputTokens"] = said.cached_tokens
    thoughts = [{"reasoningContent": {"reasoningText": {"text": said.thoughts}}}] if said.thoughts else []
    return {
        "output": {"message": {"role": "assistant", "content": [*thoughts, *content]}},
        "stopReason": reason,
        "usage": usage,
        "metrics": {"latencyMs": 1},
    }


def _content(behaviour: Behaviour, ask: Ask) -> tuple[list[dict[str, Any]], str]:
    match behaviour:
        case Say(value) if ask.form == "tool" and not isinstance(value, str):
            used = {"toolUseId": "tooluse_1", "name": ask.schema_name, "input": dict(value)}
            return [{"toolUse": used}], "tool_use"
        case Say(value):
            return [{"text": value if isinstance(value, str) else json.dumps(value)}], "end_turn"
        case Cut(text):
            return [{"text": text}], "max_tokens"
        case Decline(text):
            return [{"text": text}], "guardrail_intervened"
        case Garble(text):
            return [{"text": text}], "malformed_model_output"
        case other:
            raise TypeError(other)


def _answer(fields: Mapping[str, Any]) -> Answer:
    return 200, {"content-type": "application/json"}, json.dumps(fields).encode()


def _error(status: int, code: str, message: str, headers: Mapping[str, str] | None = None) -> Answer:
    kind = {"content-type": "application/json", "x-amzn-errortype": f"{code}:http://internal.amazon.com/"}
    return status, {**kind, **(headers or {})}, json.dumps({"message": message}).encode()
