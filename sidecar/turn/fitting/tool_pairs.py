"""Pairs tool calls with their results and drops unpaired parts.

Providers reject a call without its result, a result without its call, and any message between the two. So calls and results
are paired in order, pairs are never separated, and unpaired parts are left out, with a reason. What the user said while a tool
ran is sent after the tool's result.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sidecar.turn.items import HistoryTurn

_Place = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Unit:
    """Turns that are kept or dropped together, oldest first: a single turn, or a tool call with its results."""

    turns: tuple[HistoryTurn, ...]
    tokens: int


@dataclass(frozen=True, slots=True)
class Paired:
    """A thread in units, oldest first. `left_out` maps a turn's id to the reason why a part of it was left out."""

    units: tuple[Unit, ...]
    left_out: dict[str, str]
    emptied: tuple[HistoryTurn, ...] = ()


def pair(turns: Sequence[HistoryTurn]) -> Paired:
    """Return the turns, oldest first, as units whose calls and results are all paired.

    A pair without an id gets one. A turn without remaining content goes into `emptied` instead of a unit.
    """
    ordered = sorted(turns, key=lambda turn: (turn.position, turn.id))
    if not any(turn.parts for turn in ordered):
        return Paired(tuple(Unit((turn,), turn.tokens) for turn in ordered), {})
    links = _links(ordered)
    left_out: dict[str, str] = {}
    kept_turns = [_without_unpaired(turn, index, links, left_out) for index, turn in enumerate(ordered)]
    emptied = tuple(turn for turn, now in zip(ordered, kept_turns, strict=True) if now is None)
    return Paired(tuple(_units(kept_turns, links)), left_out, emptied)


@dataclass(frozen=True, slots=True)
class _Call:
    """A tool call that waits for its result."""

    place: _Place
    id: str
    is_parted: bool = False


@dataclass(frozen=True, slots=True)
class _Link:
    """A paired part's link: the id of the pair, and the index of the turn that holds the call."""

    id: str
    call_turn: int


def _links(turns: Sequence[HistoryTurn]) -> dict[_Place, _Link]:
    """Return the link of each part (turn, part) that has a partner.

    After a user's message, a waiting call is only paired with a result of its own id. Calls of neighbouring turns wait together.
    """
    links: dict[_Place, _Link] = {}
    waiting: list[_Call] = []
    is_calling = False
    for index, turn in enumerate(turns):
        calls: list[_Call] = []
        linked_before = len(links)
        for number, part in enumerate(turn.parts):
            place, part_id = (index, number), str(part.get("id") or "")
            if part.get("type") == "tool_call":
                calls.append(_Call(place, part_id))
            elif part.get("type") == "tool_result" and (call := _take(calls, part_id) or _take(waiting, part_id)):
                made_id = f"call-{call.place[0]}-{call.place[1]}"
                links[place] = links[call.place] = _Link(call.id or part_id or made_id, call.place[0])
        if calls:
            waiting = [*(waiting if is_calling else ()), *calls]
            is_calling = len(links) == linked_before
        elif len(links) == linked_before and turn.role != "system":
            waiting = [replace(call, is_parted=True) for call in waiting if call.id] if turn.role == "user" else []
        is_calling = is_calling and bool(calls or turn.role == "system")
    return links


def _take(calls: list[_Call], result_id: str) -> _Call | None:
    """Remove and return the call of a result: the newest with its id, else the first call if it or the result has no id."""
    same_id = next((call for call in reversed(calls) if result_id and call.id == result_id), None)
    taken = same_id or next((call for call in calls if not call.is_parted and not (result_id and call.id)), None)
    if taken:
        calls.remove(taken)
    return taken


def _without_unpaired(
    turn: HistoryTurn, index: int, links: dict[_Place, _Link], left_out: dict[str, str]
) -> HistoryTurn | None:
    """Return the turn without its unpaired parts, or None if nothing remains; record the reasons in `left_out`."""
    if not turn.parts:
        return turn
    parts: list[dict[str, Any]] = []
    for number, part in enumerate(turn.parts):
        link = links.get((index, number))
        if link:
            parts.append(part | {"id": link.id})
        elif part.get("type") == "tool_call":
            left_out[turn.id] = "its tool call has no result right after it"
        elif part.get("type") == "tool_result":
            left_out[turn.id] = "its tool result has no call right before it"
        else:
            parts.append(part)
    return replace(turn, parts=tuple(parts)) if parts or turn.text.strip() else None


def _units(turns: Sequence[HistoryTurn | None], links: dict[_Place, _Link]) -> Iterator[Unit]:
    """Yield units such that every call is in the same unit as its results, and nothing is between them."""
    linked: dict[int, int] = {}  # by turn, the last call that it holds or answers
    for (index, _), link in links.items():
        linked[index] = max(link.call_turn, linked.get(index, 0))
    answered_until: dict[int, int] = {}
    for (index, _), link in links.items():
        answered_until[link.call_turn] = max(index, answered_until.get(link.call_turn, 0))
    start = 0
    while start < len(turns):
        index = end = start
        while index <= end:
            end = max(end, answered_until.get(index, index))
            index += 1
        places = sorted(range(start, end + 1), key=lambda place: (place not in linked, linked.get(place, 0)))
        run = tuple(turn for place in places if (turn := turns[place]) is not None)
        if run:
            yield Unit(run, sum(turn.tokens for turn in run))
        start = end + 1
