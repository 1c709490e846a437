"""Judges names that may stand for one another again, over all their memories at once: `Stanford` and `Stanford University`.

The result of a batch for such a name depends on the names before it. The result here does not: it is that of a single batch with
all memories of these names, so that pages depend on the set of memories and not on their order.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from compiler.plan import upkeep
from compiler.plan.batch import LeafBatch
from compiler.plan.contract import (
    Alias,
    BatchMemory,
    CreatePage,
    DropSighting,
    HoldMention,
    Item,
    Mention,
    Page,
    PageKey,
    PageType,
    PlanDecision,
    RemoveSection,
    SettleMention,
    WriteAlias,
    WriteLink,
    WriteSummary,
)
from compiler.plan.facts import past
from compiler.plan.names.locating import city_of
from compiler.plan.names.naming import holds
from compiler.plan.names.same_names import is_titled, main_key, surname, titled
from compiler.plan.names.spotting import declared, runs, themed
from compiler.plan.quoting.requoting import differ, is_quoted, is_theme, names_of, rewritten
from compiler.plan.text.bearers import are_several, told
from compiler.plan.text.kin import introductions, keys_of
from compiler.plan.text.markdown import alias_keys, plain_key
from compiler.plan.text.nicknames import nicknames
from compiler.plan.text.sentences import sentences
from compiler.plan.text.tokens import paired
from compiler.plan.text.words import NO_NAMES

MOST_MEMORIES = 300

_SHORTEST_WORD = 3


@dataclass(frozen=True, slots=True)
class NameClues:
    """Clues about names, as plain keys: cities with the ids of memories whose metadata has them, surnames after a title, and
    pairs of another word for a bearer and a name: a word for kin, a nickname, the last word of `Lamp and Lens` (`my sister`,
    `ana`). `borne` are names whose bearer a memory introduces.
    """

    cities: Mapping[str, frozenset[str]] = field(default_factory=dict)
    surnames: frozenset[str] = frozenset()
    given: frozenset[tuple[str, str]] = frozenset()
    borne: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class NameFamily:
    """Pages and held names that begin with the same words; one of them is these words alone, or their plural.

    A family is also a page with the name of a city, made from memories that did not know it as a city, and a hub that does not
    only list pages. `kept` are pages that must stay as they are, `hubs` those whose lists are left out here (see `own_part`),
    `telling` the memories whose metadata says that a name of the family is a city, `earlier` the memories in which a name of the
    pages was seen before it had a page, `quoted` the pages that only quote their memories.
    """

    pages: tuple[Page, ...] = ()
    mentions: tuple[Mention, ...] = ()
    kept: frozenset[PageKey] = frozenset()
    hubs: frozenset[PageKey] = frozenset()
    telling: frozenset[str] = frozenset()
    earlier: frozenset[str] = frozenset()
    quoted: frozenset[PageKey] = frozenset()

    @property
    def memory_ids(self) -> frozenset[str]:
        """The ids of the memories that the pages cite, that contain the names, or that name the city."""
        cited = {source.memory_id for page in self.pages for source in page.cited()}
        seen = {one.source.memory_id for mention in self.mentions for one in mention.sightings}
        return frozenset(cited | seen | self.telling | self.earlier)

    @property
    def keys(self) -> frozenset[str]:
        """The keys under which the pages' names are stored."""
        return frozenset(alias.key for page in self.pages for alias in page.aliases)

    @property
    def names(self) -> frozenset[str]:
        """The plain keys of all names."""
        borne = {plain_key(alias.display) for page in self.pages for alias in page.aliases}
        titled = {plain_key(page.title) for page in self.pages}
        return frozenset((borne | titled | {plain_key(one.alias) for one in self.mentions}) - {""})


def names_in(memories: Iterable[BatchMemory]) -> frozenset[str]:
    """Return the plain keys of the memories' names and themes, and the keys under which mentions store them (`soo-jin bae`)."""
    spotted = (one for memory in memories for one in (*declared(memory), *runs(memory.text), *themed(memory)))
    keys = (key for one in spotted for key in (plain_key(one.name), *alias_keys(one.name)))
    return frozenset(name for key in keys for name in (key, main_key(key))) - {""}


def clues_in(memories: Iterable[BatchMemory]) -> NameClues:
    """Return the clues in the memories about their names."""
    cities: dict[str, set[str]] = {}
    surnames: set[str] = set()
    given: set[tuple[str, str]] = set()
    borne: set[str] = set()
    for memory in memories:
        if key := plain_key(city_of(memory)):
            cities.setdefault(key, set()).add(memory.memory_id)
        surnames |= titled(memory.text)
        given |= {(word, plain_key(name)) for kind, name in introductions(memory.text) for word in keys_of(kind)}
        given |= {(plain_key(nick), plain_key(name)) for nick, name in nicknames(memory.text)}
        given |= {(plain_key(name).rpartition(" ")[2], plain_key(name)) for name in paired(memory.text)}
        names, said = {one.name for one in runs(memory.text)}, sentences(memory.text)
        borne |= {plain_key(name) for name in names if told((name,), said)}
    spread = {key: frozenset(ids) for key, ids in cities.items()}
    return NameClues(spread, frozenset(surnames), frozenset(given), frozenset(borne))


