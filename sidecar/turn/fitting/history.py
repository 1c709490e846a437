"""Chooses which turns of the thread stay verbatim: the last exchange always, older turns newest first while they fit.

Turns go in whole, and a tool call always with its result. The one exception is a last exchange larger than the pool: its
middle is cut, with a visible mark.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any

from sidecar.turn.fitting.tool_pairs import Paired, Unit, pair
from sidecar.turn.fitting.truncation import CUT_MARK, cut_middle
from sidecar.turn.items import Decision, HistoryTurn, TokenCounter

MESSAGE_TOKENS = 4
_LEAST_CUT_TOKENS = 24
_CUT_REASON = "the last exchange is larger than the pool; its middle is cut"


@dataclass(frozen=True, slots=True)
class History:
    """A thread's sendable turns: the last exchange (oldest unit first), and the units before it (newest first)."""

    exchange: tuple[Unit, ...]
    older: tuple[Unit, ...]
    paired: Paired
    unusable: tuple[HistoryTurn, ...] = ()

    @property
    def exchange_tokens(self) -> int:
        """The tokens of the whole last exchange."""
        return sum(unit.tokens for unit in self.exchange)

    def recent_ids(self, tail_tokens: int) -> frozenset[str]:
        """Return the ids of the last exchange's turns and of those before it that a tail of so many tokens holds."""
        sizes = accumulate(unit.tokens for unit in self.older)
        tail = [unit for unit, tokens in zip(self.older, sizes, strict=True) if tokens <= tail_tokens]
        return frozenset(turn.id for unit in (*self.exchange, *tail) for turn in unit.turns)


@dataclass(frozen=True, slots=True)
class Exchange:
    """The last exchange as sent. `cut` holds the ids of shortened turns, `gone` those of turns left out.

    `turn_ids` holds the ids of all its turns in the order they get room: the first unit, then the others from the last backwards.
    """

    turns: tuple[HistoryTurn, ...]
    tokens: int
    turn_ids: tuple[str, ...] = ()
    cut: frozenset[str] = frozenset()
    gone: frozenset[str] = frozenset()

    @property
    def whole_turn_ids(self) -> frozenset[str]:
        """The ids of the turns that go in verbatim."""
        return frozenset(turn.id for turn in self.turns) - self.cut


@dataclass(frozen=True, slots=True)
class TurnFate:
    """The decision about one turn of the thread, and its tokens in the window (0 when absent)."""

    turn: HistoryTurn
    decision: Decision
    reason: str
    tokens: int = 0


def read(turns: Sequence[HistoryTurn], meter: TokenCounter) -> History:
    """Return the thread split at its last exchange, which begins with the last turn in which the user speaks."""
    by_id = {turn.id: turn for turn in turns}
    paired = pair([turn for turn in by_id.values() if not turn.fault])
    units = _from_beginning(_counted_as_paired(paired.units, by_id, meter), turns)
    opening = next((place for place in range(len(units) - 1, -1, -1) if _user_speaks(units[place])), len(units) - 1)
    split = max(0, opening)
    return History(units[split:], units[:split][::-1], paired, tuple(turn for turn in by_id.values() if turn.fault))


def _counted_as_paired(
    units: tuple[Unit, ...], before: Mapping[str, HistoryTurn], meter: TokenCounter
) -> tuple[Unit, ...]:
    """Return the units with the tokens counted again for turns whose parts were left out or given an id."""
    changed = [turn for unit in units for turn in unit.turns if tuple(turn.parts) != tuple(before[turn.id].parts)]
    if not changed:
        return units
    counts = meter.count([message_text(turn.text, turn.parts) for turn in changed])
    recounted = {
        one.id: replace(one, tokens=count + MESSAGE_TOKENS) for one, count in zip(changed, counts, strict=True)
    }
    turns = [tuple(recounted.get(turn.id, turn) for turn in unit.turns) for unit in units]
    return tuple(Unit(one, sum(turn.tokens for turn in one)) for one in turns)


def _from_beginning(units: tuple[Unit, ...], turns: Sequence[HistoryTurn]) -> tuple[Unit, ...]:
    """Return the units, the first with no tokens before it if the turns begin with the thread: earlier turns are not sent."""
    if not units or turns[0].tokens_before:
        return units
    first = replace(units[0].turns[0], tokens_before=0)
    return (Unit((first, *units[0].turns[1:]), units[0].tokens), *units[1:])


def _user_speaks(unit: Unit) -> bool:
    return any(turn.role == "user" and (turn.text.strip() or not _are_results(turn)) for turn in unit.turns)


def _are_results(turn: HistoryTurn) -> bool:
    return all(part.get("type") == "tool_result" for part in turn.parts)


def message_text(text: str, parts: Sequence[Mapping[str, Any]]) -> str:
    """Return the counted text of a message: its text, then its tool calls and results as JSON."""
    return text if not parts else f"{text}\n{json.dumps(list(parts), ensure_ascii=False, sort_keys=True)}"


