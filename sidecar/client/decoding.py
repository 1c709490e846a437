"""Converts the service's messages to the values of `answers`, without importing the messages.

Conversion follows the message's descriptor: times become datetimes in UTC, structs become dicts with whole numbers as
int, enums become their short names (`OK`, `FULL`, but `knowledge`, `kept`, as in logs and JSON).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from datetime import UTC, datetime
from functools import cache, partial
from typing import Any, Protocol, TypeVar, cast

from google.protobuf.json_format import MessageToDict

from sidecar.client import answers, knobs, shapes
from sidecar.client.answers import Page, backends, brain, cost, ontology, wiki
from sidecar.client.shapes import ToolCall, ToolResult

V = TypeVar("V")
Reader = Callable[[Any], Any]


class Reading(Protocol):
    """Converts a response to an answer."""

    def __call__(self, response: Any) -> Any:
        """Return the answer."""


@dataclass(frozen=True, slots=True)
class Whole:
    """Reads a response that is itself the answer."""

    kind: type[Any]

    def __call__(self, response: Any) -> Any:
        """Return the response as a value."""
        return read(self.kind, response)


@dataclass(frozen=True, slots=True)
class Inner:
    """Reads a response with one field, which is the answer."""

    name: str

    def __call__(self, response: Any) -> Any:
        """Return the field as a value."""
        return _reader(response.DESCRIPTOR.fields_by_name[self.name])(getattr(response, self.name))


@dataclass(frozen=True, slots=True)
class Maybe:
    """Reads a response with one optional message, which is the answer."""

    name: str

    def __call__(self, response: Any) -> Any:
        """Return the message as a value, or None."""
        return Inner(self.name)(response) if response.HasField(self.name) else None


@dataclass(frozen=True, slots=True)
class Listed:
    """Reads a response that is a page of a list."""

    name: str

    def __call__(self, response: Any) -> Page[Any]:
        """Return the page."""
        return Page(Inner(self.name)(response), response.next_page_token)


@dataclass(frozen=True, slots=True)
class Nothing:
    """Reads an empty response."""

    def __call__(self, response: Any) -> None:
        """Return None."""


def read(kind: type[V], message: Any) -> V:
    """Return the message as a value of the class `kind`, whose fields have the names of the message's fields."""
    values = {}
    for name, may_be_absent, reader in _plan(cast("Hashable", kind), message.DESCRIPTOR):
        if not may_be_absent or message.HasField(name):
            values[name] = reader(getattr(message, name))
    return kind(**values)


@cache
def _plan(kind: Any, descriptor: Any) -> tuple[tuple[str, bool, Reader], ...]:
    """Return, for each field of the class, its name, whether it keeps its default if absent, and its reader."""
    wire = descriptor.fields_by_name
    return tuple(
        (one.name, wire[one.name].has_presence and _has_default(one), _reader(wire[one.name])) for one in fields(kind)
    )


def _has_default(one: Any) -> bool:
    return one.default is not MISSING or one.default_factory is not MISSING


def _reader(wire: Any) -> Reader:
    if wire.enum_type is not None:
        reader: Reader = partial(_name, _names(wire.enum_type))
    elif wire.message_type is not None and wire.message_type.GetOptions().map_entry:
        return dict
    elif wire.message_type is not None:
        reader = _message_reader(wire.message_type)
    else:
        reader = _same
    return partial(_each, reader) if wire.is_repeated else reader


def _message_reader(descriptor: Any) -> Reader:
    own = _READERS.get(descriptor.full_name)
    return own or partial(read, _VALUES[descriptor.name])


def _each(reader: Reader, values: Any) -> tuple[Any, ...]:
    return tuple(values) if reader is _same else tuple([reader(value) for value in values])


def _same(value: Any) -> Any:
    return value


def _names(enum: Any) -> dict[int, str]:
    """Return the enum's short names by number; UNSPECIFIED becomes empty."""
    prefix = enum.values[0].name.removesuffix("UNSPECIFIED")
    names = {value.number: value.name.removeprefix(prefix) for value in enum.values}
    return {number: name if enum.name in _UPPER else name.lower() for number, name in names.items()} | {0: ""}


def _name(names: Mapping[int, str], number: int) -> str:
    """Return the short name of a number, or the number as text, since a newer server may have more values."""
    return names.get(number, str(number))


def _time(stamp: Any) -> datetime:
    return stamp.ToDatetime(tzinfo=UTC)  # type: ignore[no-any-return]  # a message, not known here


def _object(struct: Any) -> dict[str, Any]:
    values: dict[str, Any] = _plain(MessageToDict(struct))
    return values


def _plain(value: Any) -> Any:
    """Return a value of a struct, with whole numbers as int, since a struct contains only floats, and names in order.

    A struct has no order: without one, each process would send another text of the same arguments, and no cache would hit.
    """
    match value:
        case float() if value.is_integer() and abs(value) < 2**53:
            return int(value)
        case list():
            return [_plain(inner) for inner in value]
        case dict():
            return {name: _plain(value[name]) for name in sorted(value)}
        case _:
            return value


def _part(part: Any) -> ToolCall | ToolResult:
    if part.WhichOneof("part") == "tool_call":
        return ToolCall(part.tool_call.id, part.tool_call.name, _object(part.tool_call.arguments))
    return ToolResult(part.tool_result.call_id, part.tool_result.content)


_UPPER = frozenset({"SourceStatus", "Form"})
_READERS: Mapping[str, Reader] = {
    "google.protobuf.Timestamp": _time,
    "google.protobuf.Struct": _object,
    "sidecar.v1.Profile": knobs.from_wire,
    "sidecar.v1.MessagePart": _part,
}
_VALUES: Mapping[str, type[Any]] = {
    name: kind
    for module in (shapes, answers, wiki, brain, backends, cost, ontology)
    for name, kind in vars(module).items()
    if isinstance(kind, type) and is_dataclass(kind)
}
