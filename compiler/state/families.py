"""Reads the families of pages and held names that may stand for one another, by the words of their names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from uuid import UUID

from compiler.plan.batch import StaleView
from compiler.plan.contract import BatchMemory, Mention, Page, PageKey, PageType
from compiler.plan.judging.rejudging import (
    NameClues,
    NameFamily,
    clues_in,
    is_judged,
    is_made_by_hand,
    is_named,
    may_be_called,
    own_part,
    parts,
    roots,
)
from compiler.plan.names.same_names import is_titled, surname
from compiler.plan.names.subjects import FULL_NAME, FULL_NAMES, is_person_like
from compiler.plan.text.kin import all_keys, keys_of, kind_of
from compiler.plan.text.markdown import plain_key
from compiler.state.row_mapping import load, mentions
from compiler.state.substrates import MemorySubstrate
from store.db.queries import Connection
from store.scope import Scope
from store.wiki import candidates

_EACH = 20
_MOST_BEARERS = 2_000
_MOST_PART_MEMORIES = 50
_MOST_ROUNDS = 3
_NO_CLUES = NameClues()


@dataclass(frozen=True, slots=True)
class _Holder:
    """A page, the own part of a hub, or a held name, with the plain keys of its names."""

    names: frozenset[str]
    page: Page | None = None
    mention: Mention | None = None
    is_hub: bool = False

    @property
    def memory_ids(self) -> frozenset[str]:
        return NameFamily((self.page,) if self.page else (), (self.mention,) if self.mention else ()).memory_ids


@dataclass(frozen=True, slots=True)
class _Related:
    """The surnames, each with all names that end with it; the names within longer ones, each with these; names to judge alone."""

    surnamed: Mapping[str, Sequence[str]]
    longer: Mapping[str, Sequence[str]]
    alone: Set[str]


async def read(
    connection: Connection,
    scope: Scope,
    names: Iterable[str],
    substrate: MemorySubstrate,
    clues: NameClues = _NO_CLUES,
    *,
    alone: Set[str] = frozenset(),
) -> tuple[NameFamily, ...]:
    """Return the families of the names (plain keys), each with two names or more; no page is in two families.

    Names that begin with the same words are a family if these words are a name too, or if the plural of a single word is. A name
    joins the family of a longer name that contains it if one of its memories contains the longer name in another spelling, or
    shows that it is a surname.

    All names that end with the same surname are one family, also if the surname is found only through another name of the family.
    By the `clues` and by earlier memories, a word for kin and the name given to it are one family. An entity page titled as a
    city is a family even alone, and so is each of the names in `alone`.
    """
    names = frozenset(names) | alone
    clues = await _with_kin(connection, scope, names, substrate, clues)
    surnamed: dict[str, list[str]] = {}
    known = sorted(names)
    found: tuple[NameFamily, ...] = ()
    for _ in range(_MOST_ROUNDS):
        bearers = await _bearers(connection, scope, known, clues)
        more = await _surnamed(connection, scope, known, bearers, substrate, clues)
        if found and more.keys() <= surnamed.keys():
            break
        surnamed = {**more, **surnamed}
        known_names = {*names, *(name for every in surnamed.values() for name in every)}
        related = _Related(surnamed, _longer(known_names, bearers), alone)
        found = await _families(connection, scope, sorted(known_names), related, substrate, clues)
        known = sorted({*names, *(name for family in found for name in family.names)})
    earlier = await candidates.settled_sightings(connection, scope, sorted({key for one in found for key in one.keys}))
    return tuple(_with_earlier(one, earlier) for one in found)


async def _with_kin(
    connection: Connection, scope: Scope, names: Set[str], substrate: MemorySubstrate, clues: NameClues
) -> NameClues:
    """Return the clues, extended by held words for kin to which earlier memories give one of the names."""
    held = mentions(await candidates.mentions(connection, scope, sorted(all_keys())))
    wanted = {id_ for one in held if len(ids := _seen_in(one)) <= _MOST_PART_MEMORIES for id_ in ids}
    texts = await substrate.fetch(scope, sorted(wanted)) if wanted else {}
    pairs = {(word, name) for word, name in clues_in(texts.values()).given if name in names}
    return replace(clues, given=clues.given | pairs)


def _seen_in(mention: Mention) -> set[str]:
    return {one.source.memory_id for one in mention.sightings}


async def _families(
    connection: Connection,
    scope: Scope,
    names: Sequence[str],
    related: _Related,
    substrate: MemorySubstrate,
    clues: NameClues,
) -> tuple[NameFamily, ...]:
    """Return the families of the names; names that end with the same surname are one family."""
    surnamed, longer = related.surnamed, related.longer
    words = await _borne(connection, scope, sorted({word for name in names for word in roots(name)}))
    alone = await _borne(connection, scope, sorted(longer))
    clue_names = {*clues.cities, *(one for pair in clues.given for one in pair), *surnamed}
    exact = {
        *related.alone,
        *alone,
        *(name for word in alone for name in longer[word]),
        *clue_names,
        *(one for every in surnamed.values() for one in every),
    }
    kin = {key for kind in {_kin(name) for name in names} - {""} for key in keys_of(kind)}
    holders = await _holders(connection, scope, sorted({*words, *kin}), exact | kin, related.alone)
    by_name = {name: holder for holder in holders for name in holder.names}
    joined = await _called(scope, {word: longer[word] for word in alone}, by_name, substrate)
    joined += [(word, name) for word, name in sorted(clues.given) if word in by_name and name in by_name]
    joined += _of_kin(by_name)
    for word, every in sorted(surnamed.items()):
        present_names = [name for name in (word, *every) if name in by_name]
        joined += [(present_names[0], name) for name in present_names[1:]]
    known = {word for word in words if any(word in roots(name) for name in by_name)}
    kept = await _kept(connection, scope, [holder.page for holder in holders if holder.page is not None])
    telling = {
        page.key: clues.cities[plain_key(page.title)]
        for page in (holder.page for holder in holders if holder.page is not None)
        if page.key.type is PageType.ENTITY and page.key not in kept and plain_key(page.title) in clues.cities
    }
    groups = _grouped(holders, known, joined)
    judged = [one for one in groups if _is_family(one, telling.keys(), related.alone)]
    return tuple(_family(group, kept, telling) for group in judged)


def _kin(name: str) -> str:
    """Return the kind of kin that a plain key names, or begins with a word for (`oma trude`); empty if neither."""
    return kind_of(name) or kind_of(name.partition(" ")[0])


def _of_kin(names: Iterable[str]) -> list[tuple[str, str]]:
    """Return the pairs of a word for kin and a name that begins with a word for the same kin: `grandma` and `oma trude`."""
    by_kind: dict[str, list[str]] = {}
    for name in sorted(names):
        by_kind.setdefault(_kin(name), []).append(name)
    own = {kind: next((name for name in every if kind_of(name)), "") for kind, every in by_kind.items() if kind}
    return [(word, name) for kind, word in own.items() if word for name in by_kind[kind] if name != word]


def _longer(names: Collection[str], bearers: Iterable[str]) -> dict[str, list[str]]:
    """Return the parts of the names, and the names that are parts of others, each with the longer names."""
    known = frozenset(names)
    longer: dict[str, list[str]] = {}
    for name in sorted({*known, *bearers}):
        for part in parts(name):
            if name in known or part in known:
                longer.setdefault(part, []).append(name)
    return longer


async def _called(
    scope: Scope, longer: Mapping[str, Sequence[str]], by_name: Mapping[str, _Holder], substrate: MemorySubstrate
) -> list[tuple[str, str]]:
    """Return the pairs of a name and a longer one that it may stand for, by the memories of the shorter name."""
    pairs = [
        (word, name)
        for word, names in longer.items()
        if word in by_name and len(by_name[word].memory_ids) <= _MOST_PART_MEMORIES
        for name in names
        if name in by_name and by_name[name] is not by_name[word]
    ]
    wanted = {memory_id for word, _ in pairs for memory_id in by_name[word].memory_ids}
    texts = await substrate.fetch(scope, sorted(wanted)) if wanted else {}
    return [(word, name) for word, name in pairs if may_be_called(name, word, _of(by_name[word], texts))]


async def _kept(connection: Connection, scope: Scope, pages: Sequence[Page]) -> frozenset[PageKey]:
    """Return the pages that an operator acted on, or with content that their memories cannot give again."""
    acted = await candidates.acted_on(connection, scope, [(page.key.type.value, page.key.slug) for page in pages])
    by_operator = {PageKey(PageType(kind), slug) for kind, slug in acted}
    return frozenset(by_operator | {page.key for page in pages if is_made_by_hand(page)})


async def _bearers(connection: Connection, scope: Scope, names: Iterable[str], clues: NameClues) -> list[str]:
    """Return the longer names that one of the names may be a part or the surname of."""
    words = {*clues.surnames, *(word for name in names for word in (name.partition(" ")[0], name.rpartition(" ")[2]))}
    return await candidates.names_containing(connection, scope, sorted(words), limit=_MOST_BEARERS)


async def _surnamed(
    connection: Connection,
    scope: Scope,
    names: Iterable[str],
    bearers: Iterable[str],
    substrate: MemorySubstrate,
    clues: NameClues,
) -> dict[str, list[str]]:
    """Return the surnames among the last words of the names, each with all names that end with it.

    A word is a surname if a name has it after a form of address (`Frau Salomon`), or if a memory has it after a title.
    """
    given_names = frozenset(names)
    surnames = {*clues.surnames, *(name.rpartition(" ")[2] for name in given_names)}
    ending: dict[str, list[str]] = {}
    for name in sorted({*bearers, *(name for name in given_names if " " in name)}):
        if (last := name.rpartition(" ")[2]) in surnames:
            ending.setdefault(last, []).append(name)
    sure = {word for word, every in ending.items() if word in clues.surnames or any(map(surname, every))}
    held = await _holders(connection, scope, (), ending.keys() - sure, frozenset())
    alone = {
        word: one for one in held for word in one.names & ending.keys() if len(one.memory_ids) <= _MOST_PART_MEMORIES
    }
    wanted = {memory_id for one in alone.values() for memory_id in one.memory_ids}
    texts = await substrate.fetch(scope, sorted(wanted)) if wanted else {}
    sure |= {word for word, one in alone.items() if is_titled(word, (memory.text for memory in _of(one, texts)))}
    return {word: ending[word] for word in sorted(sure & ending.keys())}


def _with_earlier(family: NameFamily, earlier: Mapping[str, Collection[str]]) -> NameFamily:
    """Return the family with `earlier` set: the memories in which names of its pages were seen before they had a page."""
    return replace(family, earlier=frozenset(id_ for key in family.keys for id_ in earlier.get(key, ())))


def _of(holder: _Holder, texts: Mapping[str, BatchMemory]) -> list[BatchMemory]:
    return [texts[one] for one in sorted(holder.memory_ids) if one in texts]


async def _borne(connection: Connection, scope: Scope, words: Sequence[str]) -> list[str]:
    """Return the words that are names by themselves, or whose plurals are."""
    spellings = sorted({*words, *(f"{word}s" for word in words)})
    found = {name for name, _ in await candidates.bearing(connection, scope, spellings)}
    found |= set(await candidates.held_among(connection, scope, spellings))
    return [word for word in words if word in found or f"{word}s" in found]


async def _holders(
    connection: Connection, scope: Scope, words: Sequence[str], exact: Set[str], themes: Set[str]
) -> list[_Holder]:
    """Return the pages and held names that have one of the exact names, or that begin with one of the words.

    Of pages of themes, only those with a name in `themes`.
    """
    spellings = sorted({*words, *(f"{word}s" for word in words), *exact})
    if not spellings:
        return []
    longer = await candidates.by_beginnings(connection, scope, words, each=_EACH)
    held_longer = await candidates.mentions_by_beginnings(connection, scope, words, each=_EACH)
    begun = {word for word, _, _ in longer} | {word for word, _ in held_longer}
    spellings = [one for one in spellings if one in begun or " " not in one or one in exact]
    bearing = await candidates.bearing(connection, scope, spellings)
    page_ids = {page_id for _, _, page_id in longer} | {one.page_id for _, one in bearing}
    standing = await load(connection, scope, page_ids)
    keys = {name for _, name in held_longer}
    held = mentions(await candidates.mentions(connection, scope, sorted({*keys, *spellings})))
    active = [page for _, page in sorted(standing.pages.items()) if page.is_active]
    pages = [one for one in active if is_judged(one) or (is_named(one) and not themes.isdisjoint(_names(one)))]
    found = [_Holder(frozenset(_names(page)), page=page) for page in pages]
    hubs = [own for one in active if (own := own_part(one))]
    found += [_Holder(frozenset(_names(page)), page=page, is_hub=True) for page in hubs]
    return [*found, *(_Holder(frozenset({plain_key(one.alias)}), mention=one) for one in held)]


def _names(page: Page) -> Iterable[str]:
    return (plain_key(one) for one in (page.title, *(alias.display for alias in page.aliases)))


def _grouped(
    holders: Sequence[_Holder], words: Iterable[str], joined: Iterable[tuple[str, str]]
) -> list[list[_Holder]]:
    """Return the groups of holders that share a word or were joined."""
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
    return [one for _, one in sorted(groups.items())]


def _is_family(group: Iterable[_Holder], pages: Collection[PageKey], names: Set[str]) -> bool:
    """Return whether the group has two names or more, one of the pages, or one of the names."""
    of_group = {name for holder in group for name in holder.names}
    return (
        len(of_group) > 1
        or not names.isdisjoint(of_group)
        or any(holder.is_hub or (holder.page is not None and holder.page.key in pages) for holder in group)
    )


def _family(
    group: Iterable[_Holder], kept: frozenset[PageKey], telling: Mapping[PageKey, frozenset[str]]
) -> NameFamily:
    group = tuple(group)
    pages = sorted((one.page for one in group if one.page is not None), key=lambda page: page.key)
    held = sorted((one.mention for one in group if one.mention is not None), key=lambda mention: mention.key)
    telling_ids = frozenset(memory_id for page in pages for memory_id in telling.get(page.key, ()))
    hubs = frozenset(one.page.key for one in group if one.page is not None and one.is_hub) - kept
    return NameFamily(tuple(pages), tuple(held), kept, hubs, telling_ids)


async def related_to(
    connection: Connection, scope: Scope, view: StaleView, substrate: MemorySubstrate
) -> tuple[set[UUID], set[UUID]]:
    """Return the ids of the pages and of the held names in the families of the view's pages and held names."""
    names = _plain_keys((one.key for one in view.mentions), view.pages)
    found = await read(connection, scope, names, substrate, alone=names) if names else ()
    held_keys = sorted({mention.key for family in found for mention in family.mentions})
    held = await candidates.mentions(connection, scope, held_keys) if held_keys else []
    page_ids = await ids_of(connection, scope, {page.key for family in found for page in family.pages})
    return set(page_ids), {row["mention_id"] for row in held}