def may_be_several(family: NameFamily, memories: Mapping[str, BatchMemory]) -> bool:
    """Return whether the memories of a family say of one of its names that several bear it, or label one of its bearers."""
    texts = [memories[one].text for one in sorted(family.memory_ids) if one in memories]
    names = {one.name for text in texts for one in runs(text) if plain_key(one.name) in family.names}
    roles = told(names, (sentence for text in texts for sentence in sentences(text)))
    return are_several(roles) or any(one.is_label for one in roles)


def roots(name: str) -> tuple[str, ...]:
    """Return the beginnings of the families that a plain key belongs to: its first words, and the singular of a plural."""
    words = name.split()
    first = words[0] if words else ""
    is_plural = len(words) == 1 and first.endswith("s") and len(first) > _SHORTEST_WORD
    begins = tuple(" ".join(words[:count]) for count in range(1, len(words) + 1))
    return (*begins, first[:-1]) if is_plural else begins


def parts(name: str) -> tuple[str, ...]:
    """Return the runs of later words of a plain key that may have been taken for a name: `saga`, of `vinland saga` in lower case,
    and `plaza hotel`, of `the grand Plaza Hotel`.
    """
    words = name.split()
    spans = ((start, end) for start in range(1, len(words)) for end in range(start + 1, len(words) + 1))
    begun = (
        (start, end) for start, end in spans if len(words[start]) >= _SHORTEST_WORD and words[start] not in NO_NAMES
    )
    return tuple(dict.fromkeys(" ".join(words[start:end]) for start, end in begun))


def may_be_called(name: str, word: str, memories: Sequence[BatchMemory]) -> bool:
    """Return whether one or more words of these memories may stand for a longer plain key.

    That is so if one of the memories contains the key, or if the word is a surname: after a title in a memory, or after a form
    of address in the key.
    """
    if any(holds(name, plain_key(memory.text)) for memory in memories) or surname(name) == word:
        return True
    return name.endswith(f" {word}") and is_titled(word, (memory.text for memory in memories))


def is_judged(page: Page) -> bool:
    """Return whether rules make such a page from a name: it is no decision, no theme, and lists no pages."""
    return is_named(page) and not is_theme(page)


def is_named(page: Page) -> bool:
    """Return whether rules make such a page from a name or a theme: it is no decision and lists no pages."""
    return page.key.type is not PageType.DECISION and all(one.aggregation is None for one in page.sections)


def own_part(page: Page) -> Page | None:
    """Return a topic's page without its lists if rules also made it from its name; None if it has no lists, or nothing else."""
    own = tuple(one for one in page.sections if one.aggregation is None)
    is_both = page.key.type is PageType.TOPIC and 0 < len(own) < len(page.sections)
    return replace(page, sections=own) if is_both else None


def is_made_by_hand(page: Page) -> bool:
    """Return whether the page has content that its memories cannot give again: manual or imported names, kept past lines."""
    has_past = any(past.split(section.body_md)[1] for section in page.sections)
    return has_past or any(alias.origin != "compiler" for alias in page.aliases)


def with_quoted(family: NameFamily, memories: Mapping[str, BatchMemory]) -> NameFamily:
    """Return the family with `quoted` set: its pages that only quote its memories."""
    family_memories = [memories[one] for one in sorted(family.memory_ids) if one in memories]
    return replace(family, quoted=frozenset(page.key for page in family.pages if is_quoted(page, family_memories)))


def batch_of(family: NameFamily, memories: Mapping[str, BatchMemory]) -> LeafBatch:
    """Return a batch of all memories of a family over an empty wiki, with every name of the family as a known mention."""
    every = sorted((memories[one] for one in family.memory_ids if one in memories), key=_by_time)
    held = {one.key: replace(one, sightings=()) for one in family.mentions}
    known = {key: Mention(key, key) for key in sorted(family.names)}
    return LeafBatch(tuple(every), mentions=tuple((known | held).values()))


