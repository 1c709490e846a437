"""Typed edges between pages: those of a page, walks that follow a pattern of types, and shortest paths.

Every function takes a connection inside a scoped transaction and changes nothing. Archived pages are left out. Walks are at most
MAX_STEPS edges long, and read about MAX_READ edges at most: they can be continued from there, or raise WalkTooLarge.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from itertools import islice
from typing import Any
from uuid import UUID

from store.db import queries
from store.db.queries import Connection
from store.errors import WalkTooLarge
from store.scope import Scope
from store.wiki.browse import PageRef

_sql = queries.load(__file__)

MAX_STEPS = 4
MAX_EDGES = 2_000
"""The most edges that a step reads for several pages together; for one page it reads all."""
MAX_READ = 40_000
"""The most edges that one walk reads."""
MAX_PATHS = 1_000
"""The most shortest paths returned."""
MAX_REFS = 20

_AT_ONCE = 50
_RIM_AT_ONCE = 400


class Direction(StrEnum):
    """The direction in which an edge is followed."""

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
    memory_ids: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class EdgeTimes:
    """Which edges to follow: those true as of an instant, and those known at one; None for any time, and for now."""

    as_of: datetime | None = None
    known_at: datetime | None = None


ANY_TIME = EdgeTimes()


@dataclass(frozen=True, slots=True)
class GraphPath:
    """A path through the graph: `pages` has one more entry than `edges`; an edge may be followed against its direction."""

    pages: tuple[PageRef, ...]
    edges: tuple[EdgeRow, ...] = ()


@dataclass(frozen=True, slots=True)
class WalkPosition:
    """The position of a walk: the page at which paths begin, and how many of them were returned."""

    type: str = ""
    slug: str = ""
    count: int = 0


WALK_START = WalkPosition()
_BACK = {Direction.OUT: Direction.IN, Direction.IN: Direction.OUT, Direction.BOTH: Direction.BOTH}


@dataclass(frozen=True, slots=True)
class Walk:
    """Paths, and the position of the walk after each; `goes_on` if the walk stopped because of the number of edges read."""

    paths: tuple[GraphPath, ...] = ()
    places: tuple[WalkPosition, ...] = ()
    goes_on: WalkPosition | None = None


@dataclass(frozen=True, slots=True)
class WalkPart:
    """The part of a walk to return: the paths after a position, at most `limit`, and the most edges to read."""

    after: WalkPosition = WALK_START
    limit: int = MAX_PATHS
    most_read: int = MAX_READ


FIRST_PART = WalkPart()


async def edges_of(
    connection: Connection, scope: Scope, page_id: UUID, *, when: EdgeTimes = ANY_TIME, limit: int = MAX_EDGES
) -> list[GraphPath]:
    """Return the typed edges from and to a page, each as a path of one edge that begins at the page."""
    reading = _Reading(connection, scope, when)
    start = await _page(connection, scope, page_id)
    found = await reading.step(start, EdgePattern((), Direction.BOTH), limit)
    return await reading.with_evidence(found)


async def between(
    connection: Connection, scope: Scope, ends: tuple[PageRef, PageRef], edge_type: str, valid_from: datetime | None
) -> tuple[GraphPath, str]:
    """Return the typed edge between two pages with this beginning, as a path, and why an ontology holds it, if it is held."""
    row = await _sql.edge_between(
        connection,
        tenant_id=scope.tenant_id,
        from_page_id=ends[0].page_id,
        to_page_id=ends[1].page_id,
        edge_type=edge_type,
        valid_from=valid_from,
    )
    (path,) = await _Reading(connection, scope, ANY_TIME).with_evidence([GraphPath(ends, (_edge(row),))])
    return path, row["held_reason"]


async def walk(
    connection: Connection,
    scope: Scope,
    start: UUID | None,
    pattern: Sequence[EdgePattern],
    *,
    when: EdgeTimes = ANY_TIME,
    part: WalkPart = FIRST_PART,
) -> Walk:
    """Return paths that follow the pattern, from one page or from any, in order of where they begin; none visits a page twice.

    Raises WalkTooLarge.
    """
    walker = _Walker(_Reading(connection, scope, when, part.most_read), part)
    if start is not None:
        await walker.begin(await _page(connection, scope, start), pattern)
        return await walker.result()
    at, has_more = (part.after.type, part.after.slug), True
    while has_more:
        rows = await _sql.pages_with_edges(
            connection,
            **scope.key,
            outward=pattern[0].direction is not Direction.IN,
            inward=pattern[0].direction is not Direction.OUT,
            types=list(pattern[0].types),
            type=at[0],
            slug=at[1],
            limit=_AT_ONCE + 1,
        )
        starts = [GraphPath((_ref(row),)) for row in rows]
        has_more = await walker.begin(starts[:_AT_ONCE], pattern) and len(starts) > _AT_ONCE
        if has_more:
            at = (starts[-1].pages[0].type, starts[-1].pages[0].slug)
    return await walker.result()


async def shortest(
    connection: Connection,
    scope: Scope,
    between: tuple[UUID, UUID],
    pattern: EdgePattern,
    *,
    when: EdgeTimes = ANY_TIME,
    most_read: int = MAX_READ,
) -> Walk:
    """Return the shortest paths between two pages over edges of the pattern, at most MAX_PATHS of up to MAX_STEPS edges.

    The search goes from both ends, a step at a time from the one with fewer pages, until the two sides meet. Raises WalkTooLarge.
    """
    reading = _Reading(connection, scope, when, most_read)
    (first,), (last,) = [await _page(connection, scope, page_id) for page_id in between]
    ends = first.pages[0], last.pages[0]
    if ends[0] == ends[1] or (pattern.page_type and ends[1].type != pattern.page_type):
        return Walk()
    sides = _Side(ends[0], pattern), _Side(ends[1], replace(pattern, direction=_BACK[pattern.direction], page_type=""))
    for _ in range(MAX_STEPS):
        side = min(sides, key=lambda one: len(one.rim))
        await side.widen(reading, allowed=lambda page: page == ends[0] or pattern.page_type in {"", page.type})
        if met := set(sides[0].rim) & set(sides[1].rim):
            whole = (
                GraphPath((*ahead.pages, *reversed(back.pages[:-1])), (*ahead.edges, *reversed(back.edges)))
                for page in sorted(met, key=lambda page: page.path)
                for ahead in sides[0].ways(page)
                for back in sides[1].ways(page)
            )
            paths = await reading.with_evidence(
                sorted(islice(whole, MAX_PATHS), key=lambda path: [page.path for page in path.pages])
            )
            places = (WalkPosition(ends[0].type, ends[0].slug, count) for count in range(1, len(paths) + 1))
            return Walk(tuple(paths), tuple(places))
    return Walk()


class _Reading:
    """Reads edges of a scope in one transaction; `left` is the number of edges that it may still read."""

    def __init__(self, connection: Connection, scope: Scope, when: EdgeTimes, most_read: int = MAX_READ) -> None:
        self._connection = connection
        self._scope = scope
        self._when = when
        self.left = most_read

    async def edges(self, pages: Sequence[UUID], step: EdgePattern, limit: int) -> list[tuple[UUID, PageRef, EdgeRow]]:
        """Return edges of the pages, page by page, each with the page that it leads to; without their evidence."""
        rows = await _sql.edges_at(
            self._connection,
            **self._scope.key,
            page_ids=list(pages),
            outward=step.direction is not Direction.IN,
            inward=step.direction is not Direction.OUT,
            types=list(step.types),
            other_type=step.page_type,
            as_of=self._when.as_of,
            known_at=self._when.known_at,
            limit=limit,
        )
        self.left -= len(rows)
        return [(row["page_id"], _ref({**row, "page_id": row["other_id"]}), _edge(row)) for row in rows]

    async def step(self, paths: Sequence[GraphPath], step: EdgePattern, limit: int) -> list[GraphPath]:
        """Return the paths, each longer by one edge of the pattern, with `limit` edges in all."""
        onward: dict[UUID, list[tuple[PageRef, EdgeRow]]] = {}
        ends = list(dict.fromkeys(path.pages[-1].page_id for path in paths))
        for page_id, other, edge in await self.edges(ends, step, limit):
            onward.setdefault(page_id, []).append((other, edge))
        return [
            GraphPath((*path.pages, page), (*path.edges, edge))
            for path in paths
            for page, edge in onward.get(path.pages[-1].page_id, ())
            if page not in path.pages
        ]

    async def with_evidence(self, paths: Sequence[GraphPath]) -> list[GraphPath]:
        """Return the paths with the memories and origins of their edges."""
        rows = await _sql.edge_evidence(
            self._connection,
            tenant_id=self._scope.tenant_id,
            link_ids=list({edge.link_id for path in paths for edge in path.edges}),
            known_at=self._when.known_at,
            most_refs=MAX_REFS,
        )
        known = {row["link_id"]: (tuple(row["memory_ids"]), tuple(row["origins"])) for row in rows}
        return [
            replace(path, edges=tuple(_proven(edge, *known[edge.link_id]) for edge in path.edges)) for path in paths
        ]


class _Walker:
    """Follows a pattern depth first, some paths at a time, so that its paths are the first of all matches."""

    def __init__(self, reading: _Reading, part: WalkPart) -> None:
        self._reading = reading
        self._after = part.after
        self._limit = part.limit
        self._counts: Counter[UUID] = Counter()
        self._found: list[tuple[WalkPosition, GraphPath]] = []
        self._goes_on: WalkPosition | None = None

    async def begin(self, starts: Sequence[GraphPath], pattern: Sequence[EdgePattern]) -> bool:
        """Add the paths that begin at these pages, in their order; return whether more are wanted and may be read."""
        at_once = _AT_ONCE if len(pattern) == 1 else 1
        for place in range(0, len(starts), at_once):
            page = starts[place].pages[0]
            if self._reading.left <= 0:
                self._goes_on = WalkPosition(page.type, page.slug)
                return False
            try:
                if not await self._follow(starts[place : place + at_once], pattern):
                    return False
            except WalkTooLarge:
                # Found paths are handed on first; the call for the rest begins here with all it may read, or raises.
                if not self._found:
                    raise
                self._goes_on = self._found[-1][0]
                return False
        return True

    async def result(self) -> Walk:
        """Return the found paths with their evidence."""
        paths = await self._reading.with_evidence([path for _, path in self._found])
        return Walk(tuple(paths), tuple(place for place, _ in self._found), self._goes_on)

    async def _follow(self, paths: Sequence[GraphPath], pattern: Sequence[EdgePattern]) -> bool:
        """Add the paths that continue these; return whether more are wanted."""
        if not pattern:
            return all(map(self._add, paths))
        for start in range(0, len(paths), _AT_ONCE):
            longer = await self._longer(paths[start : start + _AT_ONCE], pattern[0])
            if not await self._follow(longer, pattern[1:]):
                return False
        return True

    async def _longer(self, paths: Sequence[GraphPath], step: EdgePattern) -> list[GraphPath]:
        """Return the paths, each longer by one edge. If they have too many edges together, they are read in halves."""
        room = self._reading.left
        most = MAX_EDGES if len(paths) > 1 else max(room, 1)
        found = await self._reading.step(paths, step, most)
        if room - self._reading.left < most:
            return found
        if len(paths) == 1:
            raise WalkTooLarge
        half = len(paths) // 2
        return [*await self._longer(paths[:half], step), *await self._longer(paths[half:], step)]

    def _add(self, path: GraphPath) -> bool:
        page = path.pages[0]
        self._counts[page.page_id] += 1
        place = WalkPosition(page.type, page.slug, self._counts[page.page_id])
        if (page.type, page.slug) != (self._after.type, self._after.slug) or place.count > self._after.count:
            self._found.append((place, path))
        return len(self._found) < self._limit


class _Side:
    """One side of a search between two pages: the pages of each distance, and every edge over which they were reached."""

    def __init__(self, page: PageRef, step: EdgePattern) -> None:
        self._step = step
        self._reached: dict[PageRef, list[tuple[PageRef, EdgeRow]]] = {page: []}
        self.rim = [page]

    async def widen(self, reading: _Reading, *, allowed: Callable[[PageRef], bool]) -> None:
        """Extend the side by one edge, over allowed pages. Raises WalkTooLarge."""
        known = {page.page_id: page for page in self.rim}
        found: dict[PageRef, list[tuple[PageRef, EdgeRow]]] = {}
        for start in range(0, len(self.rim), _RIM_AT_ONCE):
            ids = [page.page_id for page in self.rim[start : start + _RIM_AT_ONCE]]
            for page_id, other, edge in await reading.edges(ids, self._step, max(reading.left, 1)):
                if other not in self._reached and allowed(other):
                    found.setdefault(other, []).append((known[page_id], edge))
            if reading.left <= 0:
                raise WalkTooLarge
        self._reached |= found
        self.rim = list(found)

    def ways(self, page: PageRef) -> Iterator[GraphPath]:
        """Yield the shortest paths from the side's first page to a page that it reached."""
        if not self._reached[page]:
            yield GraphPath((page,))
        for before, edge in self._reached[page]:
            for path in self.ways(before):
                yield GraphPath((*path.pages, page), (*path.edges, edge))


async def _page(connection: Connection, scope: Scope, page_id: UUID) -> list[GraphPath]:
    """Return the page as a path without edges."""
    rows = await _sql.page_refs(connection, tenant_id=scope.tenant_id, page_ids=[page_id])
    return [GraphPath((_ref(row),)) for row in rows]


def _ref(row: Mapping[str, Any]) -> PageRef:
    return PageRef(row["page_id"], row["type"], row["slug"], row["title"])


def _edge(row: Any) -> EdgeRow:
    return EdgeRow(
        row["link_id"], row["from_page_id"], row["to_page_id"], row["edge_type"], row["properties"], row["valid_from"],
        row["valid_until"], row["created_at"],
    )  # fmt: skip


def _proven(edge: EdgeRow, memory_ids: tuple[str, ...], origins: tuple[str, ...]) -> EdgeRow:
    return replace(edge, memory_ids=memory_ids, origins=origins)