def fit_exchange(history: History, pool_tokens: int, meter: TokenCounter) -> Exchange:
    """Return the last exchange fitted to the pool: whole if it fits, else with its middle cut.

    Cut turns are counted as sent. If they exceed the pool, the cut is repeated with a limit lower by the excess.
    """
    if history.exchange_tokens <= pool_tokens:
        return Exchange(_turns(history.exchange), history.exchange_tokens, _asked(history.exchange))
    limit_tokens = pool_tokens
    exchange = _cut_exchange(history, limit_tokens, meter)
    while exchange.tokens > pool_tokens and limit_tokens > MESSAGE_TOKENS:
        limit_tokens -= exchange.tokens - pool_tokens
        exchange = _cut_exchange(history, limit_tokens, meter)
    return exchange


def _cut_exchange(history: History, limit_tokens: int, meter: TokenCounter) -> Exchange:
    turns = _turns(history.exchange)
    mark_tokens = meter.count([CUT_MARK])[0]
    drafts = {turn.id: draft for turn, draft in zip(turns, _drafts(turns, meter), strict=True)}
    kept = _outer_units(history.exchange, drafts, limit_tokens - mark_tokens)
    has_gap = len(kept) < len(history.exchange)
    remaining = [drafts[turn.id] for turn in _turns(kept)]
    if sum(draft.least_tokens for draft in remaining) > limit_tokens - mark_tokens:
        remaining = [remaining[0].bare()]
    shortened = _cut_to_fit(remaining, limit_tokens - mark_tokens * has_gap, meter)
    if has_gap:
        shortened[0] = shortened[0].marked(mark_tokens)
    return _as_exchange(history.exchange, shortened, meter)


def recent(
    older: Sequence[Unit], *, limit_tokens: int, most_turns: int, step_tokens: int = 0, step_turns: int = 1
) -> int:
    """Return how many of the older units, given newest first, the window holds within both limits.

    With steps, the window begins only where the thread's tokens cross a multiple of `step_tokens`, or, if the limit on turns is
    reached first, where its turns cross a multiple of `step_turns`. So the window keeps its beginning for many turns, but may
    hold less than would fit.
    """
    # The tokens before a turn are unknown for threads that are stored elsewhere.
    is_aligned = step_tokens > 0 and any(unit.turns[0].tokens_before for unit in older)
    by_tokens = by_turns = tokens = turns = 0
    for count, unit in enumerate(older, start=1):
        tokens, turns = tokens + unit.tokens, turns + len(unit.turns)
        if turns > most_turns:
            return max(by_tokens, by_turns)
        if tokens > limit_tokens:
            return by_tokens
        first, before = unit.turns[0], [one.turns[0] for one in older[count : count + 1]]
        if not is_aligned or _crosses(first.tokens_before, [one.tokens_before for one in before], step_tokens):
            by_tokens = count
        if _crosses(first.position, [one.position for one in before], step_turns):
            by_turns = count
    # Only as many turns of a longer thread are read as the window may hold.
    is_cut = is_aligned and older[-1].turns[0].tokens_before > 0
    return max(by_tokens, by_turns) if is_cut else by_tokens


def _crosses(place: int, before: Sequence[int], step: int) -> bool:
    """Return whether a multiple of the step lies between the previous unit, if any, and this one."""
    return place // step > before[0] // step if before else place == 0


def fates(history: History, exchange: Exchange, older_count: int) -> Iterator[TurnFate]:
    """Yield the fate of every turn, newest first, given that `older_count` of the older units are in the window."""
    sent = {turn.id: turn for turn in exchange.turns}
    for turn in reversed(_turns(history.exchange)):
        if turn.id in exchange.gone:
            yield TurnFate(turn, Decision.OVER_BUDGET, _CUT_REASON)
        elif turn.id in exchange.cut:
            yield TurnFate(turn, Decision.SHORTENED, _CUT_REASON, sent[turn.id].tokens)
        else:
            yield _whole(sent[turn.id], "last exchange", history)
    for place, unit in enumerate(history.older):
        for turn in reversed(unit.turns):
            if place < older_count:
                yield _whole(turn, "recent turn", history)
            else:
                yield TurnFate(turn, Decision.OVER_BUDGET, "the window of recent turns ends after it")
    for turn in history.paired.emptied:
        yield TurnFate(
            turn, Decision.BELOW_CUTOFF, f"{history.paired.left_out[turn.id]}, and the turn has no other content"
        )
    for turn in history.unusable:
        yield TurnFate(turn, Decision.UNUSABLE, turn.fault)


def _whole(turn: HistoryTurn, reason: str, history: History) -> TurnFate:
    left_out = history.paired.left_out.get(turn.id)
    if left_out:
        return TurnFate(turn, Decision.SHORTENED, f"{reason}; {left_out}, so it is left out", turn.tokens)
    return TurnFate(turn, Decision.KEPT, reason, turn.tokens)


def _turns(units: Sequence[Unit]) -> tuple[HistoryTurn, ...]:
    return tuple(turn for unit in units for turn in unit.turns)


