"""The knobs of a profile by their flat names: `allocation`, `history_turns`, `knowledge.top_k`.

One flat mapping from name to value serves the client, the command line and JSON; an absent knob is inherited. This module also
converts it to and from the nested form of the messages, without importing the messages.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

Value = bool | int | float | str
Knobs = Mapping[str, Value]

SOURCES = ("thread", "knowledge", "memory", "wiki", "workspace", "tools")
ALLOCATIONS = ("priority", "seed_order", "pooled")
SPENDS = ("frugal", "balanced", "full")
WORDS: Mapping[str, Sequence[str]] = {"allocation": ALLOCATIONS, "spend": SPENDS}
"""The values of the knobs that take a word, in the order of their enum numbers."""

OF_A_SOURCE: Mapping[str, type] = {
    "enabled": bool,
    "required": bool,
    "priority": int,
    "top_k": int,
    "floor_tokens": int,
    "floor_share": float,
    "ceiling_tokens": int,
    "deadline_ms": int,
}
OF_A_TURN: Mapping[str, type] = {
    "spend": str,
    "allocation": str,
    "history_turns": int,
    "history_tail_tokens": int,
    "relevance_knee": float,
    "lead_lines": int,
    "response_reserve_tokens": int,
    "system_prompt_tokens": int,
    "tool_tokens": int,
    "budget_tokens": int,
    "max_items": int,
    "thread_summary": bool,
}
NAMES = (*OF_A_TURN, *(f"{source}.{knob}" for source in SOURCES for knob in OF_A_SOURCE))

_ANSWERS = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}


class UnknownKnob(ValueError):
    """There is no such knob; the message lists the known ones."""

    def __init__(self, name: str) -> None:
        known = ", ".join((*OF_A_TURN, *(f"SOURCE.{knob}" for knob in OF_A_SOURCE)))
        near = get_close_matches(name, NAMES, n=1, cutoff=0.6)
        hint = f"did you mean {near[0]}?" if near else f"SOURCE is one of {', '.join(SOURCES)}"
        super().__init__(f"{name[:100]!r} is not a knob; known are {known} ({hint}).")
        self.name = name


class UnusableKnob(ValueError):
    """A knob's value is invalid; the message names the knob and its type."""

    def __init__(self, name: str, value: object, wanted: str) -> None:
        super().__init__(f"{name}: {str(value)[:100]!r} is not {wanted}.")
        self.name = name


def read_assignments(texts: Iterable[str]) -> dict[str, Value | None]:
    """Return the knobs of `NAME=VALUE` texts; an empty value is None, which removes the knob.

    Raises UnknownKnob, UnusableKnob.
    """
    knobs: dict[str, Value | None] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals:
            raise UnusableKnob(name, text, "NAME=VALUE")
        knobs[name.strip()] = _read_text(name.strip(), value.strip())
    return knobs


def read_json(text: str) -> dict[str, Value | None]:
    """Return the knobs of a JSON object, flat (`"knowledge.top_k": 5`) or nested (`"knowledge": {"top_k": 5}`).

    null removes a knob. Raises UnknownKnob, UnusableKnob.
    """
    try:
        values = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UnusableKnob("profile", text, "a JSON object") from error
    if not isinstance(values, dict):
        raise UnusableKnob("profile", text, "a JSON object")
    return {name: None if value is None else check(name, value) for name, value in _flat(values)}


def check(name: str, value: Value) -> Value:
    """Return the value if its type fits the knob; the service checks bounds. Raises UnknownKnob, UnusableKnob."""
    kind, value_type = _kind(name), type(value)
    if kind is float and value_type is int:
        return float(value)
    if value_type is not kind:  # isinstance would accept true as 1
        raise UnusableKnob(name, value, _wanted(kind))
    if kind is str and value not in WORDS[name]:
        raise UnusableKnob(name, value, f"one of {', '.join(WORDS[name])}")
    return value


def to_wire(knobs: Knobs) -> dict[str, Any]:
    """Return the fields of a Profile message. Raises UnknownKnob, UnusableKnob."""
    fields: dict[str, Any] = {}
    sources: dict[str, dict[str, Any]] = {}
    for name, value in knobs.items():
        checked = check(name, value)
        source, dot, knob = name.partition(".")
        if dot:
            sources.setdefault(source, {"source": f"SOURCE_{source.upper()}"})[knob] = checked
        else:
            fields[name] = f"{name.upper()}_{str(checked).upper()}" if name in WORDS else checked
    return {**fields, "sources": [sources[source] for source in SOURCES if source in sources]}


def from_wire(profile: Any) -> dict[str, Value]:
    """Return the knobs set in a Profile message: those of a turn first, then those of sources, in the order of sources."""
    knobs: dict[str, Value] = {}
    knobs |= {name: words[number - 1] for name, words in WORDS.items() if (number := getattr(profile, name))}
    knobs |= {name: getattr(profile, name) for name in OF_A_TURN if name not in WORDS and profile.HasField(name)}
    for entry in sorted(profile.sources, key=lambda entry: int(entry.source)):
        if entry.source:
            prefix = SOURCES[entry.source - 1]
            knobs |= {f"{prefix}.{knob}": getattr(entry, knob) for knob in OF_A_SOURCE if entry.HasField(knob)}
    return knobs


def _read_text(name: str, text: str) -> Value | None:
    kind = _kind(name)
    if not text:
        return None
    try:
        value = _ANSWERS[text.lower()] if kind is bool else kind(text)
    except (KeyError, ValueError) as error:
        raise UnusableKnob(name, text, _wanted(kind)) from error
    return check(name, value)


def _kind(name: str) -> type:
    source, dot, knob = name.partition(".")
    known = OF_A_SOURCE if dot and source in SOURCES else OF_A_TURN
    kind = known.get(knob if dot and source in SOURCES else name)
    if kind is None:
        raise UnknownKnob(name)
    return kind


def _wanted(kind: type) -> str:
    return {bool: "true or false", int: "a whole number", float: "a number", str: "a word"}[kind]


def _flat(values: Mapping[str, Any]) -> Sequence[tuple[str, Any]]:
    pairs: list[tuple[str, Any]] = []
    for name, value in values.items():
        if isinstance(value, dict):
            pairs += [(f"{name}.{knob}", inner) for knob, inner in value.items()]
        else:
            pairs.append((name, value))
    return pairs
