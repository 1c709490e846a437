"""How a model is asked: with which of the provider's means for structured output, and with which parameters.

Pure. A server that refuses one means is asked by the next; what it took is remembered by whoever asks.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from enum import StrEnum

from models.language.language import AnswerSchema, ConverseRequest


class Form(StrEnum):
    """The means of getting a JSON object, the surest first."""

    JSON_SCHEMA = "json_schema"
    TOOL = "tool"
    TEXT = "text"


_NEXT = {Form.JSON_SCHEMA: Form.TOOL, Form.TOOL: Form.TEXT}


@dataclass(frozen=True, slots=True)
class Manner:
    """One way of asking. `has_new_cap` sends the output cap as `max_completion_tokens`, which newer models insist on.

    `is_strict` asks the server to enforce the schema; one whose answer broke it all the same is not asked so again.
    """

    form: Form
    has_temperature: bool = True
    has_new_cap: bool = False
    is_strict: bool = True


@dataclass(frozen=True, slots=True)
class Question:
    """A request as one adapter sends it: in one manner, with the output cap that the model allows."""

    request: ConverseRequest
    manner: Manner
    max_output_tokens: int

    @property
    def schema(self) -> AnswerSchema | None:
        """The schema to send as such; None where nothing but text is asked for."""
        return None if self.manner.form is Form.TEXT else self.request.schema

    @property
    def system(self) -> str:
        """The system prompt; where the provider has no means for the schema, with the schema at its end."""
        schema = self.request.schema
        if schema is None or self.manner.form is not Form.TEXT:
            return self.request.system
        shape = json.dumps(schema.schema, default=dict, ensure_ascii=False)
        rule = f"Answer with one JSON object and nothing else. It must fit this JSON schema:\n{shape}"
        return f"{self.request.system}\n\n{rule}" if self.request.system else rule


def first_manner(request: ConverseRequest) -> Manner:
    """Return how to ask before anything is known of the model."""
    return Manner(Form.TEXT if request.schema is None else Form.JSON_SCHEMA)


def next_manner(manner: Manner, reason: str) -> Manner | None:
    """Return how to ask after a refusal with this reason, None when nothing is left to change."""
    said = reason.lower()
    if manner.has_temperature and "temperature" in said:
        return replace(manner, has_temperature=False)
    if not manner.has_new_cap and "max_completion_tokens" in said:
        return replace(manner, has_new_cap=True)
    form = _NEXT.get(manner.form)
    return None if form is None else replace(manner, form=form)
