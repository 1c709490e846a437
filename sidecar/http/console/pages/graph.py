"""The graph of the wiki: the page that draws it, its pages and links as data, and the rollback of a class of links."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import BaseRoute

from compiler.operations.upkeep import Rollback
from compiler.plan.contract import LinkOrigin
from compiler.plan.edge_types import EDGE_TYPES
from sidecar.http.console.desk import Desk, Visit, route
from sidecar.http.console.writing import aside
from sidecar.runtime.errors import InvalidArgument
from sidecar.services.ontology.term_reading import choice
from store.wiki.neighbourhood import Edge, Graph

_PAGES = 3_000
_DEPTH = 2
_ROLLBACK = "/wiki/graph/rollback"
_ORIGINS = (
    (LinkOrigin.DETERMINISTIC.value, "rules, places and journals"),
    (LinkOrigin.CO_MENTION.value, "being named together"),
    (LinkOrigin.PLANNER.value, "the planner"),
    (LinkOrigin.MANUAL.value, "an operator"),
)
_PREFIXES = (
    "deterministic:city:",
    "deterministic:journal:",
    *(f"{origin}edge:{kind}" for origin in ("deterministic:", "") for kind in EDGE_TYPES),
)


def routes(desk: Desk) -> list[BaseRoute]:
    """Return the pages of the graph."""
    return [
        route(desk, "/wiki/graph", show_graph),
        route(desk, "/wiki/graph.json", graph_data),
        route(desk, _ROLLBACK, roll_back, methods=["POST"]),
        route(desk, f"{_ROLLBACK}/preview", preview_rollback, methods=["POST"]),
    ]


async def show_graph(visit: Visit) -> Response:
    """Show the graph, around a page if one is named."""
    return await _shown(visit)


async def preview_rollback(visit: Visit) -> Response:
    """Preview the rollback of a class of links."""
    return await _shown(visit, await _rolled_back(visit, is_dry=True))


async def roll_back(visit: Visit) -> Response:
    """Roll a class of links back."""
    done = await _rolled_back(visit, is_dry=False)
    visit.tell(f"{done.evidence:,} pieces of evidence and {done.links:,} links are removed.")
    return RedirectResponse("/wiki/graph", 303)


async def _rolled_back(visit: Visit, *, is_dry: bool) -> Rollback:
    visit.require_admin()
    origin = choice("origin", visit.form.get("origin", ""), LinkOrigin)
    prefix = visit.form.get("prefix", "")
    return await visit.services.upkeep.rollback_links(visit.scope, origin=origin, prefix=prefix, is_dry=is_dry)


async def _shown(visit: Visit, effect: Rollback | None = None) -> Response:
    fields = {"origin": visit.form.get("origin", ""), "prefix": visit.form.get("prefix", "")}
    focus, known_by = visit.query.get("focus", "")[:500], visit.query.get("known_by", "")
    _end_of(known_by)
    shown = {"focus": focus, "known_by": known_by, "scope": visit.scope, "effect": effect, "fields": fields}
    return await visit.page("graph.html", **shown, origins=_ORIGINS, prefixes=_PREFIXES)


async def graph_data(visit: Visit) -> Response:
    """Return the graph to draw: a page's neighbourhood, or the largest hubs."""
    scope, focus = visit.scope, visit.query.get("focus", "")[:500].replace("\0", "")
    page_type, _, slug = focus.partition("/")
    row = await visit.services.wiki.page_by_key(scope, page_type, slug) if focus else None
    named = str(row.page_id) if row else ""
    known_at = _end_of(visit.query.get("known_by", ""))
    graph = await visit.services.wiki.graph(scope, named, depth=_DEPTH, most_pages=_PAGES, known_at=known_at)
    focused = {"focus": named}
    return await aside(lambda: JSONResponse(_written(graph) | focused))


def _end_of(day: str) -> datetime | None:
    """Return the end of a day in UTC; None for an empty text. Raises InvalidArgument."""
    if not day:
        return None
    try:
        return datetime.strptime(day, "%Y-%m-%d").replace(tzinfo=UTC) + timedelta(days=1)
    except (ValueError, OverflowError) as error:
        raise InvalidArgument("known_by", f"is {day[:40]!r}", "send a day such as 2026-03-01") from error


def _written(graph: Graph) -> dict[str, object]:
    """Return the graph as JSON with links as page indexes, a third as long as with ids."""
    places = {page.page_id: place for place, page in enumerate(graph.pages)}
    return {
        "nodes": [
            {
                "id": str(page.page_id),
                "name": page.title,
                "type": page.type,
                "key": f"{page.type}/{page.slug}",
                "hubness": page.hubness_score,
            }
            for page in graph.pages
        ],
        "links": [
            [places[edge.from_page_id], places[edge.to_page_id], _kind(edge), list(edge.origins), _period(edge)]
            for edge in graph.edges
        ],
        "is_truncated": graph.is_truncated,
    }


def _kind(edge: Edge) -> str:
    return edge.edge_type or edge.kind


def _period(edge: Edge) -> list[str]:
    """Return the first and the last day of a typed edge, empty for an open end."""
    return [one.date().isoformat() if one else "" for one in (edge.valid_from, edge.valid_until)]
