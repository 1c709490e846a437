"""Converts the values of `requests` to fields of messages, without importing the messages.

If the contract's form differs from the one people use (knobs, levels, tokens), the field's metadata names the converter.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Any

from sidecar.client.knobs import to_wire
from sidecar.client.shapes import ToolCall, ToolResult


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
    """One memory to write; without an id, one is derived from its text."""

    text: str
    memory_id: str = ""
    occurred_time: datetime | None = None
    document_id: str = ""
    metadata: Mapping[str, Any] | None = None
    turn_ids: Sequence[str] = ()


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


def _wire(write: Callable[[Any], Any]) -> Mapping[str, Any]:
    return {"wire": write}


def _word(prefix: str) -> Mapping[str, Any]:
    return _wire(lambda word: f"{prefix}_{word.upper() or 'UNSPECIFIED'}")


@dataclass(frozen=True, slots=True, kw_only=True)
class NewBudget:
    """A limit in USD: `covers` is tenant, owner, agent or model (which `ref` names), `period` day or month.

    Without `percents` it alerts at 50, 80 and 100 percent.
    """

    name: str
    covers: str = field(metadata=_word("BUDGET_COVER"))
    ref: str = ""
    period: str = field(metadata=_word("BUDGET_PERIOD"))
    limit_usd: float
    percents: Sequence[int] = ()


def fields_of(value: Any) -> dict[str, Any]:
    """Return a request, or a value inside one, as the keyword arguments of its message; absent fields are left out."""
    named = ((one, getattr(value, one.name)) for one in fields(value))
    return {one.name: one.metadata.get("wire", _plain)(inner) for one, inner in named if inner is not None}


def _plain(value: Any) -> Any:
    match value:
        case ToolCall():
            return {"tool_call": fields_of(value)}
        case ToolResult():
            return {"tool_result": fields_of(value)}
        case NewTurn() | NewMemory() | JournalRecord() | JournalPlace() | NewBudget():
            return fields_of(value)
        case list() | tuple():
            return [_plain(inner) for inner in value]
        case Mapping():
            return {name: _plain(inner) for name, inner in value.items()}
        case _:
            return value


def _spent(spent: str | int) -> dict[str, str | int]:
    return {"text": spent} if isinstance(spent, str) else {"tokens": spent}


def _level(prefix: str) -> Mapping[str, Any]:
    return _word(f"{prefix}_LEVEL")


SPENT = _wire(_spent)
KNOBS = _wire(to_wire)
PROFILE_LEVEL = _level("PROFILE")
ASSIGNEE_LEVEL = _level("ASSIGNEE")
WORKSPACE_LEVEL = _level("WORKSPACE")
PAGE_TYPE = _word("PAGE_TYPE")
PAGE_STATUS = _word("PAGE_STATUS")
PAGE_ORDER = _word("PAGE_ORDER")
MENTION_STATUS = _word("MENTION_STATUS")
LINK_ORIGIN = _word("LINK_ORIGIN")
RESET_MODE = _word("RESET_MODE")
SPENDING_KEY = _word("SPENDING_KEY")
