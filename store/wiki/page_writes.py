"""A compile's writes to the wiki: rows given as columns, in a fixed small number of statements.

Every function takes a connection inside a scoped transaction whose caller holds the scope's row. The changes are decided by the
caller; results count rows actually changed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any
from uuid import UUID, uuid5

from store.content import embeddings
from store.content.derived import Derived, derive_pieces
from store.db import queries
from store.db.queries import Connection
from store.scope import Scope
from store.wiki import edge_ends

_sql = queries.load(__file__)


@dataclass(frozen=True, slots=True)
class PageWrite:
    """A page to write; `searched` are its search texts."""

    page_id: UUID
    type: str
    slug: str
    title: str
    summary: str
    status: str
    parent_page_id: UUID | None
    hubness_score: int
    tags: tuple[str, ...]
    searched: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SectionWrite:
    """A section to write; `searched` are its search texts."""

    page_id: UUID
    section_id: UUID
    slug: str
    heading: str
    body_md: str
    position: int
    aggregation: dict[str, Any] | None
    searched: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AliasWrite:
    """A name of a page: the folded key, and the name as written."""

    page_id: UUID
    key: str
    display: str
    origin: str


@dataclass(frozen=True, slots=True)
class SourceWrite:
    """A memory cited by a subject: a section, or a page's summary, alias or tag, identified by `subject_ref`."""

    page_id: UUID
    subject: str
    subject_ref: str
    section_id: UUID | None
    memory_id: str
    text_hash: bytes


@dataclass(frozen=True, slots=True)
class ChildRow:
    """A child under a section of a parent."""

    parent_page_id: UUID
    child_page_id: UUID
    section_id: UUID


