"""Decides the order in which turns and items are offered room in the pool.

The order is fixed. Pinned items and the last exchange are in before the first offer. Then come recent turns (which leave room
for the floors), each source's floor, and the priority tiers. The remainder goes to leads made full, older history, and
candidates below the relevance knee; among these, pages that no typed edge led to come last. In seed order, the recent turns
come in their own tier and take the remaining tokens at the end. An offer that does not fit is skipped, so an item is refused
only for its own size.

The recent turns depend only on the thread and the pool, never on recalled items, so that a provider's cache keeps them. In
pools of at least 4,000 tokens, they begin at a multiple of a fixed number of the thread's tokens.

Two properties hold:

- A larger budget never loses the first offer on which two budgets differ: all earlier offers had the same outcome, so the
  larger budget has more left. Both budgets must be under 4,000 tokens, or neither; a thread's summary, offered from 2,000
  tokens on, is an exception.
- Without duplicates, a raised priority never costs its source any tokens: the order within the source and among the others stays
  the same, and its own offers come earlier. So more is left at its first offer with a different outcome, and the gain there
  exceeds all that the other run had left.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from sidecar.turn.fitting.fuse import is_calibrated, relevances
from sidecar.turn.fitting.history import Exchange, recent
from sidecar.turn.fitting.ledger import NO_LIMIT, Ledger, Stock
from sidecar.turn.fitting.tool_pairs import Unit
from sidecar.turn.items import Form, Source
from sidecar.turn.profile import Allocation, Profile, SourceKnobs

_REMAINDER = "remaining tokens"
_LAST_TIER = 100
# A page is too irrelevant for the wiki's floor below 1/32 of the knee, or below half of the best page's relevance.
_PAGE_KNEE_SHARE = 32
_PAGE_BEST_SHARE = 2
_ALIGNED_FROM_TOKENS, _STEP_TOKENS = 4_000, 1_024
# Recent turns before the last exchange take at most 1/16 or 1/8 of the pool. An aligned window is half empty on average.
_NARROW_TAIL_SHARE, _WIDE_TAIL_SHARE = 16, 8


@dataclass(frozen=True, slots=True)
class PoolDemand:
    """The demand on a pool of `pool_tokens`: the stock, the last exchange (already in), and the units before it."""

    stock: Stock
    exchange: Exchange
    older: Sequence[Unit]
    pool_tokens: int


@dataclass(frozen=True, slots=True)
class Shared:
    """An allocated pool: the ledger, and how many of the older units are in the window."""

    ledger: Ledger
    older_count: int


def share(wanted: PoolDemand, profile: Profile, ledger: Ledger) -> Shared:
    """Allocate the ledger's remaining tokens: the notice, the pinned items and the last exchange are already deducted."""
    sharing = _Sharing(wanted, profile, ledger)
    sharing.run()
    return Shared(sharing.ledger, sharing.older_count)


