"""OpenAI's API as its server sees it: chat completions and embeddings."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from tests.stand_ins.bedrock_format import Answer, hashed_vector
from tests.stand_ins.model_script import Ask, Behaviour, Break, Cut, Decline, Garble, Refuse, Say, Throttle, Vectors

_CHAT_FIELDS = {
    "model",
    "messages",
    "temperature",
    "max_tokens",
    "max_completion_tokens",
    "response_format",
    "tools",
    "tool_choice",
}
# The names that this API has for what Bedrock calls otherwise.
_CODES = {
    "AccessDeniedException": "model_not_allowed",
    "ExpiredTokenException": "invalid_api_key",
    "ValidationException": "invalid_request_error",
    "ResourceNotFoundException": "model_not_found",
}


def read(action: str, body: bytes, headers: Mapping[str, str]) -> tuple[Ask, list[str]]:
    """Return what is asked, and what the API has against it."""
    fields = json.loads(body)
    return _chat(fields, headers) if action == "chat/completions" else _embeddings(fields, headers)


def write(behaviour: Behaviour, ask: Ask) -> Answer:
    """Return the response."""
    match behaviour:
        case Throttle(retry_after):
            headers = {"retry-after": retry_after} if retry_after else {}
            return _error(429, "rate_limit_exceeded", "Rate limit reached", headers)
        case Break(status):
            return _error(status, "server_error", "down")
        case Refuse(status, code, message):
            return _error(401 if code == "ExpiredTokenException" else status, _CODES.get(code, code), message)
        case _ if ask.api == "embeddings":
            return _answer(_vectors(behaviour, ask))
        case _:
            return _answer(_completion(behaviour, ask))


def _chat(fields: Mapping[str, Any], headers: Mapping[str, str]) -> tuple[Ask, list[str]]:
    wrong = [f"{name}: unknown" for name in fields.keys() - _CHAT_FIELDS]
    wrong += [f"{name}: required" for name in ("model", "messages") if name not in fields]
    said = {message["role"]: message["content"] for message in fields.get("messages", [])}
    form, name, schema = _form(fields)
    ask = Ask(
        api="chat",
        model_id=fields.get("model", ""),
        system=said.get("system", ""),
        user=said.get("user", ""),
        form=form,
        schema_name=name,
        schema=schema,
        max_output_tokens=fields.get("max_tokens", 0) or fields.get("max_completion_tokens", 0),
        temperature=fields.get("temperature"),
        body=fields,
        headers=dict(headers),
    )
    return ask, wrong


def _form(fields: Mapping[str, Any]) -> tuple[str, str, Mapping[str, Any] | None]:
    if "response_format" in fields:
        shape = fields["response_format"]["json_schema"]
        return "json_schema", shape["name"], shape["schema"]
    if "tools" in fields:
        tool = fields["tools"][0]["function"]
        return "tool", tool["name"], tool["parameters"]
    return "text", "", None


def _embeddings(fields: Mapping[str, Any], headers: Mapping[str, str]) -> tuple[Ask, list[str]]:
    texts, dimensions = tuple(fields["input"]), fields.get("dimensions", 8)
    wrong = ["input: a text is empty" for text in texts if not text]
    return Ask("embeddings", fields["model"], texts=texts, dimensions=dimensions, body=fields, headers=headers), wrong


def _vectors(behaviour: Behaviour, ask: Ask) -> dict[str, Any]:
    made: Sequence[Sequence[float]] = [hashed_vector(text, ask.dimensions) for text in ask.texts]
    rows = behaviour.rows if isinstance(behaviour, Vectors) else made
    data = [{"object": "embedding", "index": index, "embedding": row} for index, row in enumerate(rows)]
    # The API promises no order; the index says which is which.
    return {
        "object": "list",
        "model": ask.model_id,
        "data": data[::-1],
        "usage": {"prompt_tokens": 1, "total_tokens": 1},
    }


def _completion(behaviour: Behaviour, ask: Ask) -> dict[str, Any]:
    message, reason = _message(behaviour, ask)
    response: dict[str, Any] = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 0,
        "model": ask.model_id,
        "choices": [{"index": 0, "message": {"role": "assistant", **message}, "finish_reason": reason}],
    }
    said = behaviour if isinstance(behaviour, Say) else Say("")
    if said.thoughts:
        message["reasoning_content"] = said.thoughts
    if said.has_usage:
        prompt, output = (len(ask.system) + len(ask.user)) // 4 + 1 + said.cached_tokens, len(json.dumps(message)) // 4
        details = {"cached_tokens": said.cached_tokens}
        counted = {"prompt_tokens": prompt, "completion_tokens": output, "total_tokens": prompt + output}
        response["usage"] = {**counted, "prompt_tokens_details": details}
    return response


def _message(behaviour: Behaviour, ask: Ask) -> tuple[dict[str, Any], str]:
    match behaviour:
        case Say(value) if ask.form == "tool" and not isinstance(value, str):
            called = {"name": ask.schema_name, "arguments": json.dumps(value)}
            return {
                "content": None,
                "tool_calls": [{"id": "call_1", "type": "function", "function": called}],
            }, "tool_calls"
        case Say(value):
            return {"content": value if isinstance(value, str) else json.dumps(value)}, "stop"
        case Cut(text):
            return {"content": text}, "length"
        case Decline(text):
            return {"content": None, "refusal": text}, "stop"
        case Garble(text):
            return {"content": text}, "stop"
        case other:
            raise TypeError(other)


def _answer(fields: Mapping[str, Any]) -> Answer:
    return 200, {"content-type": "application/json"}, json.dumps(fields).encode()


def _error(status: int, code: str, message: str, headers: Mapping[str, str] | None = None) -> Answer:
    error = {"message": message, "type": code, "param": None, "code": code}
    return status, {"content-type": "application/json", **(headers or {})}, json.dumps({"error": error}).encode()
