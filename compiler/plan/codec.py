"""Encodes a plan's items as JSON and decodes them, with hashes in hex and times in ISO 8601.

Decoding accepts only values that this module encoded; any other value raises InvalidPlan, which names its path.
"""

from __future__ import annotations

import types
from collections.abc import Iterable, Mapping
from dataclasses import is_dataclass
from datetime import datetime
from enum import StrEnum
from functools import cache
from typing import Any, Union, get_args, get_origin, get_type_hints

import orjson

from compiler.plan import contract
from compiler.plan.contract import Item


class InvalidPlan(ValueError):
    """The stored plan cannot be read by this version; make it again from its batch."""


def dump(items: Iterable[Item]) -> list[dict[str, Any]]:
    """Return the items as JSON values, each tagged with its kind."""
    return [_item(item) for item in items]


def dump_json(items: Iterable[Item]) -> bytes:
    """Return the result of `dump` as JSON text. Much faster than `dump`, for plans are stored with every batch."""
    return orjson.dumps([_tagged(item) for item in items], default=_plain)


def load(values: Iterable[Mapping[str, Any]]) -> tuple[Item, ...]:
    """Return the items that `dump` encoded. Raises InvalidPlan."""
    return tuple(_read_item(value) for value in values)


def _snake(name: str) -> str:
    return "".join(f"_{one.lower()}" if one.isupper() else one for one in name).lstrip("_")


_KINDS: dict[str, type[Item]] = {_snake(kind.__name__): kind for kind in get_args(contract.Item)}
_NAMES = {kind: name for name, kind in _KINDS.items()}


def _item(item: Item) -> dict[str, Any]:
    written: dict[str, Any] = _written(item)
    return {"item": _NAMES[type(item)], **written}


def _tagged(item: Item) -> dict[str, Any]:
    return {"item": _NAMES[type(item)], **{name: getattr(item, name) for name in item.__slots__}}


def _plain(value: object) -> object:
    """Encode types that orjson does not support: hashes and mappings other than dict."""
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"a plan cannot hold a {type(value).__name__}")


def _read_item(value: Mapping[str, Any]) -> Item:
    kind = _KINDS.get(str(value.get("item"))) if isinstance(value, Mapping) else None
    if kind is None:
        raise InvalidPlan(f"unknown item kind {value.get('item') if isinstance(value, Mapping) else value!r}")
    read: Item = _read(kind, {name: one for name, one in value.items() if name != "item"}, kind.__name__)
    return read


def _written(value: Any) -> Any:
    if is_dataclass(value):
        return {name: _written(getattr(value, name)) for name in _hints(value.__class__)}
    if isinstance(value, tuple | list):
        return [_written(one) for one in value]
    if isinstance(value, Mapping):
        return {str(name): _written(one) for name, one in value.items()}
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, datetime):
        return value.isoformat()
    return str(value) if isinstance(value, StrEnum) else value


@cache
def _hints(kind: Any) -> Mapping[str, Any]:
    return get_type_hints(kind)


def _read(hint: Any, value: Any, path: str) -> Any:
    """Return the value converted to the type hint."""
    origin = get_origin(hint)
    if origin in (Union, types.UnionType):
        return (
            None if value is None else _read(next(one for one in get_args(hint) if one is not type(None)), value, path)
        )
    if origin is tuple:
        return tuple(_read(get_args(hint)[0], one, f"{path}[{at}]") for at, one in enumerate(value))
    if is_dataclass(hint):
        return _read_fields(hint, value, path)
    try:
        return _read_plain(hint, value)
    except (TypeError, ValueError) as error:
        raise InvalidPlan(f"{path} has an unexpected value") from error


def _read_fields(kind: Any, value: Any, path: str) -> Any:
    hints = _hints(kind)
    if not isinstance(value, Mapping) or not hints.keys() >= value.keys():
        raise InvalidPlan(f"{path} has an unexpected value")
    try:
        return kind(**{name: _read(hints[name], one, f"{path}.{name}") for name, one in value.items()})
    except TypeError as error:
        raise InvalidPlan(f"{path} has an unexpected value") from error


def _read_plain(hint: Any, value: Any) -> Any:
    if hint is bytes:
        return bytes.fromhex(value)
    if hint is datetime:
        return datetime.fromisoformat(value)
    return hint(value) if isinstance(hint, type) and issubclass(hint, StrEnum) else value
