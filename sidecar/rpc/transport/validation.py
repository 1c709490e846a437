"""Reads the fields of a request: bounds, forbidden characters, instants, free-form objects.

Every function returns the value to work with or raises InvalidArgument, which names the field, the problem and the fix.
What a field means is the service's business; here stands only what makes a value usable at all.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence, Sized
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar
from uuid import UUID

import orjson
from google.protobuf.json_format import MessageToDict
from google.protobuf.struct_pb2 import Struct
from google.protobuf.timestamp_pb2 import Timestamp

from sidecar.runtime.errors import InvalidArgument
from store.db.pacing import QUICK_CHARS, in_slices
from store.scope import MAX_EXTERNAL_ID_CHARS

MAX_NAME_CHARS = 100
MAX_ITEM_IDS, MAX_ITEM_ID_CHARS = 10_000, 1_000
MAX_DEPTH = 24  # each level of an object is three of a message, which may have a hundred

T = TypeVar("T")
V = TypeVar("V")

_FIRST = datetime.min.replace(tzinfo=UTC) + timedelta.resolution
_LAST = datetime.max.replace(tzinfo=UTC) - timedelta.resolution
_NAME = re.compile(r"[A-Za-z0-9._-]+")
_SURROGATE = re.compile(r"[\ud800-\udfff]")


def read_text(field: str, value: str, *, max_chars: int, min_chars: int = 0) -> str:
    """Return the text, of `min_chars` to `max_chars` characters, blank counting as empty where one is needed."""
    if min_chars and len(value.strip()) < min_chars:
        problem = "is empty" if not value.strip() else "is too short"
        raise InvalidArgument(field, problem, f"send {min_chars} to {max_chars} characters")
    if len(value) > max_chars:
        raise InvalidArgument(field, f"has {len(value)} characters", f"send at most {max_chars}")
    _check_characters(field, value)
    return value


def read_name(field: str, value: str) -> str:
    """Return the name: 1 to 100 letters, digits, dots, dashes and underscores, all ASCII."""
    if len(value) > MAX_NAME_CHARS or not _NAME.fullmatch(value):
        fix = f"use 1 to {MAX_NAME_CHARS} letters, digits, dots, dashes and underscores"
        raise InvalidArgument(field, "is not a usable name", fix)
    return value


def read_id(field: str, value: str, *, is_optional: bool = False) -> str:
    """Return an id that callers chose: 1 to 200 printable characters, not blank; empty only where it is optional."""
    if not value and is_optional:
        return value
    if not value.strip() or len(value) > MAX_EXTERNAL_ID_CHARS or not value.isprintable():
        fix = f"send {0 if is_optional else 1} to {MAX_EXTERNAL_ID_CHARS} printable characters"
        raise InvalidArgument(field, "is not a usable id", fix)
    return value


def read_item_ids(field: str, values: Sequence[str]) -> tuple[str, ...]:
    """Return ids of items: at most 10,000, each of 1 to 1,000 characters."""
    check_count(field, values, most=MAX_ITEM_IDS)
    return tuple(
        read_text(f"{field}[{place}]", value, min_chars=1, max_chars=MAX_ITEM_ID_CHARS)
        for place, value in enumerate(values)
    )


def read_uuid(field: str, value: str) -> UUID:
    """Return an id that this service made."""
    try:
        return UUID(value)
    except ValueError as error:
        raise InvalidArgument(field, "is not a UUID", "send an id that this service returned") from error


def read_int(field: str, value: int, *, least: int, most: int) -> int:
    """Return the number, `least` to `most`."""
    if not least <= value <= most:
        raise InvalidArgument(field, f"is {value}", f"send {least} to {most}")
    return value


def read_choice(field: str, value: int, meanings: Mapping[int, V]) -> V:
    """Return what a value of an enum stands for; also one that a newer contract may name is refused."""
    if value not in meanings:
        raise InvalidArgument(field, f"is {value}, which is none of its values", "send one that the contract names")
    return meanings[value]


def check_count(field: str, values: Sized, *, most: int, least: int = 0) -> None:
    """Raise InvalidArgument unless a repeated field has `least` to `most` entries."""
    if not least <= len(values) <= most:
        raise InvalidArgument(field, f"has {len(values)} entries", f"send {least} to {most}")


async def read_each(
    field: str, entries: Sequence[T], read: Callable[[str, T], V], *, chars: Callable[[T], int]
) -> list[V]:
    """Return what `read` makes of each entry of a repeated field, off the event loop where they are large."""
    named = [(f"{field}[{place}]", entry) for place, entry in enumerate(entries)]
    return await in_slices(
        lambda some: [read(*one) for one in some], named, lambda one: chars(one[1]), quick_chars=QUICK_CHARS
    )


def read_time(field: str, stamp: Timestamp) -> datetime:
    """Return the instant in UTC, to the microsecond; years 1 to 9999.

    The very first and last microsecond, which databases take for no time at all, become the ones beside them.
    """
    try:
        moment = stamp.ToDatetime(tzinfo=UTC)
    except (ValueError, OverflowError) as error:
        raise InvalidArgument(field, "is not an instant", "send a time of the years 1 to 9999") from error
    return min(max(moment, _FIRST), _LAST)


def write_time(moment: datetime) -> Timestamp:
    """Return the instant as a message."""
    stamp = Timestamp()
    stamp.FromDatetime(moment)
    return stamp


def read_struct(field: str, struct: Struct, *, max_bytes: int) -> dict[str, Any]:
    """Return a free-form object, whole numbers as int, at most `max_bytes` as JSON and 24 levels deep."""
    values = _plain_object(field, struct)
    size_bytes = len(orjson.dumps(values))
    if size_bytes > max_bytes:
        raise InvalidArgument(field, f"takes {size_bytes} bytes as JSON", f"send at most {max_bytes}")
    return values


def write_struct(values: dict[str, Any]) -> Struct:
    """Return the object as a message. What lies deeper than 24 levels is given as JSON: no client could read it otherwise."""
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
        raise InvalidArgument(field, "holds a number that JSON cannot write", "send finite numbers") from error
    return {_key(field, key): _plain(field, value, MAX_DEPTH - 1) for key, value in values.items()}


def _plain(field: str, value: Any, levels: int) -> Any:
    if not levels and isinstance(value, dict | list):
        raise InvalidArgument(field, f"is nested deeper than {MAX_DEPTH} levels", "send the inner part as text")
    match value:
        case str():
            _check_characters(field, value)
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
    _check_characters(field, key)
    return key


def _check_characters(field: str, value: str) -> None:
    if "\0" in value:
        raise InvalidArgument(field, "holds a NUL character", "remove it")
    if _SURROGATE.search(value):
        raise InvalidArgument(field, "holds half a surrogate pair", "send valid Unicode")
