"""Short names for the objects in a prompt: P1 is a page, M1 a held name, R1 a memory. A model never sees an id."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from compiler.plan.contract import PageKey

NEW = "new:"

_SHAPE = re.compile(r"\[?([PMR])0*(\d{1,6})\]?")


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