@dataclass(frozen=True, slots=True)
class PageChanges:
    """Changes to pages. `sections_removed`, `cited_anew` and `claimed_anew` are section ids.

    `pages_found_anew` are new, or differ in title, status, parent or hubness; `pages` differ only in texts and tags.

    `sources` are those that are new or have another hash. A section in `cited_anew` lost a source, or a remaining source was
    edited; the children of every section in `claimed_anew` are replaced by those in `children`.
    """

    pages_found_anew: tuple[PageWrite, ...] = ()
    pages: tuple[PageWrite, ...] = ()
    sections: tuple[SectionWrite, ...] = ()
    sections_removed: tuple[UUID, ...] = ()
    aliases: tuple[AliasWrite, ...] = ()
    aliases_removed: tuple[tuple[UUID, str], ...] = ()
    sources_removed: tuple[SourceWrite, ...] = ()
    sources: tuple[SourceWrite, ...] = ()
    claimed_anew: tuple[UUID, ...] = ()
    children: tuple[ChildRow, ...] = ()
    cited_anew: tuple[UUID, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Return whether nothing changes."""
        removed = self.sections_removed or self.aliases_removed or self.sources_removed
        return not (self.pages_found_anew or self.pages or self.sections or self.sources or removed)


@dataclass(frozen=True, slots=True)
class EdgeStatement:
    """A statement of a typed edge: its type and beginning are part of the link, the rest belongs to this cause."""

    type: str = ""
    valid_from: datetime | None = None
    valid_until: datetime | None = None
    said_at: datetime | None = None
    properties: str = "{}"
    is_sole: bool = False


UNTYPED = EdgeStatement()


@dataclass(frozen=True, slots=True)
class CauseRow:
    """One cause of a link."""

    from_page_id: UUID
    to_page_id: UUID
    kind: str
    origin: str
    context: str
    ref: str
    edge: EdgeStatement = UNTYPED

    @property
    def link_id(self) -> UUID:
        """The link's id, the same in every run."""
        return link_uuid(self.from_page_id, self.to_page_id, self.kind, self.edge)

    @property
    def identity(self) -> tuple[object, ...]:
        """The key by which two causes are equal."""
        return (self.link_id, self.origin, self.context, self.ref)


async def write_names(
    connection: Connection, scope: Scope, changes: PageChanges, *, revision: int, now: datetime
) -> None:
    """Write `pages_found_anew` and all names. `write_texts` must follow."""
    await _write_page_rows(connection, scope, changes.pages_found_anew, revision=revision, now=now)
    await _write_aliases(connection, scope, changes, now)


async def write_texts(
    connection: Connection, scope: Scope, changes: PageChanges, *, revision: int, now: datetime
) -> None:
    """Write the other pages, and the sections, sources and children of all. Rows that stay keep id and creation time."""
    if changes.is_empty:
        return
    # Computed while the server writes the pages.
    bodies, searched = [one.body_md for one in changes.sections], [one.searched for one in changes.sections]
    deriving = asyncio.create_task(derive_pieces(bodies, searched))
    try:
        await _write_page_rows(connection, scope, changes.pages, revision=revision, now=now)
    finally:
        of_sections = await deriving
    if changes.sections_removed:
        await _sql.remove_sections(connection, tenant_id=scope.tenant_id, section_ids=list(changes.sections_removed))
    if changes.sections:
        cited_at = await _newest_cited(connection, scope, changes.sources)
        columns = _section_columns(changes.sections, of_sections)
        dates = [cited_at.get(one.section_id) for one in changes.sections]
        await _sql.write_sections(connection, **scope.key, **columns, cited_at=dates)
    await _write_sources(connection, scope, changes, now)
    await _write_children(connection, scope, changes)
    await embeddings.mark(connection, scope, embeddings.TextKind.WIKI, now=now)


async def add_causes(
    connection: Connection, scope: Scope, causes: Sequence[CauseRow], *, now: datetime
) -> tuple[set[UUID], int]:
    """Write causes of links; return the ids of new links and the number of new causes.

    Links of a page to itself are dropped.
    """
    added = [one for one in causes if one.from_page_id != one.to_page_id]
    if not added:
        return set(), 0
    link_ids = [one.link_id for one in added]
    links = dict(sorted(zip(link_ids, added, strict=True), key=lambda link: link[0]))
    made = await _sql.write_links(
        connection,
        **scope.key,
        link_ids=list(links),
        from_page_ids=[one.from_page_id for one in links.values()],
        to_page_ids=[one.to_page_id for one in links.values()],
        kinds=[one.kind for one in links.values()],
        edge_types=[one.edge.type for one in links.values()],
        valid_froms=[one.edge.valid_from for one in links.values()],
        now=now,
    )
    written = await _sql.write_causes(
        connection,
        **scope.key,
        link_ids=link_ids,
        origins=[one.origin for one in added],
        contexts=[one.context for one in added],
        refs=[one.ref for one in added],
        said_ats=[one.edge.said_at for one in added],
        valid_untils=[one.edge.valid_until for one in added],
        properties=[one.edge.properties for one in added],
        are_sole=[one.edge.is_sole for one in added],
        now=now,
    )
    await edge_ends.settle(connection, scope, _typed(added))
    return {row["link_id"] for row in made}, int(written)


async def drop_causes(connection: Connection, scope: Scope, causes: Sequence[CauseRow]) -> int:
    """Delete causes of links, then links without causes; return how many links were deleted."""
    if not causes:
        return 0
    await _sql.drop_causes(connection, **scope.key, **_cause_columns(causes))
    dropped = await drop_links_without_cause(connection, scope)
    await edge_ends.settle(connection, scope, _typed(causes))
    return dropped


async def score_hubs(connection: Connection, scope: Scope, page_ids: Sequence[UUID]) -> int:
    """Recompute the hubness of these pages from the stored rows; return how many changed."""
    if not page_ids:
        return 0
    return int(await _sql.score_hubs(connection, **scope.key, page_ids=list(page_ids)))


async def settle_search(connection: Connection) -> None:
    """Move the pages and sections that were written from the search indexes' pending lists into the indexes.

    Every writer of pages calls it last: a search reads the whole pending list.
    """
    await _sql.settle_search(connection)


async def drop_links_without_cause(connection: Connection, scope: Scope) -> int:
    """Delete the scope's links without causes; return how many."""
    return int(await _sql.drop_links_without_cause(connection, **scope.key))


@lru_cache(maxsize=8192)
def section_uuid(page_id: UUID, slug: str) -> UUID:
    """Return the id of a page's section."""
    return uuid5(page_id, slug)


def link_uuid(from_page_id: UUID, to_page_id: UUID, kind: str, edge: EdgeStatement = UNTYPED) -> UUID:
    """Return the id of a link; a typed edge's differs by type and beginning."""
    begun = edge.valid_from.astimezone(UTC).isoformat() if edge.valid_from else ""
    typed = f":{edge.type}:{begun}" if edge.type else ""
    return uuid5(from_page_id, f"{kind}:{to_page_id}{typed}")


async def _write_page_rows(
    connection: Connection, scope: Scope, pages: Sequence[PageWrite], *, revision: int, now: datetime
) -> None:
    if pages:
        derived = await derive_pieces([one.summary for one in pages], [one.searched for one in pages])
        await _sql.write_pages(connection, **scope.key, **_page_columns(pages, derived), revision=revision, now=now)


async def _write_aliases(connection: Connection, scope: Scope, changes: PageChanges, now: datetime) -> None:
    if changes.aliases_removed:
        page_ids, keys = (list(column) for column in zip(*changes.aliases_removed, strict=True))
        await _sql.remove_aliases(connection, tenant_id=scope.tenant_id, page_ids=page_ids, keys=keys)
    if changes.aliases:
        await _sql.write_aliases(
            connection,
            **scope.key,
            page_ids=[one.page_id for one in changes.aliases],
            keys=[one.key for one in changes.aliases],
            displays=[one.display for one in changes.aliases],
            origins=[one.origin for one in changes.aliases],
            now=now,
        )


async def _write_sources(connection: Connection, scope: Scope, changes: PageChanges, now: datetime) -> None:
    if changes.sources_removed:
        await _sql.remove_sources(connection, tenant_id=scope.tenant_id, **_cited(changes.sources_removed))
    if changes.sources:
        await _sql.write_sources(
            connection,
            **scope.key,
            **_cited(changes.sources),
            section_ids=[one.section_id for one in changes.sources],
            text_hashes=[one.text_hash for one in changes.sources],
            now=now,
        )
    if changes.cited_anew:
        await _sql.date_sections(connection, **scope.key, section_ids=list(changes.cited_anew))


async def _newest_cited(connection: Connection, scope: Scope, sources: Sequence[SourceWrite]) -> dict[UUID, datetime]:
    """Return, for each section, the time of the newest memory that it cites by these rows."""
    cited = [(one.section_id, one.memory_id) for one in sources if one.section_id is not None]
    if not cited:
        return {}
    memory_ids = sorted({memory_id for _, memory_id in cited})
    rows = await _sql.instants_of(connection, **scope.key, memory_ids=memory_ids)
    instants = {row["memory_id"]: row["occurred_at"] for row in rows}
    found: dict[UUID, datetime] = {}
    for section_id, memory_id in cited:
        instant = instants.get(memory_id)
        if instant is not None:
            found[section_id] = max(instant, found.get(section_id, instant))
    return found


def _cited(rows: Sequence[SourceWrite]) -> dict[str, list[Any]]:
    """Return the citations as columns."""
    return {
        "page_ids": [one.page_id for one in rows],
        "subjects": [one.subject for one in rows],
        "refs": [one.subject_ref for one in rows],
        "memory_ids": [one.memory_id for one in rows],
    }


async def _write_children(connection: Connection, scope: Scope, changes: PageChanges) -> None:
    if changes.claimed_anew:
        await _sql.remove_children(connection, tenant_id=scope.tenant_id, section_ids=list(changes.claimed_anew))
    if changes.children:
        await _sql.write_children(
            connection,
            **scope.key,
            parent_page_ids=[one.parent_page_id for one in changes.children],
            child_page_ids=[one.child_page_id for one in changes.children],
            section_ids=[one.section_id for one in changes.children],
        )


def _page_columns(pages: Sequence[PageWrite], derived: Sequence[Derived]) -> dict[str, object]:
    return {
        "page_ids": [one.page_id for one in pages],
        "types": [one.type for one in pages],
        "slugs": [one.slug for one in pages],
        "titles": [one.title for one in pages],
        "summaries": [one.summary for one in pages],
        "statuses": [one.status for one in pages],
        "parent_page_ids": [one.parent_page_id for one in pages],
        "hubness_scores": [one.hubness_score for one in pages],
        "tags": [list(one.tags) for one in pages],
        "signatures": [one.signature for one in derived],
        "word_counts": [one.word_count for one in derived],
        "words": [one.words for one in derived],
    }


def _section_columns(sections: Sequence[SectionWrite], derived: Sequence[Derived]) -> dict[str, object]:
    return {
        "page_ids": [one.page_id for one in sections],
        "section_ids": [one.section_id for one in sections],
        "slugs": [one.slug for one in sections],
        "headings": [one.heading for one in sections],
        "bodies": [one.body_md for one in sections],
        "positions": [one.position for one in sections],
        "aggregations": [one.aggregation for one in sections],
        "signatures": [one.signature for one in derived],
        "word_counts": [one.word_count for one in derived],
        "words": [one.words for one in derived],
    }


def _typed(causes: Iterable[CauseRow]) -> set[tuple[UUID, str]]:
    return {(one.from_page_id, one.edge.type) for one in causes if one.edge.type}


def _cause_columns(causes: Sequence[CauseRow]) -> dict[str, object]:
    return {
        "from_page_ids": [one.from_page_id for one in causes],
        "to_page_ids": [one.to_page_id for one in causes],
        "kinds": [one.kind for one in causes],
        "edge_types": [one.edge.type for one in causes],
        "valid_froms": [one.edge.valid_from for one in causes],
        "origins": [one.origin for one in causes],
        "contexts": [one.context for one in causes],
        "refs": [one.ref for one in causes],
    }
