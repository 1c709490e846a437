"""Where something comes from, one click away: a memory with who cites it, a chunk of a document, a turn's place, a page."""

from __future__ import annotations

from urllib.parse import urlencode
from uuid import UUID

from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute

from sidecar.http.console.desk import Desk, Visit, route
from sidecar.runtime.errors import NotFound
from sidecar.services.validation import read_uuid
from store.compile import overview
from store.content import documents
from store.db.postgres import scoped, tenant_scoped
from store.wiki import browse

_ROWS = 100


def routes(desk: Desk) -> list[BaseRoute]:
    """Return the pages of provenance."""
    return [
        route(desk, "/from/memory", show_memory),
        route(desk, "/from/chunk", show_chunk),
        route(desk, "/from/turn", go_to_turn),
        route(desk, "/from/page", go_to_page),
    ]


async def show_memory(visit: Visit) -> Response:
    """Show a memory, what became of it in the compile, and every page that cites it."""
    memory_id = visit.query.get("id", "")
    found = await visit.services.memories.view(visit.scope, memory_id, most_citations=_ROWS)
    values = {"memory": found.memory, "entry": found.entry, "cited": found.citations}
    return await visit.page("memory.html", memory_id=memory_id, **values)


async def show_chunk(visit: Visit) -> Response:
    """Show a piece of a document between its neighbours, to an agent only if it reaches the document's base."""
    chunk_id, tenant_id = read_uuid("id", visit.query.get("id", "")), visit.identity.tenant_id
    async with tenant_scoped(visit.desk.pools.background, tenant_id, read_only=True) as connection:
        among = await documents.within(connection, tenant_id, visit.identity.reach)
        rows = await overview.chunk_around(connection, tenant_id, chunk_id, among=among)
    if not rows:
        raise NotFound("piece of a document")
    return await visit.page("chunk.html", rows=rows, chunk_id=chunk_id)


async def go_to_turn(visit: Visit) -> Response:
    """Go to a turn in its thread."""
    scope, turn_id = visit.scope, read_uuid("id", visit.query.get("id", ""))
    async with scoped(visit.desk.pools.background, scope, read_only=True) as connection:
        place = await overview.place_of_turn(connection, scope, turn_id)
    if place is None:
        raise NotFound("turn")
    thread_id, position = place
    query = urlencode({"id": thread_id, "after": max(0, position - 5)})
    return RedirectResponse(f"/thread?{query}#m{position}", 303)


async def go_to_page(visit: Visit) -> Response:
    """Go to a page by its id."""
    scope, page_id = visit.scope, _page_id(visit.query.get("id", ""))
    async with scoped(visit.desk.pools.background, scope, read_only=True) as connection:
        row = await browse.page(connection, scope, page_id)
    if row is None:
        raise NotFound("page")
    return RedirectResponse(row.path, 303)


def _page_id(text: str) -> UUID:
    return read_uuid("id", text.partition("#")[0].removeprefix("page:"))
