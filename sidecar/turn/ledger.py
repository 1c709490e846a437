"""Allocates the pool: the items in the context, their cost, the tokens left, and the items dropped as duplicates.

The only mutable state of a turn. It knows no priorities: `budget` decides the order of offers, the ledger whether an item
fits.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from sidecar.turn.dedupe import Kinship
from sidecar.turn.items import Form, Item, Source
from sidecar.turn.pieces import BLOCKS, Pieces, Prices

NO_LIMIT = 1 << 60


@dataclass(frozen=True, slots=True)
class Stock:
    """The priced items of a turn, in order; the last is the thread's summary if `has_summary`.

    `kinship` covers the items and, after them, `seen`: items that the caller's history already holds.
    """

    items: Sequence[Item]
    has_summary: bool
    seen: Sequence[Item]
    pieces: Pieces
    prices: Prices
    kinship: Kinship


class NoRoom(NamedTuple):
    """Why an item did not fit: the step that offered it, its cost, and the tokens left in the pool and for its source."""

    asked: str
    cost_tokens: int
    left_tokens: int
    left_to_source_tokens: int


class Representative(NamedTuple):
    """The item or turn that covers a duplicate: its id, and how it covers it.

    `place` is the item's index if it may itself be dropped, else -1.
    """

    id: str
    how: str
    place: int = -1


Step = tuple[str, Form, bool]
"""One step of the allocation: the id of the item or turn offered, its form, and whether it fitted."""


class Ledger:
    """Allocates a pool of tokens to items and turns. Items are named by their places in the stock."""

    def __init__(self, stock: Stock, pool_tokens: int) -> None:
        self.stock = stock
        self.sources = [item.source for item in stock.items]
        self.left_tokens = pool_tokens
        self.spent = dict.fromkeys(Source, 0)
        self.forms: list[Form | None] = [None] * len(stock.items)
        self.tokens = [0] * len(stock.items)
        self.kept: dict[int, str] = {}
        self.refusals: dict[int, NoRoom] = {}
        self.fallen: dict[int, Representative] = {}
        self.steps: list[Step] = []
        self.has_freed = False
        self._in_block = [0] * len(BLOCKS)
        self._in_group = [0] * len(stock.pieces.headers)
        self._in_section = [0] * len(stock.pieces.section_lines)
        self._view: set[str] = set()
        self._window: set[str] = set()
        self._drawn: dict[str, list[int]] = defaultdict(list)
        for place, turns in stock.kinship.turns.items():
            for turn_id in turns:
                self._drawn[turn_id].append(place)
        self._said: dict[int | str, Representative] = {}
        self._stood_for: dict[int, Representative] = {}
        for place, item in enumerate(stock.seen, start=len(stock.items)):
            self._say(place, Representative(item.id, "says the same, and the caller's history holds it"))
            self._stand_for(place, item.id)

    def offer(self, places: Iterable[int], asked: str, forms: Sequence[Form], limits: Sequence[int]) -> None:
        """Take in each item that fits the pool and its source's limit, in the order of `places`.

        Skips items already in; drops items that the context already covers.
        """
        items, pieces, prices, akin = self.stock.items, self.stock.pieces, self.stock.prices, self.stock.kinship.akin
        in_block, in_group, in_section = self._in_block, self._in_group, self._in_section
        spent, kept, taken = self.spent, self.kept, self.steps.append
        blocks, groups, sections = pieces.blocks, pieces.groups, pieces.sections
        sources, lead, thread = self.sources, Form.LEAD, Source.THREAD
        for place in places:
            if place in kept or (place in akin and self._falls(place)):
                continue
            block, group, section = blocks[place], groups[place], sections[place]
            source, form = sources[place], forms[place]
            tokens = cost = prices.lead[place] if form is lead else prices.full[place]
            if not in_group[group]:
                cost += prices.headers[group]
            if not in_section[section]:
                cost += prices.sections[section]
            if not in_block[block]:
                cost += prices.fences[block]
            if cost > self.left_tokens or cost > limits[place] - spent[source]:
                self._refuse(place, form, NoRoom(asked, cost, self.left_tokens, limits[place] - spent[source]))
                continue
            in_group[group] += 1
            in_section[section] += 1
            in_block[block] += 1
            spent[source] += cost
            self.left_tokens -= cost
            self.forms[place], self.tokens[place], kept[place] = form, tokens, asked
            item_id = items[place].id
            taken((item_id, form, True))
            if place in akin:
                self._speaks(place)
            if source is thread and item_id in self._drawn:
                self._see({item_id}, "stands verbatim in the context", spared=thread)

    def upgrade(self, places: Iterable[int], asked: str, limits: Sequence[int]) -> None:
        """Replace leads by full texts wherever the difference fits."""
        items, full, akin, whole = self.stock.items, self.stock.prices.full, self.stock.kinship.akin, Form.FULL
        for place in places:
            if place not in self.kept:
                continue
            item, cost = items[place], full[place] - self.tokens[place]
            if cost > self.left_tokens or cost > limits[place] - self.spent[item.source]:
                self._refuse(
                    place, whole, NoRoom(asked, cost, self.left_tokens, limits[place] - self.spent[item.source])
                )
                continue
            self.spent[item.source] += cost
            self.left_tokens -= cost
            self.forms[place], self.tokens[place], self.kept[place] = whole, full[place], asked
            self.steps.append((item.id, whole, True))
            if place in akin:
                self._speaks(place)

    def show(self, turn_ids: Iterable[str], tokens: int) -> None:
        """Take turns in verbatim, and drop the items drawn only from turns in view."""
        self.left_tokens -= tokens
        turn_ids = set(turn_ids)
        self._window |= turn_ids
        self._see(turn_ids, "stands verbatim among the recent turns")

    def _see(self, turn_ids: set[str], how: str, *, spared: Source | None = None) -> None:
        """Add turns to the view and drop the items drawn only from turns in view, except those of `spared`."""
        self._view |= turn_ids
        items, kinship = self.stock.items, self.stock.kinship
        for place in sorted({place for turn_id in turn_ids & self._drawn.keys() for place in self._drawn[turn_id]}):
            turns = kinship.turns[place]
            if place in self.fallen or place >= len(items) or items[place].source is spared:
                continue
            if self._view.issuperset(turns):
                self._fall(place, Representative(turns[0], how))

    def withdraw(self, tokens: int) -> None:
        """Remove items, newest first, until that many more tokens are free or none is left."""
        wanted = self.left_tokens + tokens
        for place in reversed(list(self.kept)):
            if self.left_tokens >= wanted:
                return
            del self.kept[place]
            self._lose_sight(self.stock.items[place].id)
            self.refusals[place] = NoRoom("once all was written out", self.tokens[place], 0, NO_LIMIT)
            self._refund(place)

    def _lose_sight(self, item_id: str) -> None:
        """Remove a turn from the view, unless it is in the window of recent turns."""
        if item_id not in self._window:
            self._view.discard(item_id)

    def settle(self) -> None:
        """Mark every item left out that the context now covers as a duplicate."""
        for place in sorted(self.stock.kinship.akin):
            if place < len(self.forms) and place not in self.kept:
                self._falls(place)

    def representative(self, place: int) -> Representative | None:
        """Return what covers a dropped item in the context; None if the item is not a duplicate."""
        found = self.fallen.get(place)
        while found and found.place in self.fallen:
            found = self.fallen[found.place]
        return found

    def _speaks(self, place: int) -> None:
        """Record an item just taken in as said; in full form, it also drops the items it stands for."""
        item_id = self.stock.items[place].id
        self._say(place, Representative(item_id, "says the same", place))
        if self.forms[place] is Form.FULL:
            self._stand_for(place, item_id)

    def _refuse(self, place: int, form: Form, refusal: NoRoom) -> None:
        self.refusals[place] = refusal
        self.steps.append((self.stock.items[place].id, form, False))

    def _say(self, place: int, by: Representative) -> None:
        """Record the item's text and id as said."""
        own = (
            self.stock.items[place] if place < len(self.stock.items) else self.stock.seen[place - len(self.stock.items)]
        )
        self._said[own.id] = self._said[self.stock.kinship.kinds[place]] = by

    def _stand_for(self, place: int, item_id: str) -> None:
        """Drop the items that an item stands for: those in are removed, later ones are refused."""
        kinship = self.stock.kinship
        for covered in kinship.covers.get(place, ()):
            by = self._stood_for[kinship.kinds[covered]] = Representative(item_id, "stands for it", place)
            if covered in self.kept:
                self._fall(covered, by)

    def _falls(self, place: int) -> bool:
        """Drop the item if the context covers it; return whether it does."""
        if place in self.fallen:
            return True
        kinship, item = self.stock.kinship, self.stock.items[place]
        kind = kinship.kinds[place]
        names = (item.id, kind, *kinship.alike.get(kind, ()))
        by = next((self._said[name] for name in names if name in self._said), None)
        if by is None and item.source is not Source.THREAD:
            by = self._stood_for.get(kind)
        if by:
            self._fall(place, by)
        return by is not None

    def _fall(self, place: int, by: Representative) -> None:
        self.fallen[place] = by
        self.refusals.pop(place, None)
        if place in self.kept:
            del self.kept[place]
            self._refund(place)
            self._say(place, by)
            self._lose_sight(self.stock.items[place].id)

    def _refund(self, place: int) -> None:
        pieces, prices, source = self.stock.pieces, self.stock.prices, self.stock.items[place].source
        block, group, section = pieces.blocks[place], pieces.groups[place], pieces.sections[place]
        self._in_group[group] -= 1
        self._in_section[section] -= 1
        self._in_block[block] -= 1
        refund = self.tokens[place]
        refund += 0 if self._in_group[group] else prices.headers[group]
        refund += 0 if self._in_section[section] else prices.sections[section]
        refund += 0 if self._in_block[block] else prices.fences[block]
        self.left_tokens += refund
        self.spent[source] -= refund
        self.forms[place], self.tokens[place] = None, 0
        self.has_freed = True
