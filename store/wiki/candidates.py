"""The reads of a compile: complete pages by key or id, and candidate pages for names. A few queries per batch.

Every function takes a connection inside a scoped transaction. Some return driver rows, which
`compiler/state/row_mapping.py` maps to values.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from store.db import queries
from store.db.queries import Connection
from store.scope import Scope

_sql = queries.load(__file__)

# A page's position among changed pages: the revision that changed it, its type and its slug.
Place = tuple[int, str, str]


@dataclass(frozen=True, slots=True)
class WikiRows:
    """The rows of pages and of everything on them, each kind in a stable order."""

    pages: Sequence[Any] = ()
    sections: Sequence[Any] = ()
    aliases: Sequence[Any] = ()
    sources: Sequence[Any] = ()
    children: Sequence[Any] = ()


@dataclass(frozen=True, slots=True)
class PageIdentity:
    """A page's id, key and status."""

    page_id: UUID
    type: str
    slug: str
    title: str
    is_active: bool


@dataclass(frozen=True, slots=True)
class Like:
    """A name and a similar alias of a page; `likeness` (0 to 1) is the trigram similarity of the folded names."""

    name: str
    alias: str
    page_id: UUID
    likeness: float


async def pages(connection: Connection, scope: Scope, page_ids: Sequence[UUID]) -> WikiRows:
    """Return the pages with these ids, including archived ones."""
    if not page_ids:
        return WikiRows()
    key = {"tenant_id": scope.tenant_id, "page_ids": list(page_ids)}
    return WikiRows(
        await _sql.pages_by_ids(connection, **scope.key, page_ids=list(page_ids)),
        await _sql.sections_of(connection, **key),
        await _sql.aliases_of(connection, **key),
        await _sql.sources_of(connection, **key),
        await _sql.children_of(connection, **key),
    )


async def all_ids(connection: Connection, scope: Scope) -> list[UUID]:
    """Return the ids of every page of the scope, including archived ones."""
    return [row["page_id"] for row in await _sql.all_page_ids(connection, **scope.key)]


async def identities(connection: Connection, scope: Scope, keys: Sequence[tuple[str, str]]) -> list[PageIdentity]:
    """Return ids and status of the existing pages among the keys (type, slug)."""
    if not keys:
        return []
    types, slugs = (list(column) for column in zip(*keys, strict=True))
    rows = await _sql.identities(connection, **scope.key, types=types, slugs=slugs)
    return [_identity(row) for row in rows]


async def names_of(connection: Connection, scope: Scope, keys: Sequence[tuple[str, str]]) -> list[Any]:
    """Return type, slug, title and displays (all other names) of the existing pages among the keys (type, slug)."""
    types, slugs = (list(column) for column in zip(*keys, strict=True))
    found: list[Any] = await _sql.names_of(connection, **scope.key, types=types, slugs=slugs)
    return found


async def identities_of(connection: Connection, scope: Scope, page_ids: Sequence[UUID]) -> list[PageIdentity]:
    """Return keys and status of the pages with these ids."""
    if not page_ids:
        return []
    rows = await _sql.identities_of(connection, **scope.key, page_ids=list(page_ids))
    return [_identity(row) for row in rows]


async def by_aliases(connection: Connection, scope: Scope, aliases: Sequence[str]) -> list[tuple[str, UUID]]:
    """Return (name, page id) for each of the folded names that is a name of an active page."""
    return [(alias, one.page_id) for alias, one in await bearing(connection, scope, aliases)]


async def bearing(connection: Connection, scope: Scope, aliases: Sequence[str]) -> list[tuple[str, PageIdentity]]:
    """Return (name, page) for each of the folded names that is a name of an active page, in order of name."""
    if not aliases:
        return []
    rows = await _sql.pages_by_alias(connection, **scope.key, aliases=_lines(aliases))
    return [(row["alias"], _identity(row)) for row in rows]


async def by_likeness(
    connection: Connection, scope: Scope, names: Sequence[str], *, least: float, each: int
) -> list[Like]:
    """Return pages with names similar to the folded ones: likeness at least `least` (0.3 to 1), at most `each` per name."""
    if not names:
        return []
    rows = await _sql.pages_by_likeness(connection, **scope.key, names=list(names), least=least, each=each)
    return [Like(row["name"], row["alias"], row["found_id"], row["likeness"]) for row in rows]


