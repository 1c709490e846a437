"""Keeps the accounts of the pool: the items in the context, their cost, the tokens left, and the items dropped as duplicates.

This is the only mutable state of a turn. It knows no priorities: `budget` decides the order of offers, and the ledger decides
whether an item fits.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from sidecar.turn.fitting.containment import says, says_some
from sidecar.turn.fitting.dedupe import Kinship
from sidecar.turn.fitting.pieces import BLOCKS, Pieces, Prices
from sidecar.turn.items import Form, Item, Source

NO_LIMIT = 1 << 60


@dataclass(frozen=True, slots=True)
class Stock:
    """The priced items of a turn, in order: `pinned_count` pinned ones, the others, and the thread's summary if `has_summary`.

    `kinship` covers the items and, after them, `seen`: items that the caller's history already holds. `turns` are the texts
    of the thread's turns that may be in the window, by id.
    """

    items: Sequence[Item]
    has_summary: bool
    seen: Sequence[Item]
    pieces: Pieces
    prices: Prices
    kinship: Kinship
    turns: Mapping[str, str]
    pinned_count: int = 0


class NoRoom(NamedTuple):
    """Why an item did not fit: the stage that offered it, its cost, and the tokens left in the pool and for its source."""

    stage: str
    cost_tokens: int
    left_tokens: int
    left_to_source_tokens: int


class Representative(NamedTuple):
    """The item or turns that cover an item: an id, and how they cover it.

    `item_index` is the covering item's index if it may itself be dropped, else -1; `text` is the covering text.
    """

    id: str
    how: str
    item_index: int = -1
    text: str = ""


Step = tuple[str, Form, bool]
"""One step of the allocation: the id of the item or turn offered, its form, and whether it fitted."""


class Ledger:
    """Allocates a pool of tokens to items and turns. Items are identified by their indexes in the stock."""

    def __init__(self, stock: Stock, pool_tokens: int) -> None:
        self.stock = stock
        self.sources = [item.source for item in stock.items]
        self.left_tokens = pool_tokens
        self.spent = dict.fromkeys(Source, 0)
        self.pinned_tokens = 0
        self.forms: list[Form | None] = [None] * len(stock.items)
        self.tokens = [0] * len(stock.items)
        self.kept: dict[int, str] = {}
        self.refusals: dict[int, NoRoom] = {}
        self.duplicates: dict[int, Representative] = {}
        self.deferred: dict[int, Representative] = {}
        self.steps: list[Step] = []
        self.has_freed = False
        self._in_block = [0] * len(BLOCKS)
        self._in_group = [0] * len(stock.pieces.headers)
        self._in_section = [0] * len(stock.pieces.section_lines)
        self._view: set[str] = set()
        self._window: set[str] = set()
        self._drawn: dict[str, list[int]] = defaultdict(list)
        for index, turns in stock.kinship.turns.items():
            for turn_id in turns:
                self._drawn[turn_id].append(index)
        self._said: dict[int | str, Representative] = {}
        self._stood_for: dict[int, Representative] = {}
        self._defers = True
        found = {item.id: item.text for item in stock.items if item.source is Source.THREAD}
        self._turn_texts = {**found, **stock.turns}
        for index, item in enumerate(stock.seen, start=len(stock.items)):
            how = "says the same, and the caller's history holds it"
            self._say(index, Representative(item.id, how, text=item.text))
            self._stand_for(index, item)

    def offer(self, indexes: Iterable[int], stage: str, forms: Sequence[Form], limits: Sequence[int]) -> None:
        """Add each item that fits the pool and its source's limit, in the order of `indexes`.

        Items already in are skipped, items that the context covers are dropped, and partly covered items are deferred.
        """
        items, pieces, prices, akin = self.stock.items, self.stock.pieces, self.stock.prices, self.stock.kinship.akin
        in_block, in_group, in_section = self._in_block, self._in_group, self._in_section
        spent, kept, taken = self.spent, self.kept, self.steps.append
        blocks, groups, sections = pieces.blocks, pieces.groups, pieces.sections
        sources, lead, thread = self.sources, Form.LEAD, Source.THREAD
        for index in indexes:
            if index in kept or (index in akin and self._drop_if_covered(index)):
                continue
            block, group, section = blocks[index], groups[index], sections[index]
            source, form = sources[index], forms[index]
            tokens = cost = prices.lead[index] if form is lead else prices.full[index]
            if not in_group[group]:
                cost += prices.headers[group]
            if not in_section[section]:
                cost += prices.sections[section]
            if not in_block[block]:
                cost += prices.fences[block]
            if cost > self.left_tokens or cost > limits[index] - spent[source]:
                self._refuse(index, form, NoRoom(stage, cost, self.left_tokens, limits[index] - spent[source]))
                continue
            in_group[group] += 1
            in_section[section] += 1
            in_block[block] += 1
            spent[source] += cost
            self.left_tokens -= cost
            self.forms[index], self.tokens[index], kept[index] = form, tokens, stage
            item_id = items[index].id
            taken((item_id, form, True))
            if index in akin:
                self._record_added(index)
            if source is thread and item_id in self._drawn:
                self._see({item_id}, "stands verbatim in the context", spared=thread)

    def offer_deferred(self, stage: str, forms: Sequence[Form], limits: Sequence[int]) -> None:
        """Add each deferred item that fits and that the context still does not cover. After this, no item is deferred."""
        self._defers = False
        self.offer(list(self.deferred), stage, forms, limits)

    def pin(self, limit_tokens: int) -> None:
        """Add the pinned items in full, up to a limit. They count towards no floor or ceiling, and no item displaces them."""
        indexes = range(self.stock.pinned_count)
        self.offer(indexes, "pinned", [Form.FULL] * len(indexes), [limit_tokens] * len(indexes))
        self.pinned_tokens = sum(self.spent.values())
        self.spent = dict.fromkeys(Source, 0)

    def upgrade(self, indexes: Iterable[int], stage: str, limits: Sequence[int]) -> None:
        """Replace leads with full texts wherever the difference fits."""
        items, full, akin, whole = self.stock.items, self.stock.prices.full, self.stock.kinship.akin, Form.FULL
        for index in indexes:
            if index not in self.kept:
                continue
            item, cost = items[index], full[index] - self.tokens[index]
            if cost > self.left_tokens or cost > limits[index] - self.spent[item.source]:
                self._refuse(
                    index, whole, NoRoom(stage, cost, self.left_tokens, limits[index] - self.spent[item.source])
                )
                continue
            self.spent[item.source] += cost
            self.left_tokens -= cost
            self.forms[index], self.tokens[index], self.kept[index] = whole, full[index], stage
            self.steps.append((item.id, whole, True))
            if index in akin:
                self._record_added(index)

    def show(self, turn_ids: Iterable[str], tokens: int) -> None:
        """Add turns verbatim, and drop or defer the items drawn only from turns in view."""
        self.left_tokens -= tokens
        turn_ids = set(turn_ids)
        self._window |= turn_ids
        self._see(turn_ids, "stands verbatim among the recent turns")

    def _see(self, turn_ids: set[str], how: str, *, spared: Source | None = None) -> None:
        """Add turns to the view; drop or defer the items drawn only from turns in view, except those of `spared`."""
        self._view |= turn_ids
        items, kinship = self.stock.items, self.stock.kinship
        for index in sorted({index for turn_id in turn_ids & self._drawn.keys() for index in self._drawn[turn_id]}):
            turns = kinship.turns[index]
            if index in self.duplicates or index >= len(items) or items[index].source is spared:
                continue
            if self._view.issuperset(turns):
                self._drop_or_defer(index, Representative(turns[0], how, text=self._text_of(turns)))

    def _text_of(self, turn_ids: Iterable[str]) -> str:
        """Return the texts of the turns, joined by newlines."""
        return "\n".join(self._turn_texts[one] for one in turn_ids if one in self._turn_texts)

    def withdraw(self, tokens: int) -> None:
        """Remove items, the last added first, until `tokens` more are free or no item is left."""
        wanted = self.left_tokens + tokens
        for index in reversed(list(self.kept)):
            if self.left_tokens >= wanted:
                return
            del self.kept[index]
            self._lose_sight(self.stock.items[index].id)
            self.refusals[index] = NoRoom("after rendering", self.tokens[index], 0, NO_LIMIT)
            self._refund(index)

    def _lose_sight(self, item_id: str) -> None:
        """Remove a turn from the view, unless it is in the window of recent turns."""
        if item_id not in self._window:
            self._view.discard(item_id)

    def settle(self) -> None:
        """Mark every absent item that the context now covers as a duplicate."""
        for index in sorted(self.stock.kinship.akin):
            if index < len(self.forms) and index not in self.kept:
                self._drop_if_covered(index)

    def representative(self, index: int) -> Representative | None:
        """Return the representative in the context that covers a dropped item; None if the item is not a duplicate."""
        by = self.duplicates.get(index)
        while by and by.item_index in self.duplicates:
            by = self.duplicates[by.item_index]
        return by if by and (by.item_index < 0 or by.item_index in self.kept) else None

    def _record_added(self, index: int) -> None:
        """Record an item just added as said. It may displace the items that it stands for and, in full form, the items whose
        sentences it holds.
        """
        item = self.stock.items[index]
        by = Representative(item.id, "says the same", index, item.text)
        self._say(index, by)
        if self.forms[index] is Form.FULL:
            kinds = self.stock.kinship.kinds
            for kind in self.stock.kinship.says.get(kinds[index], ()):
                said_by = self._said.get(kind)  # may be another kind's item that covers it and holds more
                if said_by and said_by.item_index in self.kept and kinds[said_by.item_index] == kind:
                    self._drop(said_by.item_index, by)
        self._stand_for(index, item)

    def _refuse(self, index: int, form: Form, refusal: NoRoom) -> None:
        self.refusals[index] = refusal
        self.steps.append((self.stock.items[index].id, form, False))

    def _say(self, index: int, by: Representative) -> None:
        """Record that the representative says the item's text and id."""
        items, seen = self.stock.items, self.stock.seen
        item = items[index] if index < len(items) else seen[index - len(items)]
        self._said[item.id] = self._said[self.stock.kinship.kinds[index]] = by

    def _stand_for(self, index: int, item: Item) -> None:
        """Record the items that an item stands for. Those in the context whose sentences it holds are dropped; later ones wait.

        A shortened item stands only for items whose sentences its lead holds.
        """
        kinship = self.stock.kinship
        is_lead = index < len(self.forms) and self.forms[index] is Form.LEAD
        by = Representative(item.id, "stands for it", index, item.lead if is_lead else item.text)
        for covered in (other for other in kinship.covers.get(index, ()) if other < len(self.forms)):
            is_said = (is_lead or covered in self.kept) and says(by.text, self._item(covered).text)
            if is_said or not is_lead:
                self._stood_for[kinship.kinds[covered]] = by
            if is_said and covered in self.kept:
                self._drop(covered, by)

    def _drop_if_covered(self, index: int) -> bool:
        """Drop the item if the context covers it, defer it if it is partly covered; return whether either happened.

        A pinned item always stays.
        """
        if index < self.stock.pinned_count:
            return False
        if index in self.duplicates or (self._defers and index in self.deferred):
            return True
        kinship, item = self.stock.kinship, self.stock.items[index]
        kind = kinship.kinds[index]
        by = self._in_context(self._said.get(item.id))
        if by is None:
            names = (kind, *kinship.alike.get(kind, ()))
            by = next((one for name in names if (one := self._in_context(self._said.get(name)))), None)
            if by and not self._is_whole(by):
                lead = self._item(by.item_index).lead
                if not says_some(lead, item.text):
                    by = None
                elif not says(lead, item.text):
                    return self._defer(index, by)
        if by:
            self._drop(index, by)
            return True
        by = self._in_context(self._stood_for.get(kind)) if item.source is not Source.THREAD else None
        return self._drop_or_defer(index, by) if by else False

    def _in_context(self, by: Representative | None) -> Representative | None:
        """Return the representative if it, or an item that covers it, is still in the context; otherwise None.

        So no item is dropped in favour of an item that has left, and no two items are dropped in favour of each other.
        """
        if by is None or by.item_index < 0 or by.item_index in self.kept:
            return by
        return by if self.representative(by.item_index) else None

    def _is_whole(self, by: Representative) -> bool:
        """Return whether a representative is in the context in full and not as a lead."""
        return by.item_index < 0 or self.forms[by.item_index] is not Form.LEAD

    def _drop_or_defer(self, index: int, by: Representative) -> bool:
        """Drop the item if its representative holds each of its sentences, otherwise defer it; return whether it is out."""
        if self._item(index).source is Source.THREAD or says(by.text, self._item(index).text):
            self._drop(index, by)
            return True
        return self._defer(index, by)

    def _defer(self, index: int, by: Representative) -> bool:
        """Defer the item until all others, which are new to the context, were offered; return whether it is out."""
        if not self._defers or index < self.stock.pinned_count:
            return False
        self.deferred.setdefault(index, by)
        if self._remove(index):
            names = (self.stock.items[index].id, self.stock.kinship.kinds[index])
            for name in names:
                if name in self._said and self._said[name].item_index == index:
                    del self._said[name]
        return True

    def _item(self, index: int) -> Item:
        return self.stock.items[index]

    def _drop(self, index: int, by: Representative) -> None:
        if index < self.stock.pinned_count:
            return
        self.duplicates[index] = by
        self.refusals.pop(index, None)
        if self._remove(index):
            self._say(index, by)

    def _remove(self, index: int) -> bool:
        """Take the item out of the context; return whether it was in."""
        if index not in self.kept:
            return False
        del self.kept[index]
        self._refund(index)
        self._lose_sight(self.stock.items[index].id)
        return True

    def _refund(self, index: int) -> None:
        pieces, prices, source = self.stock.pieces, self.stock.prices, self.stock.items[index].source
        block, group, section = pieces.blocks[index], pieces.groups[index], pieces.sections[index]
        self._in_group[group] -= 1
        self._in_section[section] -= 1
        self._in_block[block] -= 1
        refund = self.tokens[index]
        refund += 0 if self._in_group[group] else prices.headers[group]
        refund += 0 if self._in_section[section] else prices.sections[section]
        refund += 0 if self._in_block[block] else prices.fences[block]
        self.left_tokens += refund
        if index < self.stock.pinned_count:
            self.pinned_tokens -= refund
        else:
            self.spent[source] -= refund
        self.forms[index], self.tokens[index] = None, 0
        self.has_freed = True
