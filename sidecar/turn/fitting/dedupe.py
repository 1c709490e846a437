"""Finds items that repeat others: by id, by text, or by lineage (drawn from the same turns, or cited by a page).

This module only finds them; `ledger` decides which of two stays. It drops an item only once the context has another that holds
each of its sentences. An item related only by lineage is not dropped but offered after all others.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice

from sidecar.turn.fitting.containment import says, sentence_ends
from sidecar.turn.items import Item, Source
from store.text.texts import Signature, estimated_similarity, shared_bands, signatures

_WORTH_COMPARING_FROM = 0.5
_MOST_COMPARED = 4
_MOST_COMPARED_CHARS = 1_000_000
_THREAD = Source.THREAD


@dataclass(frozen=True, slots=True)
class Kinship:
    """The duplicates among items, by their indexes.

    Items with the same text share a `kind`. `alike` maps a kind to the kinds that hold each of its sentences, and `says` maps a
    kind to the kinds whose sentences it holds. `covers` maps an item to the items it stands for. `turns` maps an item to the
    thread's turns (in the window or among the items) that it was drawn from. `akin` holds every index that appears in any of
    these, or whose id occurs more than once.
    """

    kinds: list[int]
    alike: dict[int, list[int]]
    says: dict[int, list[int]]
    covers: dict[int, list[int]]
    turns: dict[int, tuple[str, ...]]
    akin: frozenset[int]


def relate(items: Sequence[Item], turn_ids: Collection[str]) -> Kinship:
    """Return how the items repeat each other and the turns with these ids."""
    signed = _signatures(items)
    kinds = _kinds(signed)
    alike: dict[int, list[int]] = defaultdict(list)
    says: dict[int, list[int]] = defaultdict(list)
    near = ((place, by) for one, other in _near_pairs(signed, kinds) for place, by in ((one, other), (other, one)))
    remaining_chars = _MOST_COMPARED_CHARS
    for place, by in dict.fromkeys(chain(near, _contained_pairs(items, kinds))):
        remaining_chars -= len(items[place].text) + len(items[by].text)
        if remaining_chars < 0:
            break  # comparing hundreds of long texts built to be similar would delay the turn by seconds
        if _says_all(items[by], items[place]):
            alike[kinds[place]].append(kinds[by])
            says[kinds[by]].append(kinds[place])
    covers, turns = _covers(items), _drawn_from(items, turn_ids)
    akin = {*covers, *turns, *chain.from_iterable(covers.values())}
    ids = [item.id for item in items]
    if alike or len(set(kinds)) < len(kinds):
        sizes = Counter(kinds)
        akin.update(place for place, kind in enumerate(kinds) if sizes[kind] > 1 or kind in alike or kind in says)
    if len(set(ids)) < len(ids):
        times = Counter(ids)
        akin.update(place for place, item_id in enumerate(ids) if times[item_id] > 1)
    return Kinship(kinds, dict(alike), dict(says), covers, turns, frozenset(akin))


def _says_all(one: Item, other: Item) -> bool:
    """Return whether the first item holds each sentence of the other; for turns, also the reverse: the thread is the record."""
    is_turn = _THREAD in (one.source, other.source)
    return says(one.text, other.text) and (not is_turn or says(other.text, one.text))


def _signatures(items: Sequence[Item]) -> list[Signature]:
    """Return each item's signature, computed if none was stored."""
    made = iter(signatures([item.text[item.unsigned_chars :] for item in items if item.signature is None]))
    return [item.signature or next(made) for item in items]


def _kinds(signed: Sequence[Signature]) -> list[int]:
    if len({signature.text_key for signature in signed}) == len(signed):
        return list(range(len(signed)))
    by_text: dict[tuple[int, int], int] = {}
    return [by_text.setdefault((signature.text_key, signature.guard), len(by_text)) for signature in signed]


def _near_pairs(signed: Sequence[Signature], kinds: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield pairs of items whose texts may be nearly the same. Only the first item of each kind is compared."""
    firsts = _firsts(kinds)
    guards = [signed[place].guard for place in firsts]
    counted = Counter(guards)
    rivals = [place for place, guard in zip(firsts, guards, strict=True) if counted[guard] > 1]
    shared = shared_bands([signed[place] for place in rivals])
    if not shared:
        return
    by_band: dict[int, list[int]] = defaultdict(list)
    for place in rivals:
        bands = [band for band in signed[place].split_bands() if band in shared]
        if not bands:
            continue
        met = sorted({other for band in bands for other in by_band[band]})
        for other in met[:_MOST_COMPARED]:
            if estimated_similarity(signed[place], signed[other]) >= _WORTH_COMPARING_FROM and (
                signed[place].guard == signed[other].guard
            ):
                yield place, other
        for band in bands:
            if len(by_band[band]) < _MOST_COMPARED:
                by_band[band].append(place)


def _contained_pairs(items: Sequence[Item], kinds: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield pairs of a text and a longer text in which some sentence ends like the first text's longest sentence.

    Only the first item of each kind is compared.
    """
    places = [place for place in _firsts(kinds) if items[place].source is not _THREAD]
    ends = {place: sentence_ends(items[place].text) for place in places}
    by_end: dict[str, list[int]] = defaultdict(list)
    for place in places:
        for end in ends[place]:
            by_end[end].append(place)
    for place in filter(ends.__getitem__, places):
        longer = (one for one in by_end[ends[place][0]] if len(items[one].text) > len(items[place].text))
        yield from ((place, one) for one in islice(longer, _MOST_COMPARED))


def _firsts(kinds: Sequence[int]) -> list[int]:
    """Return the first index of each kind. Kinds are numbered in order, so a new kind is higher than all before it."""
    newest, firsts = -1, []
    for place, kind in enumerate(kinds):
        if kind > newest:
            newest = kind
            firsts.append(place)
    return firsts


def _covers(items: Sequence[Item]) -> dict[int, list[int]]:
    """Return the indexes of the items that each item stands for. Turns are never covered: the thread is the record."""
    covering = [place for place, item in enumerate(items) if item.stands_for]
    places: dict[str, list[int]] = defaultdict(list)
    for place, item in enumerate(items if covering else ()):
        if item.source is not _THREAD:
            places[item.id].append(place)
    covers = {}
    for place in covering:
        own_id = items[place].id
        covered = [other for ref in items[place].stands_for if ref != own_id for other in places.get(ref, ())]
        if covered:
            covers[place] = covered
    return covers


def _drawn_from(items: Sequence[Item], turn_ids: Collection[str]) -> dict[int, tuple[str, ...]]:
    """Return the thread's turns that each item was drawn from: the turns it stands for, or the item itself if it is a turn.

    For a turn, they must be in the window. Items of other sources may also be drawn from older turns among the items.
    """
    drawn: dict[int, tuple[str, ...]] = {}
    offered = {item.id for item in items if item.source is _THREAD}
    if not turn_ids and not offered:
        return drawn
    window = frozenset(turn_ids)
    known = window | offered
    for place, item in enumerate(items):
        if item.source is _THREAD:
            refs = item.stands_for or (item.id,)
            is_drawn = window.issuperset(refs)
        elif refs := item.stands_for:
            is_drawn = known.issuperset(refs)
        else:
            continue
        if is_drawn:
            drawn[place] = tuple(dict.fromkeys(refs))
    return drawn
