"""Checks a value against a shape of botocore's service models: members, requirements, bounds, enums and patterns.

botocore's own validator checks only types and minimum lengths, and only of requests.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping
from typing import Any

import botocore.session
from botocore.model import OperationModel

_TYPES: dict[str, type | tuple[type, ...]] = {
    "structure": dict,
    "map": dict,
    "list": list,
    "string": str,
    "boolean": bool,
    "integer": int,
    "long": int,
    "float": (int, float),
    "double": (int, float),
    "blob": (str, bytes),
}


@functools.cache
def operation(name: str, service: str = "bedrock-runtime") -> OperationModel:
    """Return the model of an operation."""
    return botocore.session.get_session().get_service_model(service).operation_model(name)


def faults(value: Any, shape: Any, place: str) -> Iterator[str]:
    """Yield where the value is not what the shape allows."""
    if getattr(shape, "is_document_type", False):
        return
    is_kind: bool = isinstance(value, _TYPES[shape.type_name])
    if not is_kind or (isinstance(value, bool) and shape.type_name != "boolean"):
        yield f"{place}: {shape.type_name}"
        return
    yield from _out_of_bounds(value, shape, place)
    if shape.type_name == "structure":
        yield from _structure_faults(value, shape, place)
    elif shape.type_name == "list":
        for index, one in enumerate(value):
            yield from faults(one, shape.member, f"{place}[{index}]")
    elif shape.type_name == "map":
        for key, one in value.items():
            yield from faults(one, shape.value, f"{place}.{key}")


def _structure_faults(value: Mapping[str, Any], shape: Any, place: str) -> Iterator[str]:
    yield from (f"{place}.{name}: required" for name in shape.required_members if name not in value)
    yield from (f"{place}.{name}: unknown" for name in value.keys() - shape.members.keys())
    if getattr(shape, "is_tagged_union", False) and len(value) != 1:
        yield f"{place}: one member of the union"
    for name in value.keys() & shape.members.keys():
        yield from faults(value[name], shape.members[name], f"{place}.{name}")


def _out_of_bounds(value: Any, shape: Any, place: str) -> Iterator[str]:
    limits = shape.metadata
    size = value if isinstance(value, int | float) else len(value)
    if size < limits.get("min", size) or size > limits.get("max", size):
        yield f"{place}: {limits}"
    if isinstance(value, str) and (limits.get("enum") and value not in limits["enum"]):
        yield f"{place}: one of {limits['enum']}"
    if isinstance(value, str) and limits.get("pattern") and not re.fullmatch(limits["pattern"], value):
        yield f"{place}: {limits['pattern'][:60]}"
