"""Defines the knobs of a turn: their bounds, their defaults, and how layers of knobs are merged.

A layer is the subset of knobs that one level (tenant, template, agent, space, turn) sets, as plain JSON. Invalid values are
refused here, by name, so that later code need not check a knob again.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from difflib import get_close_matches
from enum import StrEnum
from typing import Any

from sidecar.runtime.errors import InvalidArgument
from sidecar.turn.items import Source
from sidecar.turn.leads import MAX_LEAD_LINES
from sidecar.turn.ranking.worth import RULES, Spend, SpendRule

LOCAL_DEADLINE_MS, REMOTE_DEADLINE_MS = 250, 2500


class InvalidKnob(InvalidArgument):
    """A knob is invalid; the error names its path and says what to send instead."""


class Allocation(StrEnum):
    """How the pool is shared: by priority above a relevance knee (PRIORITY), by priority alone (SEED_ORDER), or by relevance
    alone (POOLED).
    """

    PRIORITY = "priority"
    SEED_ORDER = "seed_order"
    POOLED = "pooled"


@dataclass(frozen=True, slots=True)
class SourceKnobs:
    """One source's knobs. Priority 1 is first. A ceiling of None is no limit. `floor_share` caps the floor by a share of the
    pool.
    """

    enabled: bool = True
    required: bool = False
    priority: int = 2
    top_k: int = 40
    floor_tokens: int = 0
    floor_share: float = 1.0
    ceiling_tokens: int | None = None
    deadline_ms: int = LOCAL_DEADLINE_MS


@dataclass(frozen=True, slots=True)
class Profile:
    """Every knob of a turn. `sources` holds one entry per source, in the order of `Source`.

    `history_turns` bounds the window of recent turns; `history_tail_tokens` bounds its part before the last exchange, as does an
    eighth of the pool (at least 1,024 tokens), or a sixteenth of a pool under 4,000 tokens. Candidates below `relevance_knee`
    are offered after all tiers. `budget_tokens` bounds the pool for any model window; without it, `spend` bounds the recalled
    tokens. `thread_summary` adds the summary of older turns to the candidates.
    """

    sources: tuple[SourceKnobs, ...]
    spend: Spend = Spend.BALANCED
    allocation: Allocation = Allocation.PRIORITY
    history_turns: int = 50
    history_tail_tokens: int = 2048
    relevance_knee: float = 0.2
    lead_lines: int = 3
    response_reserve_tokens: int = 2048
    system_prompt_tokens: int = 0
    tool_tokens: int = 0
    budget_tokens: int | None = None
    max_items: int = 1000
    thread_summary: bool = False

    @property
    def rule(self) -> SpendRule:
        """The thresholds of `spend`. In seed order there are none: nothing is judged."""
        return RULES[Spend.FULL if self.allocation is Allocation.SEED_ORDER else self.spend]

    @property
    def recall_tokens(self) -> int | None:
        """The bound on the tokens of recalled items and turns before the last exchange; None if the profile sets a budget."""
        return self.rule.recall_tokens if self.budget_tokens is None else None

    def knobs(self, source: Source) -> SourceKnobs:
        """Return one source's knobs."""
        return self.sources[_PLACES[source]]

    def as_mapping(self) -> dict[str, Any]:
        """Return every knob as plain JSON; `parse_layer` and `merge` turn it back into this profile."""
        named = {knob: getattr(self, knob) for knob in _TURN_KNOBS}
        named |= {"allocation": self.allocation.value, "spend": self.spend.value}
        return named | {"sources": {source.value: asdict(self.knobs(source)) for source in Source}}


@dataclass(frozen=True, slots=True)
class Layer:
    """The validated knobs that one level sets; the others are inherited."""

    turn: Mapping[str, Any]
    sources: Mapping[Source, Mapping[str, Any]]


_PLACES = {source: place for place, source in enumerate(Source)}

DEFAULTS = Profile(
    sources=(
        SourceKnobs(priority=1, top_k=1000, required=True),
        SourceKnobs(priority=2, top_k=120),
        SourceKnobs(priority=3, top_k=150, floor_tokens=64),
        SourceKnobs(priority=3, top_k=20, floor_tokens=64, floor_share=0.04),
        SourceKnobs(priority=2, top_k=10),
        SourceKnobs(priority=2, top_k=10, deadline_ms=REMOTE_DEADLINE_MS),
    )
)
"""The built-in profile: default priorities, with small floors so that memory and wiki always get some room.

In a small pool a page displaces more evidence than it adds, so the wiki's floor is at most 4 % of the pool.
"""


def parse_layer(mapping: Mapping[str, Any]) -> Layer:
    """Parse a mapping of turn knobs, and `sources` by name, into a layer. Raises InvalidKnob."""
    _require_mapping("profile", mapping)
    turn = {name: _check(_TURN_KNOBS, name, value, "") for name, value in mapping.items() if name != "sources"}
    listed = mapping.get("sources", {})
    _require_mapping("sources", listed)
    sources = {_source(name): _parse_source(name, knobs) for name, knobs in listed.items()}
    return Layer(turn, sources)


