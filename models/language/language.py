"""What is asked of a language model and what comes back, the same for every provider.

Values and one protocol; nothing here calls anybody. The adapters are `models/language/bedrock.py` and
`models/language/openai_compatible.py`; a model's failures are the ProviderError branch of `models/errors.py`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Protocol

DEFAULT_MODEL_ID: Final = "openai.gpt-oss-120b-1:0"


@dataclass(frozen=True, slots=True)
class AnswerSchema:
    """The shape asked for: a name (letters, digits, `_` and `-`, 64 at most) and a JSON schema whose root is an object.

    It may use the keywords that `models/language/schema.py` checks, and no others. A provider's strict output wants
    every property
    required and additionalProperties false. An answer that fits `accepted`, where it is given, is taken too, as it is: its reader
    decides item by item.
    """

    name: str
    schema: Mapping[str, object]
    accepted: Mapping[str, object] | None = None


@dataclass(frozen=True, slots=True)
class ConverseRequest:
    """One question to a model, answered within `deadline_s` seconds, retries and fallbacks included.

    `prompt_version` names the wording that made `system` and `user`; it is no part of what is sent, but of the answer's key.
    `max_output_tokens` is cut to what the model allows.
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
    """The tokens of one answer. `input_tokens` holds the cached ones too. Estimated where the provider did not count."""

    input_tokens: int
    output_tokens: int
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    is_estimated: bool = False


@dataclass(frozen=True, slots=True)
class ConverseAnswer:
    """What a model answered. `parsed` is the object asked for by a schema, checked against it; None without a schema.

    `cost_usd` is None where the price is not known. `attempts` counts requests sent, refused and repeated ones too; the cost
    is of the answered one alone, since refusals are free.
    """

    model_id: str
    text: str
    stop_reason: str
    usage: TokenUsage
    parsed: Mapping[str, object] | None = None
    cost_usd: float | None = None
    attempts: int = 1
    # How the answer was had (json_schema, tool or text), for counters.
    form: str = field(default="text", compare=False)

    @property
    def input_tokens(self) -> int:
        """The prompt's tokens, cached ones included."""
        return self.usage.input_tokens

    @property
    def output_tokens(self) -> int:
        """The answer's tokens, a model's hidden reasoning included."""
        return self.usage.output_tokens

    @property
    def cached_tokens(self) -> int:
        """The prompt's tokens that the provider read from its cache."""
        return self.usage.cache_read_tokens


class LanguageModel(Protocol):
    """Something that answers. The embedded default has none: then the extractive planner does the work."""

    async def converse(self, request: ConverseRequest) -> ConverseAnswer:
        """Return the answer, whole and of the asked shape. Raises a ProviderError."""


def answer_key(request: ConverseRequest) -> bytes:
    """Return 32 bytes that name an answer: a hash of model, prompt version, system, input and schema.

    Output cap, deadline and temperature stay out: what is kept is a whole answer, and it stands under any of them.
    """
    shape = None if request.schema is None else [request.schema.name, request.schema.schema]
    parts = [request.model_id, request.prompt_version, request.system, request.user, shape]
    return hashlib.sha256(json.dumps(parts, separators=(",", ":"), default=dict).encode()).digest()