async def by_beginnings(
    connection: Connection, scope: Scope, beginnings: Sequence[str], *, each: int
) -> list[tuple[str, str, UUID]]:
    """Return (beginning, name, page id) for folded names of active pages that continue one of the beginnings after a space.

    At most `each` names per beginning.
    """
    if not beginnings:
        return []
    rows = await _sql.pages_by_beginning(connection, **scope.key, beginnings=list(beginnings), each=each)
    return [(row["beginning"], row["alias"], row["page_id"]) for row in rows]


async def held_among(connection: Connection, scope: Scope, names: Sequence[str]) -> list[str]:
    """Return the folded names that are held."""
    if not names:
        return []
    return [row["alias_normalized"] for row in await _sql.held_among(connection, **scope.key, names=_lines(names))]


async def mentions_by_beginnings(
    connection: Connection, scope: Scope, beginnings: Sequence[str], *, each: int
) -> list[tuple[str, str]]:
    """Return (beginning, name) for open mentions whose folded name continues one of the beginnings after a space.

    At most `each` names per beginning.
    """
    if not beginnings:
        return []
    rows = await _sql.mentions_by_beginning(connection, **scope.key, beginnings=list(beginnings), each=each)
    return [(row["beginning"], row["alias_normalized"]) for row in rows]


async def names_containing(connection: Connection, scope: Scope, words: Sequence[str], *, limit: int) -> list[str]:
    """Return up to `limit` folded names, of pages or held, of which a word after the first is one of the folded words."""
    if not words:
        return []
    return [
        row["name"] for row in await _sql.names_containing(connection, **scope.key, words=_lines(words), limit=limit)
    ]


