"""Checks the types of a request's values against its message, so that an error names the field and the remedy."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import fields, is_dataclass
from datetime import datetime
from typing import Any

from google.protobuf.descriptor import FieldDescriptor

from sidecar.client.errors import RequestUnusable
from sidecar.client.shapes import ToolCall, ToolResult

_WANTED: Mapping[str, tuple[tuple[type, ...], str]] = {
    "google.protobuf.Timestamp": ((datetime,), "a datetime"),
    "google.protobuf.Struct": ((Mapping,), "an object"),
    "sidecar.v1.Profile": ((Mapping,), "knobs by name"),
    "sidecar.v1.MessagePart": ((ToolCall, ToolResult, Mapping), "a ToolCall or a ToolResult"),
    "sidecar.v1.Spent": ((str, int), "the text that is sent, such as json.dumps(tools), or its number of tokens"),
}
"""The types that a message's converter takes, and their description, by the message's full name."""


def check_types(value: Any, descriptor: Any, path: str = "") -> None:
    """Raise RequestUnusable for a value inside a request, or inside one of its values, that its message cannot take.

    Other values that cannot be sent, such as numbers out of range, are left for the message to refuse.
    """
    for one in fields(value):
        inner = getattr(value, one.name)
        if inner is not None:
            _check_field(descriptor.fields_by_name[one.name], inner, f"{path}{one.name}")


def _check_field(wanted: Any, value: Any, path: str) -> None:
    for name, one in _each(wanted, value, path):
        if wanted.message_type is not None:
            _check_message(wanted.message_type, one, name)
        elif wanted.enum_type is not None:
            _check_word(wanted.enum_type, one, name)
        elif wanted.type == FieldDescriptor.TYPE_STRING:
            _check_text(one, name)


def _check_text(value: Any, path: str) -> None:
    if not isinstance(value, str):
        raise _unusable(path, value, "a text")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        problem = f"is not valid Unicode at character {error.start}; decode it with errors='replace'"
        raise _refused(path, problem) from error


def _check_word(enum: Any, value: Any, path: str) -> None:
    prefix = enum.values[0].name.removesuffix("UNSPECIFIED")
    words = [one.name.removeprefix(prefix).lower() for one in enum.values[1:]]
    if value and str(value).lower() not in words:
        raise _refused(path, f"is {str(value)[:40]!r}; send one of {', '.join(words)}")


def _each(wanted: Any, value: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Yield the field's values with their paths. One that can be read only once is refused: a retry would send nothing."""
    if not wanted.is_repeated or _is_map(wanted):
        yield path, value
    elif isinstance(value, str | bytes | Mapping) or not isinstance(value, Collection):
        raise _unusable(path, value, "a list")
    else:
        for place, one in enumerate(value):
            yield f"{path}[{place}]", one


def _is_map(wanted: Any) -> bool:
    return wanted.message_type is not None and bool(wanted.message_type.GetOptions().map_entry)


def _check_message(descriptor: Any, value: Any, path: str) -> None:
    if descriptor.GetOptions().map_entry:
        return
    types, description = _WANTED.get(descriptor.full_name, ((Mapping,), f"a {descriptor.name}"))
    if descriptor.full_name not in _WANTED and _has_fields_of(descriptor, value):
        check_types(value, descriptor, f"{path}.")
    elif not isinstance(value, types):
        raise _unusable(path, value, description)
    elif isinstance(value, ToolResult):
        _check_text(value.content, f"{path}.tool_result.content")


def _has_fields_of(descriptor: Any, value: Any) -> bool:
    return is_dataclass(value) and {one.name for one in fields(value)} <= set(descriptor.fields_by_name)


def _unusable(path: str, value: Any, wanted: str) -> RequestUnusable:
    return _refused(path, f"is of type {type(value).__name__}; pass {wanted}")


def _refused(path: str, problem: str) -> RequestUnusable:
    return RequestUnusable(f"{path}: {problem}.", code="INVALID_ARGUMENT", field=path)
