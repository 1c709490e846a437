"""What a compile reads of the wiki: whole pages by key or id, and which pages may be meant by names. A few queries a batch.

Every function takes a connection inside a scoped transaction. Rows come back as the driver gives them;
`compiler/state/row_mapping.py` makes values of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from store.db import queries
from store.db.queries import Connection
from store.scope import Scope

_sql = queries.load(__file__)

# Where a page stands among the changed ones: the revision that changed it, its type and its slug.
Place = tuple[int, str, str]


@dataclass(frozen=True, slots=True)
class WikiRows:
    """Pages with everything on them, each kind of row in a stable order."""

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
    """A name and a page's alias like it; `likeness` (0 to 1) is the trigram similarity of the folded names."""

    name: str
    alias: str
    page_id: UUID
    likeness: float


async def pages(connection: Connection, scope: Scope, page_ids: Sequence[UUID]) -> WikiRows:
    """Return the pages with these ids, archived ones too."""
    if not page_ids:
        return WikiRows()
    key = {"tenant_id": scope.tenant_id, "page_ids": list(page_ids)}
    return WikiRows(
        await _sql.pages_by_ids(connection, **_key(scope), page_ids=list(page_ids)),
        await _sql.sections_of(connection, **key),
        await _sql.aliases_of(connection, **key),
        await _sql.sources_of(connection, **key),
        await _sql.children_of(connection, **key),
    )


async def all_ids(connection: Connection, scope: Scope) -> list[UUID]:
    """Return the ids of every page of the scope, archived ones too."""
    return [row["page_id"] for row in await _sql.all_page_ids(connection, **_key(scope))]


async def identities(connection: Connection, scope: Scope, keys: Sequence[tuple[str, str]]) -> list[PageIdentity]:
    """Return ids and status of those pages, named by type and slug, that are there."""
    if not keys:
        return []
    types, slugs = (list(column) for column in zip(*keys, strict=True))
    rows = await _sql.identities(connection, **_key(scope), types=types, slugs=slugs)
    return [_identity(row) for row in rows]


async def identities_of(connection: Connection, scope: Scope, page_ids: Sequence[UUID]) -> list[PageIdentity]:
    """Return keys and status of the pages with these ids."""
    if not page_ids:
        return []
    rows = await _sql.identities_of(connection, **_key(scope), page_ids=list(page_ids))
    return [_identity(row) for row in rows]


async def by_aliases(connection: Connection, scope: Scope, aliases: Sequence[str]) -> list[tuple[str, UUID]]:
    """Return which of the folded names are names of which active pages."""
    return [(alias, one.page_id) for alias, one in await bearing(connection, scope, aliases)]


async def bearing(connection: Connection, scope: Scope, aliases: Sequence[str]) -> list[tuple[str, PageIdentity]]:
    """Return which of the folded names active pages bear, each with its page, by name."""
    if not aliases:
        return []
    rows = await _sql.pages_by_alias(connection, **_key(scope), aliases=_lines(aliases))
    return [(row["alias"], _identity(row)) for row in rows]


async def by_likeness(
    connection: Connection, scope: Scope, names: Sequence[str], *, least: float, each: int
) -> list[Like]:
    """Return the pages whose names are like the folded ones, at least `least` (0.3 to 1), at most `each` a name."""
    if not names:
        return []
    rows = await _sql.pages_by_likeness(connection, **_key(scope), names=list(names), least=least, each=each)
    return [Like(row["name"], row["alias"], row["found_id"], row["likeness"]) for row in rows]


async def by_beginnings(
    connection: Connection, scope: Scope, beginnings: Sequence[str], *, each: int
) -> list[tuple[str, str, UUID]]:
    """Return the active pages with a folded name that goes on after one of these and a space: beginning, name and page.

    At most `each` names a beginning.
    """
    if not beginnings:
        return []
    rows = await _sql.pages_by_beginning(connection, **_key(scope), beginnings=list(beginnings), each=each)
    return [(row["beginning"], row["alias"], row["page_id"]) for row in rows]


async def about(connection: Connection, scope: Scope, texts: Sequence[Sequence[str]], *, each: int) -> list[UUID]:
    """Return the active pages that share the rarest words with texts, given as their words: at most `each` a text."""
    pairs = [(number, word) for number, words in enumerate(texts) for word in dict.fromkeys(words)]
    if not pairs:
        return []
    numbers, words = (list(column) for column in zip(*pairs, strict=True))
    rows = await _sql.pages_about(connection, **_key(scope), texts=numbers, words=words, each=each)
    return list(dict.fromkeys(row["found_id"] for row in rows))


async def near(
    connection: Connection, scope: Scope, memory_ids: Sequence[str], *, least: float, each: int
) -> list[UUID]:
    """Return the pages whose vectors are nearest to those of the memories, of a cosine of `least` or more: at most `each`
    a memory. None where there are no vectors."""
    if not memory_ids:
        return []
    rows = await _sql.pages_near(connection, **_key(scope), memory_ids=list(memory_ids), least=least, each=each)
    return list(dict.fromkeys(row["found_id"] for row in rows))


async def top_hubs(connection: Connection, scope: Scope, *, limit: int) -> list[UUID]:
    """Return the active pages with the highest hubness."""
    return [row["page_id"] for row in await _sql.top_hubs(connection, **_key(scope), limit=limit)]


