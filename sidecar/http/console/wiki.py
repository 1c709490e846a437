"""The wiki as people read it: search, a page with what it rests on, the graph, held names, and an admin's acts."""

from __future__ import annotations

from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import BaseRoute

from compiler import acts
from compiler.plan.upkeep import ActRefused
from sidecar.errors import FailedPrecondition, InvalidArgument, NotFound
from sidecar.http.console.desk import Desk, Visit, read_id, route
from sidecar.rpc.fields import read_text
from store import browse, neighbourhood, page_search
from store.browse import PageRow
from store.neighbourhood import Graph
from store.postgres import scoped

_ROWS = 100
_GRAPH_PAGES = 3_000
_MAX_ALIAS_CHARS = 200


def routes(desk: Desk) -> list[BaseRoute]:
    """Return the pages of the wiki."""
    return [
        route(desk, "/wiki", list_pages),
        route(desk, "/wiki/graph", show_graph),
        route(desk, "/wiki/graph.json", graph_data),
        route(desk, "/wiki/mentions", list_mentions),
        route(desk, "/wiki/mentions/{mention_id}/ignore", ignore_mention, methods=["POST"]),
        route(desk, "/wiki/{type}/{slug}", show_page),
        route(desk, "/wiki/{type}/{slug}/archive", archive_page, methods=["POST"]),
        route(desk, "/wiki/{type}/{slug}/alias", add_alias, methods=["POST"]),
    ]


async def list_pages(visit: Visit) -> Response:
    """Show the pages that a question finds, or all by their order."""
    scope, question = visit.scope, visit.query.get("q", "")[:500].replace("\0", "")
    kind = visit.query.get("type", "")
    page_type = kind if kind in browse.TYPES else ""
    status = "archived" if visit.query.get("status") == "archived" else "active"
    async with scoped(visit.desk.pools.background, scope, read_only=True) as connection:
        if question:
            hits = await page_search.search(connection, scope, question, page_type=page_type)
            rows = [hit.page for hit in hits[:_ROWS]]
        else:
            rows = await browse.pages_by_hubness(connection, scope, status=status, page_type=page_type, limit=_ROWS)
    return visit.page("wiki.html", rows=rows, question=question, page_type=page_type, status=status, types=browse.TYPES)


async def show_page(visit: Visit) -> Response:
    """Show a page with its sections, the memories behind each, names, links both ways and history."""
    scope = visit.scope
    async with scoped(visit.desk.pools.background, scope, read_only=True) as connection:
        row = await browse.page_by_key(connection, scope, *_key(visit))
        if row is None:
            raise NotFound("page")
        whole = await browse.whole(connection, scope, row, with_texts=True)
        links = await neighbourhood.links(connection, scope, row.page_id, limit=_ROWS)
        backlinks = await neighbourhood.backlinks(connection, scope, row.page_id, limit=_ROWS)
        children = await neighbourhood.children(connection, scope, row.page_id, limit=_ROWS)
    return visit.page("page.html", whole=whole, links=links, backlinks=backlinks, children=children)


async def show_graph(visit: Visit) -> Response:
    """Show the graph, around a page where one is named."""
    return visit.page("graph.html", focus=visit.query.get("focus", ""), scope=visit.scope)


async def graph_data(visit: Visit) -> Response:
    """Return the graph that the page draws."""
    scope, focus = visit.scope, visit.query.get("focus", "")
    async with scoped(visit.desk.pools.background, scope, read_only=True) as connection:
        page_type, _, slug = focus.partition("/")
        row = await browse.page_by_key(connection, scope, page_type, slug) if focus else None
        if row is None:
            graph = await neighbourhood.graph(connection, scope, most_pages=_GRAPH_PAGES)
        else:
            graph = await neighbourhood.graph(connection, scope, focus=row.page_id, depth=2)
    return JSONResponse(_written(graph))


async def list_mentions(visit: Visit) -> Response:
    """Show the names that wait for a page."""
    scope = visit.scope
    async with scoped(visit.desk.pools.background, scope, read_only=True) as connection:
        rows = await browse.mentions(connection, scope, status="open", limit=_ROWS)
    return visit.page("mentions.html", rows=rows)


async def ignore_mention(visit: Visit) -> Response:
    """Set a held name aside."""
    visit.require_admin()
    scope, mention_id = visit.scope, read_id(visit, "mention_id")
    async with scoped(visit.desk.pools.background, scope) as connection:
        if not await acts.ignore_mention(connection, scope, mention_id, now=visit.desk.clocks.now()):
            raise NotFound("mention")
    return RedirectResponse("/wiki/mentions", 303)


async def archive_page(visit: Visit) -> Response:
    """Archive a page."""
    visit.require_admin()
    scope = visit.scope
    try:
        async with scoped(visit.desk.pools.background, scope) as connection:
            row = await browse.page_by_key(connection, scope, *_key(visit))
            if row is None:
                raise NotFound("page")
            await acts.archive_page(connection, scope, row, now=visit.desk.clocks.now())
    except ActRefused as error:
        raise FailedPrecondition(error.subject, error.problem) from error
    return _to(row)


async def add_alias(visit: Visit) -> Response:
    """Give a page a name."""
    visit.require_admin()
    scope = visit.scope
    name = read_text("alias", visit.form.get("alias", "").strip(), min_chars=1, max_chars=_MAX_ALIAS_CHARS)
    try:
        async with scoped(visit.desk.pools.background, scope) as connection:
            row = await browse.page_by_key(connection, scope, *_key(visit))
            if row is None:
                raise NotFound("page")
            await acts.add_alias(connection, scope, row, name, now=visit.desk.clocks.now())
    except ActRefused as error:
        raise FailedPrecondition(error.subject, error.problem) from error
    return _to(row)


def _key(visit: Visit) -> tuple[str, str]:
    page_type, slug = visit.request.path_params["type"], visit.request.path_params["slug"]
    if page_type not in browse.TYPES:
        raise InvalidArgument("type", "is no type of page", f"use one of {', '.join(browse.TYPES)}")
    return page_type, slug.replace("\0", "")


def _to(row: PageRow) -> Response:
    return RedirectResponse(row.path, 303)


def _written(graph: Graph) -> dict[str, object]:
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
            {
                "source": str(edge.from_page_id),
                "target": str(edge.to_page_id),
                "kind": edge.kind,
                "origins": list(edge.origins),
            }
            for edge in graph.edges
        ],
        "is_truncated": graph.is_truncated,
    }
