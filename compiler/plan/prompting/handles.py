"""Short names for the objects in a prompt: P1 is a page, M1 a held name, R1 a memory. A model never sees an id."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from compiler.plan.contract import PageKey

NEW = "new:"

_SHAPE = re.compile(r"\[?([PMR])0*(\d{1,6})\]?")
_ONE = re.compile(r"[PMR]0*\d{1,6}")
_AND = r"(?:\s{0,2}[,;&]\s{0,2}|\s{1,2}(?:and\s{1,2})?)"
_LISTED = re.compile(rf"\s{{0,2}}[\[(]\s{{0,2}}{_ONE.pattern}(?:{_AND}{_ONE.pattern})*\s{{0,2}}[\])]")
_PROSE = {"body_md", "proposed_body_md", "summary", "context", "parentSummary", "topHighlights"}


@dataclass(frozen=True, slots=True)
class Handles:
    """The values behind one prompt's handles. Several handles may stand for the parts of one memory."""

    pages: Mapping[str, PageKey] = field(default_factory=dict)
    mentions: Mapping[str, str] = field(default_factory=dict)
    memories: Mapping[str, str] = field(default_factory=dict)


def number(letter: str, values: Iterable[str]) -> dict[str, str]:
    """Return the values by handle, in order: the letter and a number from 1."""
    return {f"{letter}{at}": value for at, value in enumerate(values, 1)}


def normal(handle: object) -> str:
    """Return a handle in normal form, from spellings like `[R07]` and ` r7 `; empty for any other value."""
    shape = _SHAPE.fullmatch(handle.strip().upper()) if isinstance(handle, str) else None
    return f"{shape[1]}{shape[2]}" if shape else ""


def without_handles(answer: Mapping[str, Any], handles: Handles, shown: str) -> dict[str, Any]:
    """Return an answer without citations such as `[R1, R2]` in its prose; a page could not resolve them.

    Only handles of the prompt are removed, and no words that the prompt (`shown`) has itself, as in `the first run (R1)`.
    """
    known = handles.memories.keys() | handles.pages.keys() | handles.mentions.keys()

    def kept(found: re.Match[str]) -> str:
        is_citation = all(normal(one) in known for one in _ONE.findall(found[0]))
        return "" if is_citation and found[0].strip() not in shown else found[0]

    def cleaned(value: Any, *, is_prose: bool) -> Any:
        if isinstance(value, str):
            return _LISTED.sub(kept, value) if is_prose else value
        if isinstance(value, Mapping):
            return {name: cleaned(one, is_prose=name in _PROSE) for name, one in value.items()}
        return [cleaned(one, is_prose=is_prose) for one in value] if isinstance(value, list) else value

    return {name: cleaned(one, is_prose=False) for name, one in answer.items()}
