"""Queries for browsing the wiki: complete pages, lists of pages, citations of a memory, held names.

Every function takes a connection inside a scoped transaction and changes nothing. Links are in `neighbourhood`, search is in
`page_search`, and recall for turns in `pages`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from store.db import queries
from store.db.queries import Connection
from store.scope import Scope
from store.text.texts import fold

_sql = queries.load(__file__)

TYPES = ("decision", "entity", "topic")  # in list order
HISTORY_ROWS = 50
NO_ID = UUID(int=0)

_FAR = datetime.max.replace(tzinfo=UTC)
_MOST_HUBNESS = 2**31 - 1
_MOST_AT_ONCE = 500


class Order(StrEnum):
    """The order of a list of pages: by type and slug, by hubness (highest first), or by compile time (latest first)."""

    NAME = "name"
    HUBNESS = "hubness"
    TIME = "time"


@dataclass(frozen=True, slots=True)
class PageRow:
    """A page without its sections. `status` is active or archived; a page with a parent was promoted from its section.

    `entity_type` is its type by the ontology in force, empty for most.
    """

    page_id: UUID
    type: str
    slug: str
    title: str
    summary: str
    status: str
    parent_page_id: UUID | None
    hubness_score: int
    tags: tuple[str, ...]
    last_compiled_at: datetime
    created_at: datetime
    updated_at: datetime
    entity_type: str = ""

    @property
    def path(self) -> str:
        """Where links to the page lead."""
        return f"/wiki/{self.type}/{self.slug}"


@dataclass(frozen=True, slots=True)
class PageRef:
    """A page by its name."""

    page_id: UUID
    type: str
    slug: str
    title: str

    @property
    def path(self) -> str:
        """Where links to the page lead."""
        return f"/wiki/{self.type}/{self.slug}"


@dataclass(frozen=True, slots=True)
class SourceRow:
    """One memory cited by a subject of a page; `subject` is section, summary, alias or tag, `subject_ref` identifies it.

    `is_there` is False once the memory was forgotten, `is_current` is False if its text has changed since it was read.
    """

    subject: str
    subject_ref: str
    source_kind: str
    memory_id: str
    first_seen_at: datetime
    is_there: bool
    is_current: bool
    occurred_at: datetime | None
    text: str | None


@dataclass(frozen=True, slots=True)
class SectionRow:
    """A section; `aggregation` describes a rollup and is None for a leaf.

    `pages` are the pages a rollup is made of; it rests on their sources besides its own.
    """

    section_id: UUID
    slug: str
    heading: str
    body_md: str
    position: int
    last_source_at: datetime | None
    aggregation: Mapping[str, Any] | None
    sources: tuple[SourceRow, ...] = ()
    pages: tuple[PageRef, ...] = ()


@dataclass(frozen=True, slots=True)
class AliasRow:
    """A name of a page: the folded key, the name as written, and its origin (compiler, manual, import)."""

    alias: str
    display: str
    source: str
    created_at: datetime
    sources: tuple[SourceRow, ...] = ()


@dataclass(frozen=True, slots=True)
class HistoryRow:
    """One write that added citations of memories to a page."""

    at: datetime
    memory_count: int
    section_slugs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PageWhole:
    """A page with its sections, names and sources; `other_sources` are those of its summary and tags."""

    page: PageRow
    sections: tuple[SectionRow, ...]
    aliases: tuple[AliasRow, ...]
    other_sources: tuple[SourceRow, ...]
    history: tuple[HistoryRow, ...]

    @property
    def summary_pages(self) -> tuple[PageRef, ...]:
        """The pages behind a summary without memories of its own: those that the page's sections are made of."""
        if not self.page.summary or any(one.subject == "summary" for one in self.other_sources):
            return ()
        return tuple({one.page_id: one for section in self.sections for one in section.pages}.values())


@dataclass(frozen=True, slots=True)
class Citation:
    """A citation of a memory by a subject of a page; `heading` is the section's, empty for other subjects.

    A section made of pages cites the memories of these pages: then `through` is one of them.
    """

    page: PageRow
    subject: str
    subject_ref: str
    heading: str
    first_seen_at: datetime
    is_current: bool
    through: PageRef | None = None


async def page(connection: Connection, scope: Scope, page_id: UUID) -> PageRow | None:
    """Return a page, archived or not; None if the owner has no page with this id."""
    row = await _sql.page_by_id(connection, **scope.key, page_id=page_id)
    return row and page_row(row)


async def page_by_key(connection: Connection, scope: Scope, page_type: str, slug: str) -> PageRow | None:
    """Return the page of a type and slug, archived or not; None if there is none."""
    row = await _sql.page_by_key(connection, **scope.key, type=page_type, slug=slug)
    return row and page_row(row)


async def pages_named(connection: Connection, scope: Scope, name: str) -> tuple[PageRow, ...]:
    """Return at most ten pages with this slug or name; archived ones only if no active one matches."""
    rows = await _sql.page_ids_by_name(connection, **scope.key, slug=name.lower(), alias=fold(name))
    found = sorted(
        [one for row in rows if (one := await page(connection, scope, row["page_id"]))], key=lambda one: one.path
    )
    active = tuple(one for one in found if one.status == "active")
    return active or tuple(found)


