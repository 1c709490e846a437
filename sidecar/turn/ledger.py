"""Allocates the pool: the items in the context, their cost, the tokens left, and the items dropped as duplicates.

The only mutable state of a turn. It knows no priorities: `budget` decides the order of offers, the ledger whether an item
fits.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from sidecar.turn.dedupe import Kinship
from sidecar.turn.items import Form, Item, Source
from sidecar.turn.pieces import BLOCKS, Pieces, Prices
from sidecar.turn.sayings import says

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
    """Why an item did not fit: the step that offered it, its cost, and the tokens left in the pool and for its source."""

    asked: str
    cost_tokens: int
    left_tokens: int
    left_to_source_tokens: int


class Representative(NamedTuple):
    """The item or turns that repeat an item: an id, and how they repeat it.

    `place` is the item's index if it may itself be dropped, else -1; `text` is what it says.
    """

    id: str
    how: str
    place: int = -1
    text: str = ""


Step = tuple[str, Form, bool]
"""One step of the allocation: the id of the item or turn offered, its form, and whether it fitted."""


class Ledger:
    """Allocates a pool of tokens to items and turns. Items are named by their places in the stock."""

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
        for place, turns in stock.kinship.turns.items():
            for turn_id in turns:
                self._drawn[turn_id].append(place)
        self._said: dict[int | str, Representative] = {}
        self._stood_for: dict[int, Representative] = {}
        self._defers = True
        found = {item.id: item.text for item in stock.items if item.source is Source.THREAD}
        self._turn_texts = {**found, **stock.turns}
        for place, item in enumerate(stock.seen, start=len(stock.items)):
            how = "says the same, and the caller's history holds it"
            self._say(place, Representative(item.id, how, text=item.text))
            self._stand_for(place, item)

    def offer(self, places: Iterable[int], asked: str, forms: Sequence[Form], limits: Sequence[int]) -> None:
        """Take in each item that fits the pool and its source's limit, in the order of `places`.

        Skips items already in; drops those that the context already says, and defers those that it says in part.
        """
        items, pieces, prices, akin = self.stock.items, self.stock.pieces, self.stock.prices, self.stock.kinship.akin
        in_block, in_group, in_section = self._in_block, self._in_group, self._in_section
        spent, kept, taken = self.spent, self.kept, self.steps.append
        blocks, groups, sections = pieces.blocks, pieces.groups, pieces.sections
        sources, lead, thread = self.sources, Form.LEAD, Source.THREAD
        for place in places:
            if place in kept or (place in akin and self._drop_if_covered(place)):
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

    def offer_deferred(self, asked: str, forms: Sequence[Form], limits: Sequence[int]) -> None:
        """Take in each deferred item that fits and that the context still does not say. From here on none is deferred."""
        self._defers = False
        self.offer(list(self.deferred), asked, forms, limits)

    def pin(self, limit_tokens: int) -> None:
        """Take in the pinned items, whole, up to a limit. They count to no source's floor or ceiling, and no item drops them."""
        places = range(self.stock.pinned_count)
        self.offer(places, "pinned", [Form.FULL] * len(places), [limit_tokens] * len(places))
        self.pinned_tokens = sum(self.spent.values())
        self.spent = dict.fromkeys(Source, 0)

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
        """Add turns to the view; drop or defer the items drawn only from turns in view, except those of `spared`."""
        self._view |= turn_ids
        items, kinship = self.stock.items, self.stock.kinship
        for place in sorted({place for turn_id in turn_ids & self._drawn.keys() for place in self._drawn[turn_id]}):
            turns = kinship.turns[place]
            if place in self.duplicates or place >= len(items) or items[place].source is spared:
                continue
            if self._view.issuperset(turns):
                self._yield(place, Representative(turns[0], how, text=self._text_of(turns)))

    def _text_of(self, turn_ids: Iterable[str]) -> str:
        """Return what the turns say, a line each."""
        return "\n".join(self._turn_texts[one] for one in turn_ids if one in self._turn_texts)

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
        """Mark every item left out that the context now says as a duplicate."""
        for place in sorted(self.stock.kinship.akin):
            if place < len(self.forms) and place not in self.kept:
                self._drop_if_covered(place)

    def representative(self, place: int) -> Representative | None:
        """Return what says a dropped item in the context; None if the item is not a duplicate."""
        found = self.duplicates.get(place)
        while found and found.place in self.duplicates:
            found = self.duplicates[found.place]
        return found if found and (found.place < 0 or found.place in self.kept) else None

    def _speaks(self, place: int) -> None:
        """Record an item just taken in as said, which may push out those that it stands for; in full form, it also pushes out the
        items whose sentences it says.
        """
        item = self.stock.items[place]
        by = Representative(item.id, "says the same", place, item.text)
        self._say(place, by)
        if self.forms[place] is Form.FULL:
            kinds = self.stock.kinship.kinds
            for kind in self.stock.kinship.says.get(kinds[place], ()):
                said = self._said.get(kind)  # or what stands for it, which may say more
                if said and said.place in self.kept and kinds[said.place] == kind:
                    self._drop(said.place, by)
        self._stand_for(place, item)

    def _refuse(self, place: int, form: Form, refusal: NoRoom) -> None:
        self.refusals[place] = refusal
        self.steps.append((self.stock.items[place].id, form, False))

    def _say(self, place: int, by: Representative) -> None:
        """Record the item's text and id as said."""
        own = (
            self.stock.items[place] if place < len(self.stock.items) else self.stock.seen[place - len(self.stock.items)]
        )
        self._said[own.id] = self._said[self.stock.kinship.kinds[place]] = by

    def _stand_for(self, place: int, item: Item) -> None:
        """Record the items that an item stands for: those in whose sentences it says are removed, later ones wait.

        A shortened item stands only for those whose sentences its lead says.
        """
        kinship = self.stock.kinship
        is_lead = place < len(self.forms) and self.forms[place] is Form.LEAD
        by = Representative(item.id, "stands for it", place, item.lead if is_lead else item.text)
        for covered in (one for one in kinship.covers.get(place, ()) if one < len(self.forms)):
            is_said = (is_lead or covered in self.kept) and says(by.text, self._item(covered).text)
            if is_said or not is_lead:
                self._stood_for[kinship.kinds[covered]] = by
            if is_said and covered in self.kept:
                self._drop(covered, by)

    def _drop_if_covered(self, place: int) -> bool:
        """Drop the item if the context says it, or defer it if the context says it in part; return whether it does.

        A pinned item stays, whatever the context says.
        """
        if place < self.stock.pinned_count:
            return False
        if place in self.duplicates or (self._defers and place in self.deferred):
            return True
        kinship, item = self.stock.kinship, self.stock.items[place]
        kind = kinship.kinds[place]
        by = self._in_context(self._said.get(item.id))
        if by is None:
            names = (kind, *kinship.alike.get(kind, ()))
            by = next((said for name in names if (said := self._in_context(self._said.get(name)))), None)
            if by and not self._is_whole(by):
                return self._defer(place, by)
        if by:
            self._drop(place, by)
            return True
        by = self._in_context(self._stood_for.get(kind)) if item.source is not Source.THREAD else None
        return self._yield(place, by) if by else False

    def _in_context(self, by: Representative | None) -> Representative | None:
        """Return a representative that is still in the context, or what says it there; None if it left the context since.

        No item is dropped for one that is gone, so that no two are dropped for each other.
        """
        if by is None or by.place < 0 or by.place in self.kept:
            return by
        return by if self.representative(by.place) else None

    def _is_whole(self, by: Representative) -> bool:
        """Return whether a representative is in the context in full, and not by its first lines."""
        return by.place < 0 or self.forms[by.place] is not Form.LEAD

    def _yield(self, place: int, by: Representative) -> bool:
        """Drop the item if its representative says each of its sentences, otherwise defer it; return whether it is out."""
        if self._item(place).source is Source.THREAD or says(by.text, self._item(place).text):
            self._drop(place, by)
            return True
        return self._defer(place, by)

    def _defer(self, place: int, by: Representative) -> bool:
        """Put the item behind all others, which are new to the context; return whether it is out."""
        if not self._defers or place < self.stock.pinned_count:
            return False
        self.deferred.setdefault(place, by)
        if self._remove(place):
            own = (self.stock.items[place].id, self.stock.kinship.kinds[place])
            for name in own:
                if name in self._said and self._said[name].place == place:
                    del self._said[name]
        return True

    def _item(self, place: int) -> Item:
        return self.stock.items[place]

    def _drop(self, place: int, by: Representative) -> None:
        if place < self.stock.pinned_count:
            return
        self.duplicates[place] = by
        self.refusals.pop(place, None)
        if self._remove(place):
            self._say(place, by)

    def _remove(self, place: int) -> bool:
        """Take the item out of the context; return whether it was in."""
        if place not in self.kept:
            return False
        del self.kept[place]
        self._refund(place)
        self._lose_sight(self.stock.items[place].id)
        return True

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
        if place < self.stock.pinned_count:
            self.pinned_tokens -= refund
        else:
            self.spent[source] -= refund
        self.forms[place], self.tokens[place] = None, 0
        self.has_freed = True
