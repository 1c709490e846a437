"""Converts the values of `requests` to fields of messages, without importing the messages.

Conversion follows the message's descriptor: enums take short names (`agent`), and knobs, parts and spent tokens have converters.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from datetime import datetime
from functools import partial
from typing import Any

from sidecar.client.knobs import to_wire
from sidecar.client.shapes import ToolCall, ToolResult

_MOST_EXACT = 2**53


@dataclass(frozen=True, slots=True, kw_only=True)
class NewTurn:
    """One turn to write; `client_turn_id` is unique in its thread, and `said_time` defaults to now.

    `is_imported` marks a turn from another conversation: a system turn is then shown as a quotation.
    """

    client_turn_id: str
    role: str
    text: str = ""
    parts: Sequence[ToolCall | ToolResult] = ()
    speaker: str = ""
    said_time: datetime | None = None
    is_imported: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class NewMemory:
    """One memory to write; without an id, one is derived from its text.

    `status` is candidate, accepted or rejected, `confidence` from 0 to 1, `authority` User, Agent, Candidate or Derived. A known
    memory keeps the values of fields that are not set. `pinned` pins or unpins it; None changes nothing. It holds from
    `valid_from_time` until `valid_until_time`, None means open; `valid_precision` is instant, day, month or year.
    """

    text: str
    memory_id: str = ""
    occurred_time: datetime | None = None
    document_id: str = ""
    metadata: Mapping[str, Any] | None = None
    turn_ids: Sequence[str] = ()
    memory_type: str = ""
    status: str = ""
    confidence: float | None = None
    authority: str = ""
    domains: Sequence[str] = ()
    pinned: bool | None = None
    valid_from_time: datetime | None = None
    valid_until_time: datetime | None = None
    valid_precision: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalPlace:
    """The place of a journal record; other names of the place become names of its page."""

    name: str
    city: str = ""
    address: str = ""
    alternate_names: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalRecord:
    """One record of a journal, with its id; its time defaults to now."""

    record_id: str
    text: str
    occurred_time: datetime | None = None
    place: JournalPlace | None = None
    tags: Sequence[str] = ()
    journal_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class EdgeStep:
    """One step along typed edges, of these types or of any, to pages of a type or of any; `direction` is out, in or both."""

    edge_types: Sequence[str] = ()
    direction: str = "out"
    page_type: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class OntologyChange:
    """A change to draft: `kind` is a kind of term, `action` create, update, deprecate or remove, `key` the term in force.

    `term_json` is the term as a JSON object; an update may leave out unchanged fields.
    """

    kind: str
    action: str
    key: str = ""
    term_json: str = ""
    rationale: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewBudget:
    """A limit in USD: `covers` is tenant, owner, agent or model, of which `ref` names the last three; `period` is day or month.

    Without `percents` it alerts at 50, 80 and 100 percent.
    """

    name: str
    covers: str
    ref: str = ""
    period: str
    limit_usd: float
    percents: Sequence[int] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class NewRule:
    """A release rule: the conditions for a memory, at least one of `tags`, `memory_types` and `metadata`.

    With a `knowledge_base`, it releases that base's documents instead, or the one at `document_path`. `least_authority` is
    derived, candidate, agent or user; empty means agent. A `trust_tier` from 1 to 5 needs a `reason`.
    """

    name: str
    tags: Sequence[str] = ()
    memory_types: Sequence[str] = ()
    metadata: Mapping[str, str] = field(default_factory=dict)
    least_authority: str = ""
    trust_tier: int = 0
    reason: str = ""
    knowledge_base: str = ""
    document_path: str = ""


def fields_of(value: Any, descriptor: Any) -> dict[str, Any]:
    """Return a request, or a value inside one, as the keyword arguments of its message; absent fields are left out."""
    named = ((one.name, getattr(value, one.name)) for one in fields(value))
    return {name: _wire(descriptor.fields_by_name[name], inner) for name, inner in named if inner is not None}


def _wire(wanted: Any, value: Any) -> Any:
    """Return a field's value as the message expects it; a value of the wrong type is left for the message to refuse."""
    if wanted.enum_type is not None:
        return wanted.enum_type.values[0].name.removesuffix("UNSPECIFIED") + (str(value).upper() or "UNSPECIFIED")
    if wanted.message_type is None:
        return value
    write = _WRITERS.get(wanted.message_type.full_name) or partial(_message, wanted.message_type)
    return [write(one) for one in value] if wanted.is_repeated else write(value)


def _message(descriptor: Any, value: Any) -> Any:
    return fields_of(value, descriptor) if is_dataclass(value) else _plain(value)


def _plain(value: Any) -> Any:
    """Return a value for a struct, whose numbers are floats: a whole number that a float would round becomes a text."""
    match value:
        case int() if _MOST_EXACT < abs(value) <= sys.float_info.max:
            return str(value)
        case list() | tuple():
            return [_plain(inner) for inner in value]
        case Mapping():
            return {name: _plain(inner) for name, inner in value.items()}
        case _:
            return value


def _part(part: Any) -> Any:
    match part:
        case ToolCall(id=call_id, name=name, arguments=arguments):
            return {"tool_call": {"id": call_id, "name": name, "arguments": _plain(arguments)}}
        case ToolResult(call_id=call_id, content=content):
            return {"tool_result": {"call_id": call_id, "content": content}}
        case _:
            return part


def _spent(spent: str | int) -> dict[str, str | int]:
    return {"text": spent} if isinstance(spent, str) else {"tokens": spent}


_WRITERS: Mapping[str, Callable[[Any], Any]] = {
    "sidecar.v1.Profile": to_wire,
    "sidecar.v1.MessagePart": _part,
    "sidecar.v1.Spent": _spent,
}