async def acted_on(connection: Connection, scope: Scope, keys: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the pages (type, slug) that an operator's act names."""
    if not keys:
        return []
    types, slugs = (list(column) for column in zip(*keys, strict=True))
    rows = await _sql.pages_acted_on(connection, **scope.key, types=types, slugs=slugs)
    return [(row["type"], row["slug"]) for row in rows]


async def about(connection: Connection, scope: Scope, texts: Sequence[Sequence[str]], *, each: int) -> list[UUID]:
    """Return the active pages that share the rarest words with the texts, given as words: at most `each` per text."""
    pairs = [(number, word) for number, words in enumerate(texts) for word in dict.fromkeys(words)]
    if not pairs:
        return []
    numbers, words = (list(column) for column in zip(*pairs, strict=True))
    rows = await _sql.pages_about(connection, **scope.key, texts=numbers, words=words, each=each)
    return list(dict.fromkeys(row["found_id"] for row in rows))


async def near(
    connection: Connection, scope: Scope, memory_ids: Sequence[str], *, least: float, each: int
) -> list[UUID]:
    """Return the pages with the vectors nearest to those of the memories, with a cosine of at least `least`: at most `each`
    per memory. Empty without vectors.
    """
    if not memory_ids:
        return []
    rows = await _sql.pages_near(connection, **scope.key, memory_ids=list(memory_ids), least=least, each=each)
    return list(dict.fromkeys(row["found_id"] for row in rows))


async def top_hubs(connection: Connection, scope: Scope, *, limit: int) -> list[UUID]:
    """Return the active pages with the highest hubness."""
    return [row["page_id"] for row in await _sql.top_hubs(connection, **scope.key, limit=limit)]


async def changed_since(connection: Connection, scope: Scope, place: Place, *, limit: int) -> list[tuple[UUID, Place]]:
    """Return active pages changed after a place, each with its place, the earliest change first, without gaps."""
    revision, kind, slug = place
    rows = await _sql.changed_pages(connection, **scope.key, revision=revision, type=kind, slug=slug, limit=limit)
    return [(row["page_id"], (row["changed_revision"], row["type"], row["slug"])) for row in rows]


async def outlines(connection: Connection, scope: Scope, page_ids: Sequence[UUID]) -> list[Any]:
    """Return key, title, summary and tags of the pages with these ids, and whether one of their sections lists pages."""
    found: list[Any] = await _sql.outlines_of(connection, **scope.key, page_ids=list(page_ids))
    return found


async def citing(connection: Connection, scope: Scope, memory_ids: Sequence[str]) -> list[UUID]:
    """Return the pages that cite one of the memories, in any subject."""
    rows = await _sql.pages_citing(connection, **scope.key, memory_ids=list(memory_ids))
    return [row["page_id"] for row in rows]


async def links_of_refs(connection: Connection, scope: Scope, refs: Sequence[str]) -> list[Any]:
    """Return the causes of links that refer to one of the memories."""
    found: list[Any] = await _sql.causes_of_refs(connection, **scope.key, refs=list(refs))
    return found


async def links_of_page(connection: Connection, scope: Scope, page_id: UUID) -> list[Any]:
    """Return the causes of the links from or to a page."""
    found: list[Any] = await _sql.causes_of_page(connection, **scope.key, page_id=page_id)
    return found


async def linked_from(connection: Connection, scope: Scope, page_ids: Sequence[UUID]) -> list[UUID]:
    """Return the active pages that one of the pages links to."""
    if not page_ids:
        return []
    return [row["page_id"] for row in await _sql.linked_from(connection, **scope.key, page_ids=list(page_ids))]


async def inbound(connection: Connection, scope: Scope, page_ids: Sequence[UUID]) -> list[tuple[UUID, int]]:
    """Return (page id, number of pages that link to it) for each page."""
    rows = await _sql.inbound_references(connection, **scope.key, page_ids=list(page_ids))
    return [(row["to_page_id"], row["links"]) for row in rows]


async def hierarchy(connection: Connection, scope: Scope) -> list[Any]:
    """Return every page that has a parent, and the parent: child_type, child_slug, parent_type, parent_slug."""
    found: list[Any] = await _sql.hierarchy(connection, **scope.key)
    return found


async def rollups_of(connection: Connection, scope: Scope, page_ids: Sequence[UUID]) -> list[UUID]:
    """Return the pages with one of these pages as a child under a section."""
    rows = await _sql.rollup_parents(connection, **scope.key, page_ids=list(page_ids))
    return [row["parent_page_id"] for row in rows]


async def waiting_rollups(connection: Connection, scope: Scope, *, limit: int) -> list[UUID]:
    """Return the active pages with a section that waits for promotion."""
    rows = await _sql.candidates_waiting(connection, **scope.key, limit=limit)
    return [row["page_id"] for row in rows]


async def feeding(connection: Connection, scope: Scope, memory_ids: Sequence[str]) -> list[Any]:
    """Return the citations of the memories by sections of active entity pages: source_ref, type, slug."""
    found: list[Any] = await _sql.fed_entities(connection, **scope.key, memory_ids=list(memory_ids))
    return found


async def naming(connection: Connection, scope: Scope, memory_ids: Sequence[str]) -> list[Any]:
    """Return the active pages that cite the memories in a section or have a name from them: source_ref, type, slug."""
    found: list[Any] = await _sql.naming_pages(connection, **scope.key, memory_ids=list(memory_ids))
    return found


async def mentions(connection: Connection, scope: Scope, keys: Sequence[str]) -> list[Any]:
    """Return the open mentions of these folded names, one row per sighting."""
    found: list[Any] = await _sql.open_mentions(connection, **scope.key, keys=_lines(keys))
    return found


async def settled_sightings(connection: Connection, scope: Scope, keys: Sequence[str]) -> dict[str, list[str]]:
    """Return the memories in which folded names were seen before they got a page, by name."""
    found: dict[str, list[str]] = {}
    for row in await _sql.settled_sightings(connection, **scope.key, keys=_lines(keys)) if keys else ():
        found.setdefault(row["alias_normalized"], []).append(row["memory_id"])
    return found


async def mention_keys(connection: Connection, scope: Scope, mention_ids: Sequence[UUID]) -> list[str]:
    """Return the folded names of open mentions."""
    rows = await _sql.keys_of_mentions(connection, **scope.key, mention_ids=list(mention_ids))
    return [row["alias_normalized"] for row in rows]


async def mentions_seen_in(connection: Connection, scope: Scope, memory_ids: Sequence[str]) -> list[str]:
    """Return the folded names of open mentions seen in one of the memories."""
    rows = await _sql.mentions_seen_in(connection, **scope.key, memory_ids=list(memory_ids))
    return [row["alias_normalized"] for row in rows]


async def opened_by(
    connection: Connection, scope: Scope, page_ids: Sequence[UUID], traits: Sequence[str], *, least: int
) -> list[Any]:
    """Return (person_id, found_id, source_ref) for each page whose summary cites a memory that one of the pages cites.

    Only pages with a section of one of the slugs `traits` count, and only if they open `least` others or more.
    """
    if not page_ids:
        return []
    found: list[Any] = await _sql.opened_by(
        connection, **scope.key, page_ids=list(page_ids), traits=list(traits), least=least
    )
    return found


async def memories_of_tags(
    connection: Connection, scope: Scope, page_ids: Sequence[UUID], classes: Sequence[str]
) -> list[str]:
    """Return the memories that prove the pages' tags of some classes (`city:`)."""
    if not page_ids:
        return []
    rows = await _sql.memories_of_tags(connection, **scope.key, page_ids=list(page_ids), classes=list(classes))
    return [row["source_ref"] for row in rows]


async def tagged(connection: Connection, scope: Scope, tags: Sequence[str]) -> list[tuple[str, str, str]]:
    """Return (tag, type, slug) for each active page with one of the tags."""
    if not tags:
        return []
    rows = await _sql.tagged(connection, **scope.key, tags=list(tags))
    return [(row["tag"], row["type"], row["slug"]) for row in rows]


async def plain_tags(connection: Connection, scope: Scope) -> list[str]:
    """Return the tags of active pages, without those of a class (`city:`)."""
    return [row["tag"] for row in await _sql.plain_tags(connection, **scope.key)]


async def summaries_with(
    connection: Connection, scope: Scope, words: Collection[str], texts: Collection[str] = ()
) -> list[Any]:
    """Return type, slug and summary of each active entity page whose summary has one of the words or contains one of the texts.

    Case and accents are ignored. Reads every page of the scope, in about the same time for one word and for hundreds.
    """
    sought = {"words": _lines(sorted(words)), "texts": _lines(sorted(texts))}
    found: list[Any] = await _sql.summaries_with(connection, **scope.key, **sought)
    return found


async def names_with(
    connection: Connection, scope: Scope, words: Collection[str], texts: Collection[str] = ()
) -> list[tuple[str, str, str]]:
    """Return (name, type, slug) for folded names of active entity pages that have one of the words or contain one of the texts.

    Reads every name of the scope, in about the same time for one word and for hundreds.
    """
    sought = {"words": _lines(sorted(words)), "texts": _lines(sorted(texts))}
    rows = await _sql.names_with(connection, **scope.key, **sought)
    return [(row["alias"], row["type"], row["slug"]) for row in rows]


async def duplicate_titles(connection: Connection, scope: Scope) -> int:
    """Return how many titles are shared by several active pages of an owner."""
    return int(await _sql.duplicate_titles(connection, **scope.key))


async def count_resting_on(connection: Connection, scope: Scope, memory_ids: Sequence[str]) -> int:
    """Return how many active pages cite these memories and no other."""
    return int(await _sql.count_resting_on(connection, **scope.key, memory_ids=list(memory_ids)))


async def count_active(connection: Connection, scope: Scope) -> int:
    """Return how many active pages the scope has."""
    return int(await _sql.count_active(connection, **scope.key))


async def all_causes(connection: Connection, scope: Scope) -> list[Any]:
    """Return every cause of every link of the scope, by keys."""
    found: list[Any] = await _sql.all_causes(connection, **scope.key)
    return found


async def all_mentions(connection: Connection, scope: Scope) -> list[Any]:
    """Return every held name of the scope, of any status, with the key of its page."""
    found: list[Any] = await _sql.all_mentions(connection, **scope.key)
    return found


async def open_keys(connection: Connection, scope: Scope) -> list[str]:
    """Return the folded names of open mentions."""
    return [row["alias_normalized"] for row in await _sql.open_keys(connection, **scope.key)]


def _identity(row: Any) -> PageIdentity:
    return PageIdentity(row["page_id"], row["type"], row["slug"], row["title"], row["status"] == "active")


def _lines(names: Sequence[str]) -> str:
    """Return folded names as one text, one per line: cheaper than an array, whose elements the driver checks one by one."""
    return "\n".join(names)