async def changed_since(connection: Connection, scope: Scope, place: Place, *, limit: int) -> list[tuple[UUID, Place]]:
    """Return active pages that changed after a place, with the place of each: the longest ago first, and none left out."""
    revision, kind, slug = place
    rows = await _sql.changed_pages(connection, **_key(scope), revision=revision, type=kind, slug=slug, limit=limit)
    return [(row["page_id"], (row["changed_revision"], row["type"], row["slug"])) for row in rows]


async def citing(connection: Connection, scope: Scope, memory_ids: Sequence[str]) -> list[UUID]:
    """Return the pages that cite one of the memories anywhere."""
    rows = await _sql.pages_citing(connection, **_key(scope), memory_ids=list(memory_ids))
    return [row["page_id"] for row in rows]


async def links_of_refs(connection: Connection, scope: Scope, refs: Sequence[str]) -> list[Any]:
    """Return the causes of links that came from one of the memories."""
    found: list[Any] = await _sql.causes_of_refs(connection, **_key(scope), refs=list(refs))
    return found


async def inbound(connection: Connection, scope: Scope, page_ids: Sequence[UUID]) -> list[tuple[UUID, int]]:
    """Return how many pages refer to each page."""
    rows = await _sql.inbound_references(connection, **_key(scope), page_ids=list(page_ids))
    return [(row["to_page_id"], row["links"]) for row in rows]


async def hierarchy(connection: Connection, scope: Scope) -> list[Any]:
    """Return every page that has a parent, with it: child_type, child_slug, parent_type, parent_slug."""
    found: list[Any] = await _sql.hierarchy(connection, **_key(scope))
    return found


async def rollups_of(connection: Connection, scope: Scope, page_ids: Sequence[UUID]) -> list[UUID]:
    """Return the pages that have one of these as a child under a section."""
    rows = await _sql.rollup_parents(connection, **_key(scope), page_ids=list(page_ids))
    return [row["parent_page_id"] for row in rows]


async def waiting_rollups(connection: Connection, scope: Scope, *, limit: int) -> list[UUID]:
    """Return the active pages with a section that waits for its promotion."""
    rows = await _sql.candidates_waiting(connection, **_key(scope), limit=limit)
    return [row["page_id"] for row in rows]


async def feeding(connection: Connection, scope: Scope, memory_ids: Sequence[str]) -> list[Any]:
    """Return which memory is cited by a section of which active entity page: source_ref, type, slug."""
    found: list[Any] = await _sql.fed_entities(connection, **_key(scope), memory_ids=list(memory_ids))
    return found


async def mentions(connection: Connection, scope: Scope, keys: Sequence[str]) -> list[Any]:
    """Return the open mentions of these folded names, a row for each sighting."""
    found: list[Any] = await _sql.open_mentions(connection, **_key(scope), keys=_lines(keys))
    return found


async def mention_keys(connection: Connection, scope: Scope, mention_ids: Sequence[UUID]) -> list[str]:
    """Return the folded names of open mentions."""
    rows = await _sql.keys_of_mentions(connection, **_key(scope), mention_ids=list(mention_ids))
    return [row["alias_normalized"] for row in rows]


async def mentions_seen_in(connection: Connection, scope: Scope, memory_ids: Sequence[str]) -> list[str]:
    """Return the folded names of open mentions that stand in one of the memories."""
    rows = await _sql.mentions_seen_in(connection, **_key(scope), memory_ids=list(memory_ids))
    return [row["alias_normalized"] for row in rows]


async def duplicate_titles(connection: Connection, scope: Scope) -> int:
    """Return how many titles stand on more than one active page of an owner."""
    return int(await _sql.duplicate_titles(connection, **_key(scope)))


async def count_resting_on(connection: Connection, scope: Scope, memory_ids: Sequence[str]) -> int:
    """Return how many active pages cite these memories and no other."""
    return int(await _sql.count_resting_on(connection, **_key(scope), memory_ids=list(memory_ids)))


async def count_active(connection: Connection, scope: Scope) -> int:
    """Return how many active pages the scope has."""
    return int(await _sql.count_active(connection, **_key(scope)))


async def all_causes(connection: Connection, scope: Scope) -> list[Any]:
    """Return every cause of every link of the scope, by keys."""
    found: list[Any] = await _sql.all_causes(connection, **_key(scope))
    return found


async def all_mentions(connection: Connection, scope: Scope) -> list[Any]:
    """Return every held name of the scope, whatever became of it, with the key of its page."""
    found: list[Any] = await _sql.all_mentions(connection, **_key(scope))
    return found


async def open_keys(connection: Connection, scope: Scope) -> list[str]:
    """Return the folded names that are held."""
    return [row["alias_normalized"] for row in await _sql.open_keys(connection, **_key(scope))]


def _identity(row: Any) -> PageIdentity:
    return PageIdentity(row["page_id"], row["type"], row["slug"], row["title"], row["status"] == "active")


def _lines(names: Sequence[str]) -> str:
    """Return folded names, which hold no line break, one a line: the driver looks at each element of an array."""
    return "\n".join(names)


def _key(scope: Scope) -> dict[str, object]:
    return {"tenant_id": scope.tenant_id, "owner_id": scope.owner_id}