@dataclass(frozen=True, slots=True)
class _Draft:
    """A turn being cut: its cuttable texts (own text, tool results) with their counts, and the tokens of the rest."""

    turn: HistoryTurn
    texts: tuple[str, ...]
    counts: tuple[int, ...]
    fixed_tokens: int

    @property
    def least_tokens(self) -> int:
        """The tokens of the turn with every text cut to the shortest length worth keeping."""
        return self.fixed_tokens + sum(min(count, _LEAST_CUT_TOKENS) for count in self.counts)

    def bare(self) -> _Draft:
        """Return the turn without its parts."""
        return _Draft(replace(self.turn, parts=()), self.texts[:1], self.counts[:1], MESSAGE_TOKENS)

    def marked(self, mark_tokens: int) -> _Draft:
        """Return the turn with the cut mark after its text, where turns were left out."""
        texts = (self.texts[0] + CUT_MARK, *self.texts[1:])
        return _Draft(self.turn, texts, (self.counts[0] + mark_tokens, *self.counts[1:]), self.fixed_tokens)

    def whole(self) -> HistoryTurn:
        """Return the turn with the draft's texts, and their tokens as its count."""
        contents = iter(self.texts[1:])
        parts = tuple(part | {"content": next(contents)} if _is_cuttable(part) else part for part in self.turn.parts)
        return replace(self.turn, text=self.texts[0], parts=parts, tokens=self.fixed_tokens + sum(self.counts))


def _drafts(turns: Sequence[HistoryTurn], meter: TokenCounter) -> list[_Draft]:
    texts = [(turn.text, *(part["content"] for part in turn.parts if _is_cuttable(part))) for turn in turns]
    counts = iter(meter.count([text for turn_texts in texts for text in turn_texts]))
    drafts = []
    for turn, turn_texts in zip(turns, texts, strict=True):
        counted = tuple(next(counts) for _ in turn_texts)
        drafts.append(_Draft(turn, turn_texts, counted, max(MESSAGE_TOKENS, turn.tokens - sum(counted))))
    return drafts


def _is_cuttable(part: dict[str, Any]) -> bool:
    return part.get("type") == "tool_result" and isinstance(part.get("content"), str)


def _outer_units(units: Sequence[Unit], drafts: dict[str, _Draft], limit_tokens: int) -> list[Unit]:
    """Return the units that fit with every text cut to the minimum: the first, and as many of the last as fit."""
    costs = [sum(drafts[turn.id].least_tokens for turn in unit.turns) for unit in units]
    left_tokens = limit_tokens - costs[0]
    first_of_last = len(units)
    while first_of_last > 1 and costs[first_of_last - 1] <= left_tokens:
        first_of_last -= 1
        left_tokens -= costs[first_of_last]
    return [units[0], *units[first_of_last:]]


def _cut_to_fit(drafts: Sequence[_Draft], limit_tokens: int, meter: TokenCounter) -> list[_Draft]:
    """Return the drafts with their texts cut to the largest common cap at which all fit."""
    cap = _even_cap([count for draft in drafts for count in draft.counts], limit_tokens - _fixed_tokens(drafts))
    return [_capped(draft, cap, meter) for draft in drafts]


def _fixed_tokens(drafts: Sequence[_Draft]) -> int:
    return sum(draft.fixed_tokens for draft in drafts)


def _even_cap(counts: Sequence[int], limit_tokens: int) -> int:
    """Return the largest cap under which the counts sum to no more than the limit."""
    left_tokens = max(0, limit_tokens)
    for place, count in enumerate(sorted(counts)):
        share = left_tokens // (len(counts) - place)
        if count > share:
            return share
        left_tokens -= count
    return max(counts, default=0)


def _capped(draft: _Draft, cap: int, meter: TokenCounter) -> _Draft:
    cut = [
        (text, count) if count <= cap else cut_middle(text, cap, meter, text_tokens=count)
        for text, count in zip(draft.texts, draft.counts, strict=True)
    ]
    return _Draft(draft.turn, tuple(text for text, _ in cut), tuple(count for _, count in cut), draft.fixed_tokens)


def _as_exchange(units: Sequence[Unit], drafts: Sequence[_Draft], meter: TokenCounter) -> Exchange:
    before = {turn.id: turn for turn in _turns(units)}
    sent = [draft.whole() for draft in drafts]
    cut = frozenset(
        turn.id for turn in sent if (turn.text, turn.parts) != (before[turn.id].text, before[turn.id].parts)
    )
    turns = _counted_as_sent(sent, cut, meter)
    gone = before.keys() - {turn.id for turn in turns}
    return Exchange(turns, sum(turn.tokens for turn in turns), _asked(units), cut, frozenset(gone))


def _counted_as_sent(turns: Sequence[HistoryTurn], cut: frozenset[str], meter: TokenCounter) -> tuple[HistoryTurn, ...]:
    changed = [turn for turn in turns if turn.id in cut]
    counts = iter(meter.count([message_text(turn.text, turn.parts) for turn in changed]))
    return tuple(replace(turn, tokens=next(counts) + MESSAGE_TOKENS) if turn.id in cut else turn for turn in turns)


def _asked(units: Sequence[Unit]) -> tuple[str, ...]:
    return tuple(turn.id for unit in (*units[:1], *units[:0:-1]) for turn in unit.turns)
