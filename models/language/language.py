"""Requests to language models and their answers, the same for every provider.

This module holds values and a protocol, without I/O. The adapters are `models/language/bedrock.py` and
`models/language/openai_compatible.py`; a model's failures are the ProviderError branch of `models/errors.py`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Final, Protocol

DEFAULT_MODEL_ID: Final = "openai.gpt-oss-120b-1:0"

# More than any model reads or writes in a call; a larger count is an error of the server, and would be a day's budget.
_MOST_TOKENS: Final = 100_000_000


@dataclass(frozen=True, slots=True)
class AnswerSchema:
    """The shape of an answer: a name (letters, digits, `_` and `-`, 64 at most) and a JSON schema whose root is an object.

    The schema may use only the keywords that `models/language/schema.py` checks. A provider's strict output needs every
    property required and additionalProperties false. If `accepted` is given, an answer that fits only that is also accepted,
    unchanged; its reader then decides item by item.
    """

    name: str
    schema: Mapping[str, object]
    accepted: Mapping[str, object] | None = None


@dataclass(frozen=True, slots=True)
class ConverseRequest:
    """A question to a model, to be answered within `deadline_s` seconds, including retries and fallbacks.

    `prompt_version` names the wording of `system` and `user`; it is not sent, but is part of the answer's key.
    `max_output_tokens` is reduced to the model's maximum.
    """

    model_id: str
    system: str
    user: str
    max_output_tokens: int
    deadline_s: float
    schema: AnswerSchema | None = None
    temperature: float = 0.0
    prompt_version: str = ""


@dataclass(frozen=True, slots=True)
class TokenUsage:
    """The tokens of one call. `input_tokens` includes cached ones. Estimated if the provider did not count."""

    input_tokens: int
    output_tokens: int
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    is_estimated: bool = False


def counted(prompt: object, output: object, cache_read: object = 0, cache_write: object = 0) -> TokenUsage | None:
    """Return a server's token counts; None unless it counted both prompt and output, with credible numbers.

    `prompt` includes cached tokens; a count of cached tokens that is not credible is taken as 0.
    """
    prompt_tokens, output_tokens = _tokens(prompt), _tokens(output)
    if not prompt_tokens or output_tokens is None:
        return None
    read = min(_tokens(cache_read) or 0, prompt_tokens)
    return TokenUsage(prompt_tokens, output_tokens, read, min(_tokens(cache_write) or 0, prompt_tokens - read))


def _tokens(count: object) -> int | None:
    is_count = isinstance(count, int) and not isinstance(count, bool) and 0 <= count <= _MOST_TOKENS
    return count if is_count else None  # type: ignore[return-value]  # is_count says that it is an int


@dataclass(frozen=True, slots=True)
class ConverseAnswer:
    """A model's answer. `parsed` is the object requested by a schema and checked against it; None without a schema.

    `cost_usd` is None if the price is unknown. `attempts` counts all requests sent, including refused and repeated ones; the
    cost is that of the answered one, because refusals are free.
    """

    model_id: str
    text: str
    stop_reason: str
    usage: TokenUsage
    parsed: Mapping[str, object] | None = None
    cost_usd: float | None = None
    attempts: int = 1
    # How the answer was requested (json_schema, tool or text), for metrics.
    form: str = field(default="text", compare=False)

    @property
    def input_tokens(self) -> int:
        """The prompt's tokens, including cached ones."""
        return self.usage.input_tokens

    @property
    def output_tokens(self) -> int:
        """The answer's tokens, including hidden reasoning."""
        return self.usage.output_tokens

    @property
    def cached_tokens(self) -> int:
        """The prompt's tokens that the provider read from its cache."""
        return self.usage.cache_read_tokens


class LanguageModel(Protocol):
    """A language model. The embedded default has none and uses the extractive planner."""

    async def converse(self, request: ConverseRequest) -> ConverseAnswer:
        """Return a complete answer in the requested shape. Raises a ProviderError."""


def answer_key(request: ConverseRequest) -> bytes:
    """Return the key of an answer: a 32-byte hash of model, prompt version, system, input and schema.

    Output cap, deadline and temperature are left out, since only complete answers are cached, which are valid for any of them.
    """
    shape = None if request.schema is None else [request.schema.name, request.schema.schema]
    parts = [request.model_id, request.prompt_version, request.system, request.user, shape]
    return hashlib.sha256(json.dumps(parts, separators=(",", ":"), default=dict).encode()).digest()


def answer_bytes(answer: ConverseAnswer) -> bytes:
    """Return an answer as JSON, for the cache, which stores it under `answer_key`."""
    return json.dumps(asdict(answer)).encode()


def answer_from(content: bytes) -> ConverseAnswer:
    """Return the answer that `answer_bytes` wrote."""
    fields = json.loads(content)
    return ConverseAnswer(**fields | {"usage": TokenUsage(**fields["usage"])})
