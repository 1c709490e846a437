"""The neighbourhood of a page: links and backlinks, child pages, and a part of the graph to draw.

Every function takes a connection inside a scoped transaction and changes nothing. Archived pages are left out.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from store.db import queries
from store.db.queries import Connection
from store.scope import Scope
from store.wiki import browse
from store.wiki.browse import NO_ID, PageRow, page_row

_sql = queries.load(__file__)

MAX_GRAPH_PAGES = 500
MAX_GRAPH_EDGES = 5_000
MAX_DEPTH = 4


@dataclass(frozen=True, slots=True)
class LinkRow:
    """A link and the page at its other end, with the origins and contexts (five at most) of its evidence."""

    kind: str
    page: PageRow
    origins: tuple[str, ...]
    contexts: tuple[str, ...]
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Counts:
    """The number of a page's links to and from active pages, and of active pages promoted from it."""

    links: int
    backlinks: int
    children: int


@dataclass(frozen=True, slots=True)
class Child:
    """A child page: promoted from its parent, or listed in one of the parent's sections."""

    page: PageRow
    is_promoted: bool
    section_slug: str


@dataclass(frozen=True, slots=True)
class Edge:
    """A link of a graph."""

    from_page_id: UUID
    to_page_id: UUID
    kind: str
    origins: tuple[str, ...]
    edge_type: str = ""
    valid_from: datetime | None = None
    valid_until: datetime | None = None


@dataclass(frozen=True, slots=True)
class Graph:
    """A part of the wiki: pages by hubness, highest first, and the links among them; marked if it was truncated."""

    pages: tuple[PageRow, ...]
    edges: tuple[Edge, ...]
    is_truncated: bool


async def links(connection: Connection, scope: Scope, page_id: UUID, *, limit: int) -> list[LinkRow]:
    """Return a page's links, those to pages with the highest hubness first."""
    return [
        _link(row) for row in await _sql.read_links(connection, tenant_id=scope.tenant_id, page_id=page_id, limit=limit)
    ]


async def backlinks(
    connection: Connection, scope: Scope, page_id: UUID, *, after: tuple[UUID, str] | None = None, limit: int
) -> list[LinkRow]:
    """Return links from other pages to a page, in order of the other page's id and the kind."""
    after_id, after_kind = after or (NO_ID, "")
    rows = await _sql.list_backlinks(
        connection, tenant_id=scope.tenant_id, page_id=page_id, after_id=after_id, after_kind=after_kind, limit=limit
    )
    return [_link(row) for row in rows]


async def counts(connection: Connection, scope: Scope, page_id: UUID) -> Counts:
    """Return the number of a page's links, backlinks and promoted pages."""
    row = await _sql.count_neighbours(connection, tenant_id=scope.tenant_id, page_id=page_id)
    return Counts(row["links"], row["backlinks"], row["children"])


async def children(
    connection: Connection, scope: Scope, page_id: UUID, *, after: tuple[str, str] | None = None, limit: int
) -> list[Child]:
    """Return the active children of a page, in order of type and slug."""
    page_type, slug = after or ("", "")
    rows = await _sql.children_of(
        connection, tenant_id=scope.tenant_id, page_id=page_id, type=page_type, slug=slug, limit=limit
    )
    return [Child(page_row(row), row["is_promoted"], row["section_slug"]) for row in rows]


async def graph(
    connection: Connection,
    scope: Scope,
    *,
    focus: UUID | None = None,
    depth: int = 1,
    most_pages: int = MAX_GRAPH_PAGES,
    known_at: datetime | None = None,
) -> Graph:
    """Return the pages within `depth` links of the focus (without one: the highest hubness), and the links among them.

    With `known_at`, only links recorded by then, with the ends that were known then.
    """
    if focus is None:
        found = await browse.pages_by_hubness(connection, scope, status="active", limit=most_pages + 1)
        pages, is_truncated = found[:most_pages], len(found) > most_pages
    else:
        ids, is_truncated = await _around(connection, scope, focus, depth, most_pages)
        pages = await browse.page_rows(await browse.active_pages(connection, scope, ids))
    rows = await _sql.edges_among(
        connection,
        **scope.key,
        page_ids=[page.page_id for page in pages],
        known_at=known_at,
        limit=MAX_GRAPH_EDGES + 1,
    )
    # Converting thousands of rows on the event loop would delay concurrent turns.
    edges = await asyncio.to_thread(lambda: tuple(map(_edge, rows[:MAX_GRAPH_EDGES])))
    by_rank = tuple(sorted(pages, key=lambda page: (-page.hubness_score, page.type, page.slug)))
    return Graph(by_rank, edges, is_truncated or len(rows) > MAX_GRAPH_EDGES)


async def _around(
    connection: Connection, scope: Scope, focus: UUID, depth: int, most_pages: int
) -> tuple[list[UUID], bool]:
    """Return the focus and the pages near it, nearest and highest hubness first, and whether there were more."""
    known, rim = [focus], [focus]
    for _ in range(depth):
        room = most_pages - len(known)
        found = await _next(connection, scope, rim, known=known, limit=room + 1)
        rim = found[:room]
        known += rim
        if len(found) > room:
            return known, True
        if not rim:
            break
    return known, False


async def _next(
    connection: Connection, scope: Scope, rim: Sequence[UUID], *, known: Sequence[UUID], limit: int
) -> list[UUID]:
    rows = await _sql.neighbours(
        connection,
        tenant_id=scope.tenant_id,
        page_ids=list(rim),
        known_ids=list(known),
        fan_out=MAX_GRAPH_PAGES,
        limit=limit,
    )
    return [row["page_id"] for row in rows]


def _link(row: Any) -> LinkRow:
    page = page_row({**row, "created_at": row["page_created_at"]})
    return LinkRow(row["kind"], page, tuple(row["origins"]), tuple(dict.fromkeys(row["contexts"])), row["created_at"])


def _edge(row: Any) -> Edge:
    return Edge(
        row["from_page_id"], row["to_page_id"], row["kind"], tuple(row["origins"]), row["edge_type"], row["valid_from"],
        row["valid_until"],
    )  # fmt: skip
