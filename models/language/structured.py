"""From a model's text to the object that was asked for.

Pure. Repair only takes away what stands around the object: a model's thoughts, a fence, talk before and after, properties
that the schema forbids. Nothing that a model left out is ever made up.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, Final

from models.language.schema import fitted, misfit

_LANGUAGE: Final = re.compile(r"[\w-]*\n")
_UNKEEPABLE: Final = re.compile("[\0\ud800-\udfff]")
_MARK: Final = re.compile(r'["{}]|\\.', re.DOTALL)


def object_in(
    text: str, schema: Mapping[str, object], accepted: Mapping[str, object] | None = None
) -> tuple[dict[str, Any] | None, str]:
    """Return the first object in the text that fits the schema and "", or None and why there is none.

    The reason names a place in the object and what was wanted there, never what the model wrote. Where no object fits the
    schema, the first that fits `accepted` is returned, with the reason why it does not fit the schema.
    """
    reason = "no JSON object"
    taken: dict[str, Any] | None = None
    try:
        for found in _objects(text):
            value = fitted(found, schema)
            wrong = misfit(value, schema)
            if not wrong:
                return value, ""
            if taken is None and accepted is not None and not misfit(found, accepted):
                taken, reason = found, wrong
            reason = wrong if reason == "no JSON object" else reason
    except RecursionError:
        return None, "nested too deep"
    return taken, reason


def kept_text(text: str) -> str:
    """Return the text with U+FFFD in place of NUL and half surrogates, which no database and no encoding carries."""
    return _UNKEEPABLE.sub("\ufffd", text)


def _objects(text: str) -> Iterator[dict[str, Any]]:
    """Yield the objects in a text, the likeliest first: the whole of it, what is fenced, then each balanced one."""
    # What follows a model's thoughts; a server may have cut their opening mark off.
    bare = text.rpartition("</think>")[2]
    fenced = (_LANGUAGE.sub("", part, count=1) if _LANGUAGE.match(part) else part for part in bare.split("```")[1::2])
    for part in chain((text, bare), fenced, _balanced(bare)):
        value = _value_of(part)
        if isinstance(value, dict):
            yield _keepable(value)


def _balanced(text: str) -> Iterator[str]:
    """Yield the outermost runs of text between matching braces: never a part of an object that was cut off."""
    depth = start = 0
    is_quoted = False
    for mark in _MARK.finditer(text):
        if mark[0] == '"':
            is_quoted = depth > 0 and not is_quoted
        elif is_quoted:
            continue
        elif mark[0] == "{":
            start = start if depth else mark.start()
            depth += 1
        elif mark[0] == "}" and depth:
            depth -= 1
            if not depth:
                yield text[start : mark.end()]


def _value_of(text: str) -> Any:
    try:
        return json.loads(text, parse_constant=_refuse)
    # A number of thousands of digits is a ValueError of another kind than bad syntax.
    except ValueError:
        return None


def _keepable(value: Any) -> Any:
    """Return the value with every text in it as `kept_text`."""
    if isinstance(value, str):
        return kept_text(value)
    if isinstance(value, Mapping):
        return {kept_text(name): _keepable(one) for name, one in value.items()}
    if isinstance(value, Sequence):
        return [_keepable(one) for one in value]
    return value


def _refuse(name: str) -> None:
    raise ValueError(name)
