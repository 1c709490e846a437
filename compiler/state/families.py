"""Pages and held names that may stand for one another, read by the words of the names."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from uuid import UUID

from compiler.plan.contract import BatchMemory, Mention, Page, PageKey, PageType
from compiler.plan.judging.rejudging import (
    NameClues,
    NameFamily,
    is_judged,
    is_made_by_hand,
    may_be_called,
    parts,
    roots,
)
from compiler.plan.text.markdown import plain_key
from compiler.state.row_mapping import load, mentions
from compiler.state.substrates import MemorySubstrate
from store.db.queries import Connection
from store.scope import Scope
from store.wiki import candidates

_EACH = 20
_MOST_BEARERS = 200
_MOST_PART_MEMORIES = 50
_NO_CLUES = NameClues()


@dataclass(frozen=True, slots=True)
class _Holder:
    """A page or a held name, with the plain keys of its names."""

    names: frozenset[str]
    page: Page | None = None
    mention: Mention | None = None

    @property
    def memory_ids(self) -> frozenset[str]:
        return NameFamily((self.page,) if self.page else (), (self.mention,) if self.mention else ()).memory_ids


async def read(
    connection: Connection,
    scope: Scope,
    names: Iterable[str],
    substrate: MemorySubstrate,
    clues: NameClues = _NO_CLUES,
) -> tuple[NameFamily, ...]:
    """Return the families that the names (plain keys) are of, each with two names or more; they share no page.

    By the `clues`, the names that end with a surname are looked at too, a word for kin and the name that it is given are one
    family, and a page that is titled as a city, and is no city's, is a family also alone.

    A family is of the names that begin with the same words, if these are a name too or the one word's plural is. A name of one
    word joins the family of a longer one with that word if a memory of it has the longer one in another spelling, or shows the
    word to be a surname.
    """
    bearers = await candidates.names_ending(connection, scope, sorted(clues.surnames), limit=_MOST_BEARERS)
    given = sorted({*names, *map(plain_key, bearers)})
    words = await _borne(connection, scope, sorted({word for name in given for word in roots(name)}))
    later = {word: [name for name in given if word in parts(name)] for name in given for word in parts(name)}
    alone = await _borne(connection, scope, sorted(later))
    kin = {one for pair in clues.kin for one in pair}
    exact = {*alone, *(name for word in alone for name in later[word]), *clues.cities, *kin}
    holders = await _holders(connection, scope, words, exact)
    by_name = {name: holder for holder in holders for name in holder.names}
    joined = [
        (word, name)
        for word in alone
        if word in by_name and len(by_name[word].memory_ids) <= _MOST_PART_MEMORIES
        for name in later[word]
        if name in by_name and by_name[name] is not by_name[word]
    ]
    wanted = {memory_id for word, _ in joined for memory_id in by_name[word].memory_ids}
    texts = await substrate.fetch(scope, sorted(wanted)) if wanted else {}
    joined = [(word, name) for word, name in joined if may_be_called(name, word, _of(by_name[word], texts))]
    joined += [(word, name) for word, name in sorted(clues.kin) if word in by_name and name in by_name]
    known = {word for word in words if any(word in roots(name) for name in by_name)}
    pages = [holder.page for holder in holders if holder.page is not None]
    acted = await candidates.acted_on(connection, scope, [(page.key.type.value, page.key.slug) for page in pages])
    kept = {PageKey(PageType(kind), slug) for kind, slug in acted}
    kept |= {page.key for page in pages if is_made_by_hand(page)}
    telling = {
        page.key: clues.cities[plain_key(page.title)]
        for page in pages
        if page.key.type is PageType.ENTITY and page.key not in kept and plain_key(page.title) in clues.cities
    }
    groups = _grouped(holders, known, joined, telling)
    return tuple(_family(group, frozenset(kept), telling) for group in groups)


def _of(holder: _Holder, texts: Mapping[str, BatchMemory]) -> list[BatchMemory]:
    return [texts[one] for one in sorted(holder.memory_ids) if one in texts]


async def _borne(connection: Connection, scope: Scope, words: Sequence[str]) -> list[str]:
    """Return the words that are names of themselves, or whose plurals are."""
    asked = sorted({*words, *(f"{word}s" for word in words)})
    found = {name for name, _ in await candidates.bearing(connection, scope, asked)}
    found |= set(await candidates.held_among(connection, scope, asked))
    return [word for word in words if word in found or f"{word}s" in found]


async def _holders(connection: Connection, scope: Scope, words: Sequence[str], exact: Set[str]) -> list[_Holder]:
    """Return the pages and held names that have one of the exact names, or that begin with one of the words."""
    asked = sorted({*words, *(f"{word}s" for word in words), *exact})
    if not asked:
        return []
    longer = await candidates.by_beginnings(connection, scope, words, each=_EACH)
    held_longer = await candidates.mentions_by_beginnings(connection, scope, words, each=_EACH)
    begun = {word for word, _, _ in longer} | {word for word, _ in held_longer}
    asked = [one for one in asked if one in begun or " " not in one or one in exact]
    bearing = await candidates.bearing(connection, scope, asked)
    page_ids = {page_id for _, _, page_id in longer} | {one.page_id for _, one in bearing}
    standing = await load(connection, scope, page_ids)
    keys = {name for _, name in held_longer}
    held = mentions(await candidates.mentions(connection, scope, sorted({*keys, *asked})))
    pages = [page for _, page in sorted(standing.pages.items()) if page.is_active and is_judged(page)]
    found = [_Holder(frozenset(_names(page)), page=page) for page in pages]
    return [*found, *(_Holder(frozenset({plain_key(one.alias)}), mention=one) for one in held)]


def _names(page: Page) -> Iterable[str]:
    return (plain_key(one) for one in (page.title, *(alias.display for alias in page.aliases)))


def _grouped(
    holders: Sequence[_Holder], words: Iterable[str], joined: Iterable[tuple[str, str]], alone: Collection[PageKey]
) -> list[list[_Holder]]:
    """Return the holders that share a word or were joined, in groups of two names or more, or of a page that may be `alone`."""
    known = frozenset(words)
    links: dict[str, set[int]] = {}
    for at, holder in enumerate(holders):
        for name in holder.names:
            links.setdefault(f"={name}", set()).add(at)
            for word in roots(name):
                if word in known:
                    links.setdefault(word, set()).add(at)
    for word, name in joined:
        links[f"={word}"] |= links[f"={name}"]
    group_of = list(range(len(holders)))
    for together in links.values():
        numbers = {group_of[at] for at in together}
        group_of = [min(numbers) if one in numbers else one for one in group_of] if len(numbers) > 1 else group_of
    groups: dict[int, list[_Holder]] = {}
    for at, number in enumerate(group_of):
        groups.setdefault(number, []).append(holders[at])
    return [
        one
        for _, one in sorted(groups.items())
        if len({name for holder in one for name in holder.names}) > 1
        or any(holder.page is not None and holder.page.key in alone for holder in one)
    ]


def _family(
    group: Iterable[_Holder], kept: frozenset[PageKey], telling: Mapping[PageKey, frozenset[str]]
) -> NameFamily:
    group = tuple(group)
    pages = sorted((one.page for one in group if one.page is not None), key=lambda page: page.key)
    held = sorted((one.mention for one in group if one.mention is not None), key=lambda mention: mention.key)
    told = frozenset(memory_id for page in pages for memory_id in telling.get(page.key, ()))
    return NameFamily(tuple(pages), tuple(held), kept, told)


async def ids_of(connection: Connection, scope: Scope, keys: Iterable[PageKey]) -> list[UUID]:
    """Return the ids of the pages."""
    found = await candidates.identities(connection, scope, [(key.type.value, key.slug) for key in sorted(keys)])
    return [one.page_id for one in found]
