"""How a model is asked: with which of the provider's means for structured output, and with which parameters.

Pure. A server that refuses one means is asked by the next; what it took is remembered by whoever asks.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from enum import StrEnum

from models.language.language import AnswerSchema, ConverseRequest


class JsonMeans(StrEnum):
    """The means of getting a JSON object, the surest first."""

    JSON_SCHEMA = "json_schema"
    TOOL = "tool"
    TEXT = "text"


_NEXT = {JsonMeans.JSON_SCHEMA: JsonMeans.TOOL, JsonMeans.TOOL: JsonMeans.TEXT}


@dataclass(frozen=True, slots=True)
class RequestMode:
    """One way of asking. `has_new_cap` sends the output cap as `max_completion_tokens`, which newer models insist on.

    `is_strict` asks the server to enforce the schema; one whose answer broke it all the same is not asked so again.
    """

    form: JsonMeans
    has_temperature: bool = True
    has_new_cap: bool = False
    is_strict: bool = True


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """A request as one adapter sends it: in one manner, with the output cap that the model allows."""

    request: ConverseRequest
    manner: RequestMode
    max_output_tokens: int

    @property
    def schema(self) -> AnswerSchema | None:
        """The schema to send as such; None where nothing but text is asked for."""
        return None if self.manner.form is JsonMeans.TEXT else self.request.schema

    @property
    def system(self) -> str:
        """The system prompt; where the provider has no means for the schema, with the schema at its end."""
        schema = self.request.schema
        if schema is None or self.manner.form is not JsonMeans.TEXT:
            return self.request.system
        shape = json.dumps(schema.schema, default=dict, ensure_ascii=False)
        rule = f"Answer with one JSON object and nothing else. It must fit this JSON schema:\n{shape}"
        return f"{self.request.system}\n\n{rule}" if self.request.system else rule


def first_manner(request: ConverseRequest) -> RequestMode:
    """Return how to ask before anything is known of the model."""
    return RequestMode(JsonMeans.TEXT if request.schema is None else JsonMeans.JSON_SCHEMA)


def next_manner(manner: RequestMode, reason: str) -> RequestMode | None:
    """Return how to ask after a refusal with this reason, None when nothing is left to change."""
    said = reason.lower()
    if manner.has_temperature and "temperature" in said:
        return replace(manner, has_temperature=False)
    if not manner.has_new_cap and "max_completion_tokens" in said:
        return replace(manner, has_new_cap=True)
    form = _NEXT.get(manner.form)
    return None if form is None else replace(manner, form=form)
