"""Reads the typed fields of a message: enums, timestamps, free-form objects, repeated fields.

Every function returns the validated value or raises InvalidArgument, naming the field, the problem and the fix. Plain values
are validated in `sidecar.services.validation`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Any, TypeVar, overload
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import orjson
from google.protobuf.json_format import MessageToDict
from google.protobuf.struct_pb2 import Struct
from google.protobuf.timestamp_pb2 import Timestamp

from sidecar.runtime.errors import InvalidArgument
from sidecar.services.validation import check_characters
from store.db.pacing import QUICK_CHARS, in_slices

MAX_DEPTH = 24  # each level of an object takes three levels of a message, which may have a hundred

T = TypeVar("T")
V = TypeVar("V")

_FIRST = datetime.min.replace(tzinfo=UTC) + timedelta.resolution
_LAST = datetime.max.replace(tzinfo=UTC) - timedelta.resolution


def names_of(enum: Any) -> dict[int, str]:
    """Return the short names of an enum's values by number, such as `entity` for PAGE_TYPE_ENTITY, without UNSPECIFIED."""
    prefix = enum.DESCRIPTOR.values[0].name.removesuffix("UNSPECIFIED")
    return {number: name.removeprefix(prefix).lower() for name, number in enum.items() if number}


def read_choice(field: str, value: int, meanings: Mapping[int, V]) -> V:
    """Return the meaning of an enum value. Raises InvalidArgument for unknown values, including those of newer contracts."""
    if value not in meanings:
        raise InvalidArgument(field, f"is {value}, which is not one of its values", "send a value of the contract")
    return meanings[value]


async def read_each(
    field: str, entries: Sequence[T], read: Callable[[str, T], V], *, chars: Callable[[T], int]
) -> list[V]:
    """Apply `read` to each entry of a repeated field, in a thread if they are large."""
    named = [(f"{field}[{place}]", entry) for place, entry in enumerate(entries)]
    return await in_slices(
        lambda some: [read(*one) for one in some], named, lambda one: chars(one[1]), quick_chars=QUICK_CHARS
    )


def read_time(field: str, stamp: Timestamp) -> datetime:
    """Return a storable instant in UTC, to the microsecond, of the years 1 to 9999."""
    try:
        moment = stamp.ToDatetime(tzinfo=UTC)
    except (ValueError, OverflowError) as error:
        raise InvalidArgument(field, "is not a valid time", "send a time of the years 1 to 9999") from error
    return storable(moment)


def read_zone(field: str, name: str) -> tzinfo:
    """Return the time zone of an IANA name; UTC for none."""
    try:
        return ZoneInfo(name) if name else UTC
    except (ValueError, OSError, ZoneInfoNotFoundError) as error:
        remedy = "send an IANA name that the service's system knows, such as America/Los_Angeles, or nothing for UTC"
        raise InvalidArgument(field, "is no known time zone", remedy) from error


def storable(moment: datetime) -> datetime:
    """Return the instant, or its neighbour for the first and last possible ones, which databases read as infinity."""
    return min(max(moment, _FIRST), _LAST)


@overload
def write_time(moment: datetime) -> Timestamp: ...
@overload
def write_time(moment: datetime | None) -> Timestamp | None: ...
def write_time(moment: datetime | None) -> Timestamp | None:
    """Return the instant as a message; None for None."""
    if moment is None:
        return None
    stamp = Timestamp()
    stamp.FromDatetime(moment)
    return stamp


def read_struct(field: str, struct: Struct, *, max_bytes: int) -> dict[str, Any]:
    """Return a free-form object with whole numbers as int; at most `max_bytes` as JSON, and at most 24 levels deep."""
    values = _plain_object(field, struct)
    size_bytes = len(orjson.dumps(values))
    if size_bytes > max_bytes:
        raise InvalidArgument(field, f"takes {size_bytes} bytes as JSON", f"send at most {max_bytes}")
    return values


def write_struct(values: dict[str, Any]) -> Struct:
    """Return the object as a message. Levels deeper than 24 become JSON text, because no client could parse them otherwise."""
    struct = Struct()
    struct.update({key: _shallow(value, MAX_DEPTH - 1) for key, value in values.items()})
    return struct


def _shallow(value: Any, levels: int) -> Any:
    if not isinstance(value, dict | list):
        return value
    if not levels:
        return orjson.dumps(value).decode()
    if isinstance(value, list):
        return [_shallow(inner, levels - 1) for inner in value]
    return {key: _shallow(inner, levels - 1) for key, inner in value.items()}


def _plain_object(field: str, struct: Struct) -> dict[str, Any]:
    try:
        values = MessageToDict(struct)
    except ValueError as error:  # protobuf refuses NaN and infinity, which JSON cannot write
        raise InvalidArgument(field, "contains a number that JSON cannot represent", "send finite numbers") from error
    return {_key(field, key): _plain(field, value, MAX_DEPTH - 1) for key, value in values.items()}


def _plain(field: str, value: Any, levels: int) -> Any:
    if not levels and isinstance(value, dict | list):
        raise InvalidArgument(field, f"is nested deeper than {MAX_DEPTH} levels", "send the inner part as text")
    match value:
        case str():
            check_characters(field, value)
            return value
        case float() if math.isfinite(value) and value.is_integer() and abs(value) < 2**53:
            return int(value)
        case list():
            return [_plain(field, inner, levels - 1) for inner in value]
        case dict():
            return {_key(field, key): _plain(field, inner, levels - 1) for key, inner in value.items()}
        case _:
            return value


def _key(field: str, key: str) -> str:
    check_characters(field, key)
    return key