async def whole(connection: Connection, scope: Scope, row: PageRow, *, with_texts: bool = False) -> PageWhole:
    """Return the page with its sections, names and sources; texts of cited memories only with `with_texts`."""
    key = {"tenant_id": scope.tenant_id, "page_id": row.page_id}
    sections = await _sql.read_sections(connection, **key)
    aliases = await _sql.read_aliases(connection, **key)
    cited = [
        _source(one)
        for one in await _sql.read_sources(connection, **scope.key, page_id=row.page_id, with_texts=with_texts)
    ]
    history = await _sql.read_history(connection, **key, limit=HISTORY_ROWS)
    by_subject: dict[tuple[str, str], list[SourceRow]] = {}
    for one in cited:
        by_subject.setdefault((one.subject, one.subject_ref), []).append(one)
    pages: dict[str, list[PageRef]] = {}
    for one in await _sql.read_source_pages(connection, **key):
        pages.setdefault(one["section_slug"], []).append(_ref(one))
    return PageWhole(
        page=row,
        sections=tuple(
            _section(one, tuple(by_subject.get(("section", slug), ())), tuple(pages.get(slug, ())))
            for one, slug in ((one, one["section_slug"]) for one in sections)
        ),
        aliases=tuple(_alias(one, tuple(by_subject.get(("alias", one["alias"]), ()))) for one in aliases),
        other_sources=tuple(one for one in cited if one.subject in {"summary", "tag"}),
        history=tuple(
            HistoryRow(one["first_seen_at"], one["memories"], tuple(one["section_slugs"])) for one in history
        ),
    )


async def pages_by_name(
    connection: Connection,
    scope: Scope,
    *,
    status: str,
    page_type: str = "",
    after: tuple[str, str] | None = None,
    limit: int,
) -> list[PageRow]:
    """Return pages in order of type and slug, after the (type, slug) `after`; an empty `page_type` means all."""
    page_from = after or (page_type, "")
    last_type = page_type or TYPES[-1]
    rows = await _sql.list_pages_by_name(
        connection, **scope.key, status=status, type=page_from[0], slug=page_from[1], last_type=last_type, limit=limit
    )
    return [page_row(row) for row in rows]


async def pages_by_hubness(
    connection: Connection,
    scope: Scope,
    *,
    status: str,
    page_type: str = "",
    after: tuple[int, UUID] | None = None,
    limit: int,
) -> list[PageRow]:
    """Return pages by hubness, highest first; an empty `page_type` means all."""
    score, after_id = after or (_MOST_HUBNESS, NO_ID)
    rows = await _sql.list_pages_by_hubness(
        connection, **scope.key, status=status, type=page_type, score=score, after_id=after_id, limit=limit
    )
    return await page_rows(rows)


async def pages_by_time(
    connection: Connection,
    scope: Scope,
    *,
    status: str,
    page_type: str = "",
    after: tuple[datetime, UUID] | None = None,
    limit: int,
) -> list[PageRow]:
    """Return pages by compile time, latest first; an empty `page_type` means all."""
    before, after_id = after or (_FAR, NO_ID)
    rows = await _sql.list_pages_by_time(
        connection, **scope.key, status=status, type=page_type, before=before, after_id=after_id, limit=limit
    )
    return [page_row(row) for row in rows]


async def citations(
    connection: Connection, scope: Scope, memory_id: str, *, after: tuple[UUID, str, str] | None = None, limit: int
) -> list[Citation]:
    """Return the citations of a memory by active pages, directly or through pages they list, in order of page and subject."""
    after_id, after_subject, after_ref = after or (NO_ID, "", "")
    rows = await _sql.citations_of(
        connection,
        **scope.key,
        memory_id=memory_id,
        after_id=after_id,
        after_subject=after_subject,
        after_ref=after_ref,
        limit=limit,
    )
    return [
        Citation(
            page_row(row),
            row["subject"],
            row["subject_ref"],
            row["heading"],
            row["first_seen_at"],
            row["is_current"],
            _ref(row, "through_") if row["through_id"] else None,
        )
        for row in rows
    ]


async def active_pages(connection: Connection, scope: Scope, page_ids: Iterable[UUID]) -> Sequence[Any]:
    """Return the rows of the active ones among some pages, in no order."""
    rows: Sequence[Any] = await _sql.active_pages(connection, tenant_id=scope.tenant_id, page_ids=list(page_ids))
    return rows


async def page_rows(rows: Sequence[Any]) -> list[PageRow]:
    """Return the pages of rows, in their order; large numbers are converted in a thread."""
    if len(rows) > _MOST_AT_ONCE:
        return await asyncio.to_thread(lambda: list(map(page_row, rows)))
    return list(map(page_row, rows))


def page_row(row: Any) -> PageRow:
    """Return the page of a row with its columns."""
    return PageRow(
        row["page_id"], row["type"], row["slug"], row["title"], row["summary"], row["status"], row["parent_page_id"],
        row["hubness_score"], tuple(row["tags"]), row["last_compiled_at"], row["created_at"], row["updated_at"],
        row["entity_type"],
    )  # fmt: skip


def _source(row: Any) -> SourceRow:
    return SourceRow(
        row["subject"], row["subject_ref"], row["source_kind"], row["source_ref"], row["first_seen_at"], row["is_there"],
        row["is_current"], row["occurred_at"], row["text"],
    )  # fmt: skip


def _ref(row: Any, prefix: str = "") -> PageRef:
    page_id = row[f"{prefix}id"] if prefix else row["page_id"]
    return PageRef(page_id, row[f"{prefix}type"], row[f"{prefix}slug"], row[f"{prefix}title"])


def _section(row: Any, sources: tuple[SourceRow, ...], pages: tuple[PageRef, ...]) -> SectionRow:
    return SectionRow(
        row["section_id"], row["section_slug"], row["heading"], row["body_md"], row["position"], row["last_source_at"],
        row["aggregation"], sources, pages,
    )  # fmt: skip


def _alias(row: Any, sources: tuple[SourceRow, ...]) -> AliasRow:
    return AliasRow(row["alias"], row["display"], row["source"], row["created_at"], sources)
