"""Extracts the requested object from a model's text.

Pure. Repair only removes the text around the object (reasoning, a code fence, text before and after) and properties that the
schema forbids. Missing content is never invented.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, Final

from models.language.schema import fitted, misfit

_THINKING: Final = "<think>"
_THOUGHT: Final = "</think>"
_LANGUAGE: Final = re.compile(r"[\w-]*\n")
_UNSTORABLE: Final = re.compile("[\0\ud800-\udfff]")
_MARK: Final = re.compile(r'["{}]|\\.', re.DOTALL)


def object_in(
    text: str, schema: Mapping[str, object], accepted: Mapping[str, object] | None = None
) -> tuple[dict[str, Any] | None, str]:
    """Return the first object in the text that fits the schema, and an empty reason; or None and the reason.

    The reason names a path in the object and the required type, never the model's text. If no object fits the schema,
    the first one that fits `accepted` is returned, with the reason why it does not fit the schema.
    """
    reason = "no JSON object"
    fallback: dict[str, Any] | None = None
    try:
        for candidate in _objects(text):
            value = fitted(candidate, schema)
            problem = misfit(value, schema)
            if not problem:
                return value, ""
            if fallback is None and accepted is not None and not misfit(candidate, accepted):
                fallback, reason = candidate, problem
            reason = problem if reason == "no JSON object" else reason
    except RecursionError:
        return None, "nested too deep"
    return fallback, reason


def spoken_text(text: str) -> str:
    """Return the text after a model's reasoning, if it begins with reasoning; a server may have removed the opening tag."""
    thoughts, closing, answer = text.rpartition(_THOUGHT)
    if text.lstrip().startswith(_THINKING):
        return answer if closing else ""
    return answer if closing and _THINKING not in thoughts else text


def kept_text(text: str) -> str:
    """Return the text with NUL and lone surrogates, which the database or UTF-8 cannot hold, replaced by U+FFFD."""
    return _UNSTORABLE.sub("\ufffd", text)


def _objects(text: str) -> Iterator[dict[str, Any]]:
    """Yield the objects in a text, the most likely first: the whole text, fenced blocks, then each balanced pair of braces."""
    bare = text.rpartition(_THOUGHT)[2]
    fenced = (_LANGUAGE.sub("", part, count=1) if _LANGUAGE.match(part) else part for part in bare.split("```")[1::2])
    for part in chain((text, bare), fenced, _balanced(bare)):
        value = _value_of(part)
        if isinstance(value, dict):
            yield _storable(value)


def _balanced(text: str) -> Iterator[str]:
    """Yield the outermost runs of text between matching braces, but no part of a truncated object."""
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
    # A number of thousands of digits raises a ValueError that is not a JSONDecodeError.
    except ValueError:
        return None


def _storable(value: Any) -> Any:
    """Return the value with `kept_text` applied to every text in it."""
    if isinstance(value, str):
        return kept_text(value)
    if isinstance(value, Mapping):
        return {kept_text(name): _storable(item) for name, item in value.items()}
    if isinstance(value, Sequence):
        return [_storable(item) for item in value]
    return value


def _refuse(name: str) -> None:
    raise ValueError(name)
