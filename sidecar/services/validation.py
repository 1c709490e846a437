"""Validates plain values: texts, names, ids, numbers, counts.

Every function returns the validated value or raises InvalidArgument, naming the field, the problem and the fix.
"""

from __future__ import annotations

import re
from collections.abc import Sequence, Sized
from uuid import UUID

from sidecar.runtime.errors import InvalidArgument
from store.scope import MAX_EXTERNAL_ID_CHARS

MAX_NAME_CHARS = 100
MAX_ITEM_IDS, MAX_ITEM_ID_CHARS = 10_000, 1_000
_NAME = re.compile(r"[A-Za-z0-9._-]+")
_SURROGATE = re.compile(r"[\ud800-\udfff]")


def read_text(field: str, value: str, *, max_chars: int, min_chars: int = 0) -> str:
    """Return the text, of `min_chars` to `max_chars` characters; blank text counts as empty if a text is required."""
    if min_chars and len(value.strip()) < min_chars:
        problem = "is empty" if not value.strip() else "is too short"
        raise InvalidArgument(field, problem, f"send {min_chars} to {max_chars} characters")
    if len(value) > max_chars:
        raise InvalidArgument(field, f"has {len(value)} characters", f"send at most {max_chars}")
    check_characters(field, value)
    return value


def read_name(field: str, value: str) -> str:
    """Return the name: 1 to 100 letters, digits, dots, dashes and underscores, all ASCII."""
    if len(value) > MAX_NAME_CHARS or not _NAME.fullmatch(value):
        fix = f"use 1 to {MAX_NAME_CHARS} letters, digits, dots, dashes and underscores"
        raise InvalidArgument(field, "is not a usable name", fix)
    return value


def read_id(field: str, value: str, *, is_optional: bool = False) -> str:
    """Return an id chosen by a caller: 1 to 200 printable characters, not blank; it may be empty only if it is optional."""
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
    """Return an id made by this service."""
    try:
        return UUID(value)
    except ValueError as error:
        raise InvalidArgument(field, "is not a UUID", "send an id that this service returned") from error


def read_int(field: str, value: int, *, least: int, most: int) -> int:
    """Return the number, `least` to `most`."""
    if not least <= value <= most:
        raise InvalidArgument(field, f"is {value}", f"send {least} to {most}")
    return value


def check_count(field: str, values: Sized, *, most: int, least: int = 0) -> None:
    """Raise InvalidArgument unless a repeated field has `least` to `most` entries."""
    if not least <= len(values) <= most:
        raise InvalidArgument(field, f"has {len(values)} entries", f"send {least} to {most}")


def check_characters(field: str, value: str) -> None:
    """Raise InvalidArgument for a text with a NUL character or half a surrogate pair."""
    if "\0" in value:
        raise InvalidArgument(field, "contains a NUL character", "remove it")
    if _SURROGATE.search(value):
        raise InvalidArgument(field, "contains half a surrogate pair", "send valid Unicode")
