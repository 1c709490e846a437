"""The pool while it is given out: what is in, what it cost, what is left, and what need not be said any more.

The one live thing of a turn. It knows no priorities: `budget` decides who is asked next, the ledger whether there is room.
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
    """What a turn can be given, priced: the items in order, the thread's summary behind them if `has_summary`.

    The kinship is that of the items and, behind them, of `seen`: items that the caller's history already holds.
    """

    items: Sequence[Item]
    has_summary: bool
    seen: Sequence[Item]
    pieces: Pieces
    prices: Prices
    kinship: Kinship


class NoRoom(NamedTuple):
    """Why an item found no room: where it was asked, what it would have cost, and what was left in pool and source."""

    asked: str
    cost_tokens: int
    left_tokens: int
    left_to_source_tokens: int


class Representative(NamedTuple):
    """Who says what an item says: the id of an item or turn, and how; the place of an item that may fall itself."""

    id: str
    how: str
    place: int = -1


Step = tuple[str, Form, bool]
"""One decision on the way: the id of the item or turn that was asked, its form, and whether there was room."""


class Ledger:
    """Gives out a pool of tokens to items and turns, and keeps the books. Items go by their places in the stock."""

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
        """Ask items in turn and take in each for which there is room, in the pool and within its source's limit.

        An item already in is passed over; one that something in the context says already falls to that.
        """
        items, pieces, prices, akin = self.stock.items, self.stock.pieces, self.stock.prices, self.stock.kinship.akin
        in_block, in_group, spent, kept, taken = (
            self._in_block,
            self._in_group,
            self.spent,
            self.kept,
            self.steps.append,
        )
        sources, blocks, groups, lead, thread = self.sources, pieces.blocks, pieces.groups, Form.LEAD, Source.THREAD
        for place in places:
            if place in kept or (place in akin and self._falls(place)):
                continue
            block, group, source, form = blocks[place], groups[place], sources[place], forms[place]
            tokens = cost = prices.lead[place] if form is lead else prices.full[place]
            if not in_group[group]:
                cost += prices.headers[group]
            if not in_block[block]:
                cost += prices.fences[block]
            if cost > self.left_tokens or cost > limits[place] - spent[source]:
                self._refuse(place, form, NoRoom(asked, cost, self.left_tokens, limits[place] - spent[source]))
                continue
            in_group[group] += 1
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
        """Put the full text where a lead stands, wherever there is room for the rest."""
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
        """Take turns in verbatim: what was drawn from nothing but turns in view falls to them."""
        self.left_tokens -= tokens
        turn_ids = set(turn_ids)
        self._window |= turn_ids
        self._see(turn_ids, "stands verbatim among the recent turns")

    def _see(self, turn_ids: set[str], how: str, *, spared: Source | None = None) -> None:
        """Let what was drawn from nothing but turns in view fall to them, but for items of the spared source."""
        self._view |= turn_ids
        items, kinship = self.stock.items, self.stock.kinship
        for place in sorted({place for turn_id in turn_ids & self._drawn.keys() for place in self._drawn[turn_id]}):
            turns = kinship.turns[place]
            if place in self.fallen or place >= len(items) or items[place].source is spared:
                continue
            if self._view.issuperset(turns):
                self._fall(place, Representative(turns[0], how))

    def withdraw(self, tokens: int) -> None:
        """Take out what went in last, until so many tokens are free or nothing is left."""
        wanted = self.left_tokens + tokens
        for place in reversed(list(self.kept)):
            if self.left_tokens >= wanted:
                return
            del self.kept[place]
            self._lose_sight(self.stock.items[place].id)
            self.refusals[place] = NoRoom("once all was written out", self.tokens[place], 0, NO_LIMIT)
            self._refund(place)

    def _lose_sight(self, item_id: str) -> None:
        """A turn that was in view as an item only is out of it with that item."""
        if item_id not in self._window:
            self._view.discard(item_id)

    def settle(self) -> None:
        """Let every item that is out fall to what says the same, if anything does by now."""
        for place in sorted(self.stock.kinship.akin):
            if place < len(self.forms) and place not in self.kept:
                self._falls(place)

    def sayer(self, place: int) -> Representative | None:
        """Return what in the context says what the item says, or None when it did not fall to anything."""
        sayer = self.fallen.get(place)
        while sayer and sayer.place in self.fallen:
            sayer = self.fallen[sayer.place]
        return sayer

    def _speaks(self, place: int) -> None:
        """Let what was just taken in count as said, and what it stands for fall to it when it is there in full."""
        item_id = self.stock.items[place].id
        self._say(place, Representative(item_id, "says the same", place))
        if self.forms[place] is Form.FULL:
            self._stand_for(place, item_id)

    def _refuse(self, place: int, form: Form, refusal: NoRoom) -> None:
        self.refusals[place] = refusal
        self.steps.append((self.stock.items[place].id, form, False))

    def _say(self, place: int, sayer: Representative) -> None:
        """Let the item's text and id count as said."""
        own = (
            self.stock.items[place] if place < len(self.stock.items) else self.stock.seen[place - len(self.stock.items)]
        )
        self._said[own.id] = self._said[self.stock.kinship.kinds[place]] = sayer

    def _stand_for(self, place: int, item_id: str) -> None:
        """Let what an item stands for fall to it: what is in makes room, what comes later is not taken in."""
        kinship = self.stock.kinship
        for covered in kinship.covers.get(place, ()):
            sayer = self._stood_for[kinship.kinds[covered]] = Representative(item_id, "stands for it", place)
            if covered in self.kept:
                self._fall(covered, sayer)

    def _falls(self, place: int) -> bool:
        """Return whether something in the context says what the item says; if so, it falls to that."""
        if place in self.fallen:
            return True
        kinship, item = self.stock.kinship, self.stock.items[place]
        kind = kinship.kinds[place]
        names = (item.id, kind, *kinship.alike.get(kind, ()))
        sayer = next((self._said[name] for name in names if name in self._said), None)
        if sayer is None and item.source is not Source.THREAD:
            sayer = self._stood_for.get(kind)
        if sayer:
            self._fall(place, sayer)
        return sayer is not None

    def _fall(self, place: int, sayer: Representative) -> None:
        self.fallen[place] = sayer
        self.refusals.pop(place, None)
        if place in self.kept:
            del self.kept[place]
            self._refund(place)
            self._say(place, sayer)
            self._lose_sight(self.stock.items[place].id)

    def _refund(self, place: int) -> None:
        pieces, prices, source = self.stock.pieces, self.stock.prices, self.stock.items[place].source
        block, group = pieces.blocks[place], pieces.groups[place]
        self._in_group[group] -= 1
        self._in_block[block] -= 1
        refund = self.tokens[place]
        refund += 0 if self._in_group[group] else prices.headers[group]
        refund += 0 if self._in_block[block] else prices.fences[block]
        self.left_tokens += refund
        self.spent[source] -= refund
        self.forms[place], self.tokens[place] = None, 0
        self.has_freed = True
