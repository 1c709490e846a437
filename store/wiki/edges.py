"""Typed edges between pages: those of a page, walks that follow a pattern of types, and shortest paths.

Every function takes a connection inside a scoped transaction and changes nothing. Archived pages are left out. Walks are bounded:
at most MAX_STEPS edges long, MAX_EDGES read a step, MAX_PATHS returned.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from store.db import queries
from store.db.queries import Connection
from store.scope import Scope
from store.wiki.browse import PageRef

_sql = queries.load(__file__)

MAX_STEPS = 4
MAX_EDGES = 2_000
MAX_PATHS = 1_000
MAX_REFS = 20


class Direction(StrEnum):
    """Which way an edge is followed."""

    OUT = "out"
    IN = "in"
    BOTH = "both"


@dataclass(frozen=True, slots=True)
class EdgePattern:
    """Which edges a step follows: of one of the types, or of any if there are none; to pages of one type, or of any if empty."""

    types: tuple[str, ...] = ()
    direction: Direction = Direction.OUT
    page_type: str = ""


@dataclass(frozen=True, slots=True)
class EdgeRow:
    """A typed edge, with the memories (MAX_REFS at most) and origins of its evidence; open where a time is None."""

    link_id: UUID
    from_page_id: UUID
    to_page_id: UUID
    type: str
    properties: Mapping[str, Any]
    valid_from: datetime | None
    valid_until: datetime | None
    created_at: datetime
    memory_ids: tuple[str, ...]
    origins: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class EdgeTimes:
    """Which edges to follow: those true as of an instant, and those known at one; None for any time, and for now."""

    as_of: datetime | None = None
    known_at: datetime | None = None


ANY_TIME = EdgeTimes()


@dataclass(frozen=True, slots=True)
class GraphPath:
    """A way through the graph: `pages` has one more than `edges`; an edge may be followed against its direction."""

    pages: tuple[PageRef, ...]
    edges: tuple[EdgeRow, ...] = ()


async def edges_of(
    connection: Connection, scope: Scope, page_id: UUID, *, when: EdgeTimes = ANY_TIME, limit: int = MAX_EDGES
) -> list[GraphPath]:
    """Return the typed edges from and to a page, each as a path of one edge that begins at the page."""
    found = await _start(connection, scope, [page_id])
    return await _step(connection, scope, found, EdgePattern((), Direction.BOTH), when, limit)


async def walk(
    connection: Connection,
    scope: Scope,
    start: UUID | None,
    pattern: Sequence[EdgePattern],
    *,
    when: EdgeTimes = ANY_TIME,
) -> list[GraphPath]:
    """Return the paths that follow the pattern, from one page or from any, in order of their pages; none visits a page twice."""
    ids = [start] if start else await _starts(connection, scope, pattern[0])
    paths = await _start(connection, scope, ids)
    for step in pattern:
        paths = (await _step(connection, scope, paths, step, when, MAX_EDGES))[:MAX_PATHS]
    return paths


async def shortest(
    connection: Connection, scope: Scope, start: UUID, end: UUID, pattern: EdgePattern, *, when: EdgeTimes = ANY_TIME
) -> list[GraphPath]:
    """Return the shortest paths between two pages over edges of the pattern, all of equal length; none beyond MAX_STEPS."""
    paths = await _start(connection, scope, [start])
    for _ in range(MAX_STEPS):
        paths = (await _step(connection, scope, paths, pattern, when, MAX_EDGES))[:MAX_PATHS]
        if found := [path for path in paths if path.pages[-1].page_id == end]:
            return found
    return []


async def _starts(connection: Connection, scope: Scope, step: EdgePattern) -> list[UUID]:
    rows = await _sql.pages_with_edges(connection, **scope.key, types=list(step.types), limit=MAX_EDGES)
    return [row["page_id"] for row in rows]


async def _start(connection: Connection, scope: Scope, page_ids: Sequence[UUID]) -> list[GraphPath]:
    rows = await _sql.page_refs(connection, tenant_id=scope.tenant_id, page_ids=list(page_ids))
    refs = sorted(map(_ref, rows), key=lambda page: page.path)
    return [GraphPath((page,)) for page in refs]


async def _step(
    connection: Connection,
    scope: Scope,
    paths: Sequence[GraphPath],
    step: EdgePattern,
    when: EdgeTimes,
    limit: int,
) -> list[GraphPath]:
    """Return the paths, each longer by one edge of the pattern."""
    ends = sorted({path.pages[-1].page_id for path in paths})
    rows = await _sql.edges_at(
        connection,
        **scope.key,
        page_ids=ends,
        outward=step.direction is not Direction.IN,
        inward=step.direction is not Direction.OUT,
        types=list(step.types),
        other_type=step.page_type,
        as_of=when.as_of,
        known_at=when.known_at,
        most_refs=MAX_REFS,
        limit=limit,
    )
    onward: dict[UUID, list[tuple[PageRef, EdgeRow]]] = {}
    for row in rows:
        onward.setdefault(row["page_id"], []).append((_ref({**row, "page_id": row["other_id"]}), _edge(row)))
    return [
        GraphPath((*path.pages, page), (*path.edges, edge))
        for path in paths
        for page, edge in onward.get(path.pages[-1].page_id, ())
        if page not in path.pages
    ]


def _ref(row: Mapping[str, Any]) -> PageRef:
    return PageRef(row["page_id"], row["type"], row["slug"], row["title"])


def _edge(row: Any) -> EdgeRow:
    return EdgeRow(
        row["link_id"], row["from_page_id"], row["to_page_id"], row["edge_type"], row["properties"], row["valid_from"],
        row["valid_until"], row["created_at"], tuple(row["memory_ids"]), tuple(row["origins"]),
    )  # fmt: skip