class _Sharing:
    """The allocation of one pool under one profile. Items are identified by their indexes in the stock, best first."""

    def __init__(self, wanted: PoolDemand, profile: Profile, ledger: Ledger) -> None:
        stock, exchange, left_tokens = wanted.stock, wanted.exchange, ledger.left_tokens
        self.ledger = ledger
        self.ledger.show(exchange.whole_turn_ids, 0)
        self.ledger.steps += [(turn_id, Form.LEAD, turn_id not in exchange.gone) for turn_id in exchange.turn_ids]
        self.ledger.steps += [(turn_id, Form.FULL, turn_id in exchange.whole_turn_ids) for turn_id in exchange.turn_ids]
        self.older_count = 0
        self._wanted, self._profile = wanted, profile
        self._firsts: dict[int, tuple[int, int]] | None = None
        self._summary = len(stock.items) - 1 if stock.has_summary else None
        self._indexes: dict[Source, list[int]] = {source: [] for source in Source}
        pinned = stock.pinned_count
        for index, source in enumerate(self.ledger.sources[pinned : self._summary], start=pinned):
            self._indexes[source].append(index)
        ceilings = {source: _limit(knobs.ceiling_tokens) for source, knobs in zip(Source, profile.sources, strict=True)}
        floors = [_floor(knobs, left_tokens) for knobs in profile.sources]
        self._floors = {source: min(floor, ceilings[source]) for source, floor in zip(Source, floors, strict=True)}
        self._limits = [ceilings[source] for source in self.ledger.sources]
        short, whole = Form.LEAD, Form.FULL
        self._forms = [short if lead else whole for lead in stock.prices.lead]
        self._first_tokens = [lead or full for lead, full in zip(stock.prices.lead, stock.prices.full, strict=True)]
        if self._summary is not None:
            self._forms[self._summary] = Form.SUMMARY
        item_relevances = relevances(stock.items)
        self._has_knee = profile.allocation is Allocation.PRIORITY and is_calibrated(
            stock.items[pinned : self._summary], item_relevances[pinned : self._summary]
        )
        self._relevances = item_relevances
        # Without calibrated relevances, or in seed order, every item takes part in its tier.
        self._is_above_knee = [
            not self._has_knee or relevance >= profile.relevance_knee for relevance in item_relevances
        ]

    def run(self) -> None:
        """Make every offer, in order."""
        thread, is_literal = self._profile.knobs(Source.THREAD), self._profile.allocation is Allocation.SEED_ORDER
        tiers = self._tiers()
        if not is_literal:
            self._open_window()
        elif thread.priority <= min(tiers, default=thread.priority):
            self._extend_window(sum(self._floors.values()))
        self._fill_floors()
        for priority in sorted({*tiers, thread.priority}):
            if is_literal and priority == thread.priority:
                self._extend_window()
            self._offer(tiers.get(priority, ()), f"priority {priority}" if priority else "relevance")
        self._spill_over()
        if is_literal:
            self._extend_window()
        self.ledger.settle()

    def _tiers(self) -> dict[int, list[int]]:
        """Return the indexes of each tier by priority; under POOLED, one tier 0 with all."""
        if self._profile.allocation is Allocation.POOLED:
            return {0: sorted(index for indexes in self._indexes.values() for index in indexes)}
        tiers: dict[int, list[int]] = {}
        for source, indexes in self._indexes.items():
            if source is not Source.THREAD and indexes:
                tier = tiers.setdefault(self._profile.knobs(source).priority, [])
                tier += [index for index in indexes if self._is_above_knee[index]]
        return {priority: sorted(indexes) for priority, indexes in tiers.items()}

    def _fill_floors(self) -> None:
        for source in sorted(Source, key=lambda source: self._profile.knobs(source).priority):
            if self._profile.knobs(source).floor_tokens:
                floor = self._floors[source]
                limits = [floor] * len(self._forms)
                self.ledger.offer(self._within_floor(source, floor), f"floor of {source}", self._forms, limits)

    def _within_floor(self, source: Source, floor: int) -> Iterator[int]:
        """Yield the source's items to offer for its floor, until not even the smallest fits the rest of the floor.

        If the floor is a share of the pool, all items are offered: two pools must make the same offers to be comparable.
        """
        eligible = self._eligible_for_floor(source)
        is_shared = self._profile.knobs(source).floor_share < 1
        candidates = eligible if is_shared else [index for index in eligible if self._first_tokens[index] <= floor]
        least = min((self._first_tokens[index] for index in candidates), default=0)
        for index in candidates:
            if not is_shared and floor - self.ledger.spent[source] < least:
                return
            if self._is_first_of_kin(index):
                yield index

    def _eligible_for_floor(self, source: Source) -> list[int]:
        """Return the items that the source's floor may hold.

        Below full spend these are all items, since those not worth their tokens were already rejected. At full spend, pages
        with almost no relevance, or less than half of the best page's, are excluded; otherwise any page that fits would fill
        the floor.
        """
        indexes = self._indexes[source]
        if source is not Source.WIKI or not self._has_knee or self._profile.rule.least_worth:
            return indexes
        best = max((self._relevances[index] for index in indexes), default=0.0)
        least = max(self._profile.relevance_knee / _PAGE_KNEE_SHARE, best / _PAGE_BEST_SHARE)
        return [index for index in indexes if self._relevances[index] >= least]

    def _offer(self, indexes: Iterable[int], stage: str) -> None:
        self.ledger.offer(indexes, stage, self._forms, self._limits)

    def _spill_over(self) -> None:
        """Allocate the tokens that the tiers left: leads made full, older history, candidates below the knee, leads again."""
        ledger, above_knee = self.ledger, self._is_above_knee
        self._upgrade([index for index, is_above in enumerate(above_knee) if is_above and not self._is_page(index)])
        evidence = [index for index in self._indexes[Source.THREAD] if above_knee[index]]
        self._offer(evidence, "older turns that answer")
        below = [index for index, is_above in enumerate(above_knee) if not is_above and index != self._summary]
        self._offer(sorted(below, key=self._repeats), "after the items above the relevance knee")
        if ledger.has_freed:
            self._offer(sorted({*range(len(self._forms))} - {self._summary}), _REMAINDER)
        self._upgrade(range(len(self._forms)))
        if self._summary is not None:
            self._offer([self._summary], "summary of older turns")
        ledger.offer_deferred("partly covered by other items", self._forms, self._limits)
        self._upgrade(range(len(self._forms)))

    def _upgrade(self, indexes: Iterable[int]) -> None:
        forms, lead = self.ledger.forms, Form.LEAD
        self.ledger.upgrade([index for index in indexes if forms[index] is lead], _REMAINDER, self._limits)

    def _is_page(self, index: int) -> bool:
        return self._wanted.stock.items[index].source is Source.WIKI

    def _repeats(self, index: int) -> bool:
        """Return whether the item repeats others, which are offered before it: true for a page, unless typed edges led to it."""
        item = self._wanted.stock.items[index]
        return item.source is Source.WIKI and all(ref.kind != "path" for ref in item.provenance)

    def _open_window(self) -> None:
        """Add the recent turns before the last exchange. The result depends only on the thread and the pool."""
        pool_tokens = self._wanted.pool_tokens
        is_wide = pool_tokens >= _ALIGNED_FROM_TOKENS
        most = max(_STEP_TOKENS, pool_tokens // _WIDE_TAIL_SHARE) if is_wide else pool_tokens // _NARROW_TAIL_SHARE
        limit_tokens = min(self._profile.history_tail_tokens, most)
        self._extend_window(sum(self._floors.values()), limit_tokens, min(_STEP_TOKENS, limit_tokens) if is_wide else 0)

    def _extend_window(self, reserved_tokens: int = 0, limit_tokens: int = NO_LIMIT, step_tokens: int = 0) -> None:
        """Add older units to the window, newest first and without a gap, but leave `reserved_tokens` of the pool."""
        older = self._wanted.older[self.older_count :]
        turns = len(self._wanted.exchange.turns)
        turns += sum(len(unit.turns) for unit in self._wanted.older[: self.older_count])
        count = recent(
            older,
            limit_tokens=min(limit_tokens, self.ledger.left_tokens - reserved_tokens),
            most_turns=self._profile.history_turns - turns,
            step_tokens=step_tokens,
            step_turns=max(1, self._profile.history_turns // 2),
        )
        for unit in older[:count]:
            self.ledger.steps.append((unit.turns[-1].id, Form.FULL, True))
            self.ledger.show([turn.id for turn in unit.turns], unit.tokens)
        self.ledger.steps += [(unit.turns[-1].id, Form.FULL, False) for unit in older[count : count + 1]]
        self.older_count += count

    def _is_first_of_kin(self, index: int) -> bool:
        """Return whether the tiers would offer this item before all its duplicates: floors must not reverse that order."""
        if index not in self._wanted.stock.kinship.akin:
            return True
        if self._firsts is None:
            self._firsts = self._first_of_each_kind()
        kinship = self._wanted.stock.kinship
        kind = kinship.kinds[index]
        rival_keys = [self._firsts[one] for one in (kind, *kinship.alike.get(kind, ())) if one in self._firsts]
        return self._sort_key(index) <= min(rival_keys)

    def _first_of_each_kind(self) -> dict[int, tuple[int, int]]:
        kinds = self._wanted.stock.kinship.kinds
        firsts: dict[int, tuple[int, int]] = {}
        for index in range(len(self._forms)):
            key = self._sort_key(index)
            firsts[kinds[index]] = min(key, firsts.get(kinds[index], key))
        return firsts

    def _sort_key(self, index: int) -> tuple[int, int]:
        """Return the item's sort key among its duplicates: its tier, and its rank there."""
        source = self._wanted.stock.items[index].source
        if source is Source.THREAD or not self._is_above_knee[index]:
            return (_LAST_TIER + self._repeats(index), index)
        return (self._profile.knobs(source).priority, index)


def _floor(knobs: SourceKnobs, pool_tokens: int) -> int:
    """Return a source's floor in a pool of `pool_tokens`. With a share of 1 the floor is the same in every pool."""
    is_whole = knobs.floor_share == 1
    return knobs.floor_tokens if is_whole else min(knobs.floor_tokens, int(knobs.floor_share * pool_tokens))


def _limit(ceiling_tokens: int | None) -> int:
    return NO_LIMIT if ceiling_tokens is None else ceiling_tokens