async def unshared(connection: Connection, scope: Scope, held: Sequence[Mention]) -> tuple[Mention, ...]:
    """Return the held names without first names that begin two full ones: only all their memories tell whose these are."""
    words = sorted({key for one in held if " " not in (key := plain_key(one.alias))})
    longer = {(word, name) for word, name, _ in await candidates.by_beginnings(connection, scope, words, each=_EACH)}
    longer |= set(await candidates.mentions_by_beginnings(connection, scope, words, each=_EACH))
    begun = Counter(word for word, name in longer if is_person_like(name) and len(name.split()) == FULL_NAME)
    return tuple(one for one in held if begun[plain_key(one.alias)] < FULL_NAMES)


async def names_of(
    connection: Connection, scope: Scope, page_ids: Sequence[UUID], mention_ids: Sequence[UUID]
) -> frozenset[str]:
    """Return the plain keys of the names that the active pages and the held names with these ids have now."""
    standing = await load(connection, scope, page_ids) if page_ids else None
    held = await candidates.mention_keys(connection, scope, mention_ids) if mention_ids else []
    return _plain_keys(held, standing.pages.values() if standing else ())


def _plain_keys(held: Iterable[str], pages: Iterable[Page]) -> frozenset[str]:
    """Return the keys of held names and of the names of active pages, as stored and as plain keys."""
    active = [page for page in pages if page.is_active]
    keys = {*held, *(alias.key for page in active for alias in page.aliases)}
    return frozenset(keys | {name for page in active for name in _names(page)} | set(map(plain_key, keys))) - {""}


async def ids_of(connection: Connection, scope: Scope, keys: Iterable[PageKey]) -> list[UUID]:
    """Return the ids of the pages."""
    found = await candidates.identities(connection, scope, [(key.type.value, key.slug) for key in sorted(keys)])
    return [one.page_id for one in found]