def changes(
    family: NameFamily,
    decision: PlanDecision,
    around: Mapping[PageKey, Page],
    taken: Collection[PageKey] = (),
    stated: Collection[WriteLink] = (),
) -> tuple[Item, ...]:
    """Return the items that turn the family's pages into those of the decision, which was made over an empty wiki.

    A page whose name now belongs to another page is folded into it: its names and the edges by hand (`stated`) move there. A page
    that only quotes, and whose name has too few memories for a page, is withdrawn unless an edge by hand has it: its name is
    held. Of a hub only its own part is withdrawn. A held name that is only part of a page's name is dropped. Pages in `kept`, and
    pages whose name the decision does not have, stay. `around` are the family's pages, the pages that lead to them and all that
    these list; `taken` the active pages of other names.
    """
    standing = {page.key: page for page in family.pages}
    made = {
        item.page.key: item.page
        for item in decision.items
        if isinstance(item, CreatePage) and not family.names.isdisjoint(names_of(item.page))
    }
    made = {key: page for key, page in made.items() if key not in taken}
    folded = dict(_folded(family, made))
    needed = {end for link in stated for end in (link.source, link.target)}
    unproven = _unproven(family, decision) - made.keys() - folded.keys() - family.kept
    withdrawn = unproven - family.hubs - needed
    items: list[Item] = []
    for key, page in sorted(made.items()):
        present = standing.get(key)
        if present is None:
            items.append(CreatePage(page))
        elif key not in family.kept | family.hubs and differ(present, page, is_quoted=key in family.quoted):
            items.extend(rewritten(present, page))
    for key, target in sorted(folded.items()):
        gone = standing[key]
        items.extend(_moved_edges(key, target, stated))
        items.extend(upkeep.delete(gone, around))
        items.extend(_moved_names(gone, made[target]))
    for key in sorted(withdrawn):
        items.extend(upkeep.delete(standing[key], around))
    for key in sorted(unproven & family.hubs):
        items.extend(RemoveSection(key, one.slug) for one in standing[key].sections)
        items.append(WriteSummary(key, ""))
    items.extend(_within(family, decision))
    if not items:
        return ()
    named = {name: key for key, page in made.items() for name in (alias.key for alias in page.aliases)}
    items.extend(SettleMention(one.key, named[one.key]) for one in family.mentions if one.key in named)
    items.extend(_held(family, decision, named))
    return tuple(items)


def _folded(family: NameFamily, made: Mapping[PageKey, Page]) -> Iterator[tuple[PageKey, PageKey]]:
    """Yield the pages that the decision no longer makes, each with its replacement: the page with its name, or its memories."""
    for page in family.pages:
        if page.key in made or page.key in family.kept | family.hubs:
            continue
        cited = {source.memory_id for source in page.cited()}
        shared = {key: len(cited & {source.memory_id for source in one.cited()}) for key, one in made.items()}
        bearing = [key for key, one in made.items() if plain_key(page.title) in names_of(one)]
        best = min(bearing or [key for key in made if shared[key]], key=lambda key: (-shared[key], key), default=None)
        if best is not None and best not in family.kept | family.hubs:
            yield page.key, best


def _unproven(family: NameFamily, decision: PlanDecision) -> set[PageKey]:
    """Return the pages that only quote, and of whose names the decision holds one."""
    held = {plain_key(item.mention.alias) for item in decision.items if isinstance(item, HoldMention)}
    return {page.key for page in family.pages if page.key in family.quoted and not held.isdisjoint(names_of(page))}


def _moved_names(gone: Page, target: Page) -> Iterator[Item]:
    """Yield the folded page's names and slug as names of its target; none if the target does not have its title as a name."""
    known = {alias.key for alias in target.aliases}
    if plain_key(gone.title) not in names_of(target):
        return
    cited = tuple(sorted(set(gone.cited())))
    slug = Alias(gone.key.slug.replace("-", " "), gone.title, sources=cited)
    every = {alias.key: alias for alias in (slug, *gone.aliases)}
    yield from (WriteAlias(target.key, alias) for key, alias in sorted(every.items()) if key not in known)


def _moved_edges(gone: PageKey, target: PageKey, stated: Iterable[WriteLink]) -> Iterator[WriteLink]:
    """Yield a folded page's edges by hand as edges of its target."""
    for link in stated:
        if gone in (link.source, link.target):
            ends = (target if end == gone else end for end in (link.source, link.target))
            source, to = next(ends), next(ends)
            if source != to:
                yield replace(link, source=source, target=to)


def _within(family: NameFamily, decision: PlanDecision) -> Iterator[DropSighting]:
    """Yield the sightings of held names that a memory has only within a page's name: `Mouraria`, in `club in Mouraria`."""
    seen = {item.mention.key for item in decision.items if isinstance(item, HoldMention)}
    pages = [item.page for item in decision.items if isinstance(item, CreatePage)]
    covered = [
        ({part for name in names_of(page) for part in parts(name)}, {source.memory_id for source in page.cited()})
        for page in pages
    ]
    for one in family.mentions:
        memory_ids = {id_ for names, cited in covered if plain_key(one.alias) in names for id_ in cited}
        for sighting in one.sightings if one.key not in seen else ():
            if sighting.source.memory_id in memory_ids:
                yield DropSighting(one.key, sighting.source.memory_id)


def _held(family: NameFamily, decision: PlanDecision, named: Collection[str]) -> Iterator[Item]:
    """Yield the holds of names of the family that had a page and have none now."""
    held = {one.key for one in family.mentions}
    for item in decision.items:
        if (
            isinstance(item, HoldMention)
            and item.mention.key not in held
            and item.mention.key not in named
            and plain_key(item.mention.alias) in family.names
        ):
            yield item


def _by_time(memory: BatchMemory) -> tuple[object, str]:
    return (memory.occurred_at, memory.memory_id)
