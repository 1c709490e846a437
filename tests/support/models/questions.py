"""Questions used by the tests of language models."""

from __future__ import annotations

from typing import Any

from models.language.language import DEFAULT_MODEL_ID, AnswerSchema, ConverseRequest
from models.transport.endpoint import BreakerPolicy
from models.transport.provider import RetryPolicy

KEY = "sk-canary-4f1d"
# A breaker that opened stays open for the test.
HASTY = RetryPolicy(backoff_s=0.001, longest_backoff_s=0.002, breaker=BreakerPolicy(open_s=600.0, longest_open_s=600.0))
# Far longer than anything here takes on a loaded machine.
DEADLINE_S = 60.0
SHAPE: dict[str, Any] = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "visits": {"type": "integer"}},
    "required": ["city", "visits"],
    "additionalProperties": False,
}
LISBON = {"city": "Lisboa", "visits": 3}


def question(**changes: Any) -> ConverseRequest:
    """Return a request; without `schema` it asks for text."""
    fields: dict[str, Any] = {
        "model_id": DEFAULT_MODEL_ID,
        "system": "Be brief.",
        "user": "Where?",
        "max_output_tokens": 100,
    }
    return ConverseRequest(**fields | {"deadline_s": DEADLINE_S} | changes)


def shaped(**changes: Any) -> ConverseRequest:
    """Return a request for an object of SHAPE."""
    return question(schema=AnswerSchema("place", SHAPE), **changes)