def merge(*layers: Layer) -> Profile:
    """Return the built-in profile with the layers on top; later layers win, knob by knob.

    A floor above a ceiling from another layer is lowered to it. A layer that sets a floor resets `floor_share` to 1 unless it
    sets that too.
    """
    turn: dict[str, Any] = {}
    sources: dict[Source, dict[str, Any]] = {}
    for layer in layers:
        turn |= layer.turn
        for source, knobs in layer.sources.items():
            own_share = {"floor_share": 1.0} if "floor_tokens" in knobs else {}
            sources.setdefault(source, {}).update({**own_share, **knobs})
    merged = tuple(_ordered(replace(DEFAULTS.knobs(source), **sources.get(source, {}))) for source in Source)
    return replace(DEFAULTS, sources=merged, **turn)


def _ordered(knobs: SourceKnobs) -> SourceKnobs:
    if knobs.ceiling_tokens is None or knobs.floor_tokens <= knobs.ceiling_tokens:
        return knobs
    return replace(knobs, floor_tokens=knobs.ceiling_tokens)


def _parse_source(name: str, knobs: Any) -> dict[str, Any]:
    path = f"sources.{name}."
    _require_mapping(path.removesuffix("."), knobs)
    parsed = {knob: _check(_SOURCE_KNOBS, knob, value, path) for knob, value in knobs.items()}
    floor, ceiling = parsed.get("floor_tokens", 0), parsed.get("ceiling_tokens")
    if ceiling is not None and floor > ceiling:
        problem = f"{floor} is above the ceiling of {ceiling}"
        raise InvalidKnob(f"{path}floor_tokens", problem, "lower the floor or raise ceiling_tokens")
    return parsed


def _source(name: Any) -> Source:
    if not isinstance(name, str) or name not in _PLACES:
        raise InvalidKnob(f"sources.{_cut(name)}", "is not a source", f"use one of {', '.join(Source)}")
    return Source(name)


_Check = Callable[[str, Any], Any]


def _check(known: Mapping[str, _Check], name: Any, value: Any, path: str) -> Any:
    if not isinstance(name, str) or name not in known:
        near = get_close_matches(_cut(name), known, n=1)
        fix = f"did you mean {near[0]}?" if near else f"use one of {', '.join(known)}"
        raise InvalidKnob(f"{path}{_cut(name)}", "is not a knob", fix)
    return known[name](f"{path}{name}", value)


def _whole(low: int, high: int, *, or_none: bool = False) -> _Check:
    """Return a check for integers from `low` to `high`. Refuses booleans and floats such as 3.0."""
    fix = f"send a whole number from {low} to {high}" + (", or null for none" if or_none else "")

    def check(field: str, value: Any) -> int | None:
        if value is None and or_none:
            return None
        if type(value) is not int or not low <= value <= high:
            raise InvalidKnob(field, f"is {_shown(value)}", fix)
        return value

    return check


def _truth(field: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise InvalidKnob(field, f"is {_shown(value)}", "send true or false")
    return value


def _share(field: str, value: Any) -> float:
    if type(value) not in {int, float} or not math.isfinite(value) or not 0 <= value <= 1:
        raise InvalidKnob(field, f"is {_shown(value)}", "send a number from 0 to 1")
    return float(value)


def _allocation(field: str, value: Any) -> Allocation:
    if not isinstance(value, str) or value not in set(Allocation):
        raise InvalidKnob(field, f"is {_shown(value)}", f"use one of {', '.join(Allocation)}")
    return Allocation(value)


def _spend(field: str, value: Any) -> Spend:
    if not isinstance(value, str) or value not in set(Spend):
        raise InvalidKnob(field, f"is {_shown(value)}", f"use one of {', '.join(Spend)}")
    return Spend(value)


def _require_mapping(field: str, value: Any) -> None:
    if not isinstance(value, Mapping):
        raise InvalidKnob(field, f"is {_shown(value)}", "send an object of knobs by name")


def _shown(value: Any) -> str:
    return f"of type {type(value).__name__}" if isinstance(value, Mapping | list) else _cut(repr(value))


def _cut(value: Any) -> str:
    return str(value)[:60]


_TOKENS = _whole(0, 10_000_000)
_SOURCE_KNOBS: Mapping[str, _Check] = {
    "enabled": _truth,
    "required": _truth,
    "priority": _whole(1, 9),
    "top_k": _whole(0, 1000),
    "floor_tokens": _whole(0, 1_000_000),
    "floor_share": _share,
    "ceiling_tokens": _whole(0, 10_000_000, or_none=True),
    "deadline_ms": _whole(1, 60_000),
}
_TURN_KNOBS: Mapping[str, _Check] = {
    "spend": _spend,
    "allocation": _allocation,
    "history_turns": _whole(0, 10_000),
    "history_tail_tokens": _TOKENS,
    "relevance_knee": _share,
    "lead_lines": _whole(1, MAX_LEAD_LINES),
    "response_reserve_tokens": _TOKENS,
    "system_prompt_tokens": _TOKENS,
    "tool_tokens": _TOKENS,
    "budget_tokens": _whole(0, 10_000_000, or_none=True),
    "max_items": _whole(1, 10_000),
    "thread_summary": _truth,
}
assert set(_SOURCE_KNOBS) == {field.name for field in fields(SourceKnobs)}
assert {*_TURN_KNOBS, "sources"} == {field.name for field in fields(Profile)}
