"""The mode of a request: the provider's means for structured output that it uses, and the parameters that it sends.

Pure. If a server refuses a mode, the next one is tried. The caller caches the mode that was accepted.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from enum import StrEnum

from models.language.language import AnswerSchema, ConverseRequest


class JsonMeans(StrEnum):
    """The means of getting a JSON object, from the most to the least reliable."""

    JSON_SCHEMA = "json_schema"
    TOOL = "tool"
    TEXT = "text"


_NEXT = {JsonMeans.JSON_SCHEMA: JsonMeans.TOOL, JsonMeans.TOOL: JsonMeans.TEXT}


@dataclass(frozen=True, slots=True)
class RequestMode:
    """One request mode. `has_new_cap` sends the output cap as `max_completion_tokens`, which newer models require.

    `is_strict` asks the server to enforce the schema; it is turned off for a server whose answer broke the schema anyway.
    """

    form: JsonMeans
    has_temperature: bool = True
    has_new_cap: bool = False
    is_strict: bool = True


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """A request as an adapter sends it: in one mode, with the output cap that the model allows."""

    request: ConverseRequest
    mode: RequestMode
    max_output_tokens: int

    @property
    def schema(self) -> AnswerSchema | None:
        """The schema to send in the provider's schema field; None for a text-only mode."""
        return None if self.mode.form is JsonMeans.TEXT else self.request.schema

    @property
    def system(self) -> str:
        """The system prompt; with the schema appended if the mode cannot send it otherwise."""
        schema = self.request.schema
        if schema is None or self.mode.form is not JsonMeans.TEXT:
            return self.request.system
        shape = json.dumps(schema.schema, default=dict, ensure_ascii=False)
        rule = f"Answer with one JSON object and nothing else. It must fit this JSON schema:\n{shape}"
        return f"{self.request.system}\n\n{rule}" if self.request.system else rule


def first_mode(request: ConverseRequest) -> RequestMode:
    """Return the mode for a model's first request."""
    return RequestMode(JsonMeans.TEXT if request.schema is None else JsonMeans.JSON_SCHEMA)


def next_mode(mode: RequestMode, reason: str) -> RequestMode | None:
    """Return the mode to try after a refusal with this reason; None if there is none left."""
    lowered = reason.lower()
    if mode.has_temperature and "temperature" in lowered:
        return replace(mode, has_temperature=False)
    if not mode.has_new_cap and "max_completion_tokens" in lowered:
        return replace(mode, has_new_cap=True)
    form = _NEXT.get(mode.form)
    return None if form is None else replace(mode, form=form)
