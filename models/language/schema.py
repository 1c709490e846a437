"""The subset of JSON schema that answers are requested with and checked against.

Pure. An unsupported keyword is refused rather than ignored, so that no caller relies on it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

_NOTES: Final = {"title", "description", "default", "examples", "$schema"}
_CHECKED: Final = {
    "type",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "enum",
    "const",
    "anyOf",
    "minItems",
    "maxItems",
    "minLength",
    "maxLength",
    "minimum",
    "maximum",
}
_TYPES: Final[Mapping[str, Callable[[Any], bool]]] = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    # JSON has only one kind of number, so 3.0 is an integer too.
    "integer": lambda value: not isinstance(value, bool) and (isinstance(value, int) or _is_whole(value)),
}


def unchecked_keyword(schema: object, place: str = "schema") -> str:
    """Return the first unsupported keyword in the schema, with its place; "" if there is none."""
    if not isinstance(schema, Mapping):
        return "" if isinstance(schema, bool) else place
    unknown = sorted(schema.keys() - _NOTES - _CHECKED)
    unknown += [f"type {kind}" for kind in _kinds(schema) if kind not in _TYPES]
    if unknown:
        return f"{place}: {unknown[0]}"
    below = (unchecked_keyword(part, f"{place}.{name}") for name, part in _subschemas(schema))
    return next((keyword for keyword in below if keyword), "")


def misfit(value: Any, schema: object, place: str = "answer") -> str:
    """Return the path of the first misfit and the required type, such as `answer.pages[2].title: string`; "" if it fits."""
    if not isinstance(schema, Mapping):
        return f"{place}: nothing" if schema is False else ""
    return next(_misfits(value, schema, place), "")


def fitted(value: Any, schema: object) -> Any:
    """Return the value without the properties that the schema forbids, since models often add superfluous ones."""
    if not isinstance(schema, Mapping):
        return value
    if isinstance(value, dict):
        known: Mapping[str, object] = schema.get("properties", {})
        is_closed = schema.get("additionalProperties") is False and "anyOf" not in schema
        return {name: fitted(item, known.get(name)) for name, item in value.items() if name in known or not is_closed}
    if isinstance(value, list):
        return [fitted(item, schema.get("items")) for item in value]
    return value


def _misfits(value: Any, schema: Mapping[str, Any], place: str) -> Iterator[str]:
    kinds = _kinds(schema)
    if kinds and not any(_TYPES[kind](value) for kind in kinds):
        yield f"{place}: {' or '.join(kinds)}"
    if "const" in schema and not _is_same(value, schema["const"]):
        yield f"{place}: the constant"
    if "enum" in schema and not any(_is_same(value, choice) for choice in schema["enum"]):
        yield f"{place}: one of {len(schema['enum'])} values"
    if "anyOf" in schema and all(misfit(value, choice, place) for choice in schema["anyOf"]):
        yield f"{place}: one of {len(schema['anyOf'])} shapes"
    if isinstance(value, dict):
        yield from _misfits_of_object(value, schema, place)
    elif isinstance(value, list):
        yield from _out_of_bounds(len(value), schema, ("minItems", "maxItems"), place)
        for index, item in enumerate(value):
            yield from _if_any(misfit(item, schema.get("items"), f"{place}[{index}]"))
    elif isinstance(value, str):
        yield from _out_of_bounds(len(value), schema, ("minLength", "maxLength"), place)
    elif _TYPES["number"](value):
        yield from _out_of_bounds(value, schema, ("minimum", "maximum"), place)


def _misfits_of_object(value: dict[str, Any], schema: Mapping[str, Any], place: str) -> Iterator[str]:
    known: Mapping[str, object] = schema.get("properties", {})
    for name in schema.get("required", []):
        if name not in value:
            yield f"{place}.{name}: required"
    for name, item in value.items():
        if name in known:
            yield from _if_any(misfit(item, known[name], f"{place}.{name}"))
        else:
            # The name is the model's own text and must not appear in the message.
            yield from _if_any(misfit(item, schema.get("additionalProperties"), f"{place}.(additional)"))


def _out_of_bounds(size: float, schema: Mapping[str, Any], bounds: tuple[str, str], place: str) -> Iterator[str]:
    least, most = (schema.get(bound) for bound in bounds)
    if least is not None and size < least:
        yield f"{place}: {bounds[0]} {least}"
    if most is not None and size > most:
        yield f"{place}: {bounds[1]} {most}"


def _kinds(schema: Mapping[str, Any]) -> Sequence[str]:
    kinds: str | Sequence[str] = schema.get("type", [])
    return [kinds] if isinstance(kinds, str) else kinds


def _subschemas(schema: Mapping[str, Any]) -> Iterator[tuple[str, object]]:
    for name, part in schema.get("properties", {}).items():
        yield name, part
    for name in ("items", "additionalProperties"):
        if name in schema:
            yield name, schema[name]
    for choice in schema.get("anyOf", []):
        yield "anyOf", choice


def _if_any(problem: str) -> Sequence[str]:
    return [problem] if problem else []


def _is_whole(value: object) -> bool:
    return isinstance(value, float) and value.is_integer()


def _is_same(value: object, other: object) -> bool:
    """Return whether two JSON values are equal; in Python, True equals 1."""
    return value == other and isinstance(value, bool) == isinstance(other, bool)
