"""The use cases of typed edges: a page's edges, paths that follow a pattern, and edges stated by hand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime

from compiler.operations import acts
from compiler.plan.edge_types import TypedEdge, is_edge_type
from sidecar.runtime.errors import FailedPrecondition, InvalidArgument, NotFound
from sidecar.services.validation import check_count
from sidecar.services.wiki.page_lookup import acting, find, read_page
from store.db.postgres import Pools, scoped
from store.db.queries import Connection
from store.errors import WalkTooLarge
from store.scope import Scope
from store.wiki import edges
from store.wiki.browse import PageRef, PageRow
from store.wiki.edges import ANY_TIME, FIRST_PART, EdgePattern, EdgeTimes, GraphPath, Walk, WalkPart

MAX_TYPES = 100
"""The maximum number of edge types in one step of a pattern."""


class PageEdges:
    """Reads and states typed edges; `now` returns the time of an operation. A page is named as in `page_lookup.find`."""

    def __init__(self, pools: Pools, *, now: Callable[[], datetime]) -> None:
        self._pool = pools.background
        self._now = now

    async def of_page(self, scope: Scope, named: str, *, when: EdgeTimes = ANY_TIME) -> list[GraphPath]:
        """Return the typed edges of a page, each as a path of one edge from that page."""
        named = read_page("page", named)
        async with scoped(self._pool, scope, read_only=True) as connection:
            row = await find(connection, scope, named)
            return await edges.edges_of(connection, scope, row.page_id, when=when)

    async def paths(
        self,
        scope: Scope,
        start: str,
        pattern: Sequence[EdgePattern],
        *,
        target: str = "",
        when: EdgeTimes = ANY_TIME,
        part: WalkPart = FIRST_PART,
    ) -> Walk:
        """Return paths of typed edges that follow the pattern from a page, or from any page for an empty name.

        With a target, return the shortest paths to it, repeating the pattern's only step. Raises InvalidArgument for `steps`.
        """
        if not 1 <= len(pattern) <= edges.MAX_STEPS:
            raise InvalidArgument("steps", f"has {len(pattern)} entries", f"send 1 to {edges.MAX_STEPS}")
        for place, step in enumerate(pattern):
            check_count(f"steps[{place}].edge_types", step.types, most=MAX_TYPES)
        unknown = sorted({kind for step in pattern for kind in step.types if not is_edge_type(kind)})
        if unknown:
            raise InvalidArgument(
                "steps.edge_types", f"contains {unknown[0]!r}", "send lower-case names such as works_at"
            )
        if target and (len(pattern) > 1 or not start):
            raise InvalidArgument("target", "is set", "send it with a page and one step, which is repeated")
        start = read_page("page", start) if start else ""
        async with scoped(self._pool, scope, read_only=True) as connection:
            first = (await find(connection, scope, start)).page_id if start else None
            last = await find(connection, scope, read_page("target", target), field="target") if target else None
            try:
                if last is None or first is None:
                    return await edges.walk(connection, scope, first, pattern, when=when, part=part)
                found = await edges.shortest(connection, scope, (first, last.page_id), pattern[0], when=when)
            except WalkTooLarge as error:
                problem = f"leads over more than {edges.MAX_READ:,} edges"
                raise InvalidArgument("steps", problem, "name types of edges, or begin at another page") from error
        wanted = slice(part.after.count, part.after.count + part.limit)
        return Walk(found.paths[wanted], found.places[wanted])

    async def write(self, scope: Scope, source: str, target: str, stated: TypedEdge) -> GraphPath:
        """State a typed edge between two pages by hand, or restate it; return its present state.

        Raises FailedPrecondition, also if the ontology in force would hold the edge; then nothing is written.
        """
        async with acting(self._pool, scope) as connection:
            ends = await _ends(connection, scope, source, target)
            await acts.write_edge(connection, scope, ends, stated, now=self._now())
            refs = (_ref(ends[0]), _ref(ends[1]))
            path, held = await edges.between(connection, scope, refs, stated.type, stated.valid_from)
            if held:
                raise FailedPrecondition(f"the edge {stated.type}", f"would be held by the ontology in force: {held}")
            return path

    async def drop(self, scope: Scope, source: str, target: str, stated: TypedEdge) -> bool:
        """Take back a typed edge that was stated by hand; return whether it existed. Raises FailedPrecondition.

        This also removes an edge that waits for a page after a rebuild; name it by the path, slug or title that the page had.
        """
        async with acting(self._pool, scope) as connection:
            try:
                ends = await _ends(connection, scope, source, target)
            except NotFound:
                if await acts.drop_waiting_edge(connection, scope, (source, target), stated, now=self._now()):
                    return True
                raise
            return await acts.drop_edge(connection, scope, ends, stated, now=self._now())


async def _ends(connection: Connection, scope: Scope, source: str, target: str) -> tuple[PageRow, PageRow]:
    return (
        await find(connection, scope, read_page("page", source)),
        await find(connection, scope, read_page("target", target), field="target"),
    )


def _ref(row: PageRow) -> PageRef:
    return PageRef(row.page_id, row.type, row.slug, row.title)
