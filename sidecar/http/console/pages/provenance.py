"""Provenance, one click away: a memory with the pages that cite it, a chunk of a document, a turn's place, a page."""

from __future__ import annotations

from urllib.parse import urlencode
from uuid import UUID

from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute

from sidecar.http.console.desk import Desk, Visit, route
from sidecar.services.validation import read_uuid

_ROWS = 100


def routes(desk: Desk) -> list[BaseRoute]:
    """Return the pages of provenance."""
    return [
        route(desk, "/from/memory", show_memory),
        route(desk, "/from/memory/pin", pin_memory, methods=["POST"]),
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


async def pin_memory(visit: Visit) -> Response:
    """Pin or unpin a memory."""
    visit.require_admin()
    memory_id, is_pinned = visit.form.get("id", ""), visit.form.get("pinned") == "yes"
    await visit.services.memories.set_pinned(visit.scope, memory_id, is_pinned)
    visit.tell(
        "The memory is pinned: it stands in every context." if is_pinned else "The memory is not pinned any more."
    )
    return RedirectResponse(f"/from/memory?{urlencode({'id': memory_id})}", 303)


async def show_chunk(visit: Visit) -> Response:
    """Show a piece of a document between its neighbours, to an agent only if it reaches the document's base."""
    chunk_id, tenant_id = read_uuid("id", visit.query.get("id", "")), visit.identity.tenant_id
    rows = await visit.services.knowledge.chunk_with_neighbours(tenant_id, chunk_id, reach=visit.identity.reach)
    return await visit.page("chunk.html", rows=rows, chunk_id=chunk_id)


async def go_to_turn(visit: Visit) -> Response:
    """Go to a turn in its thread."""
    place = await visit.services.threads.place_of_turn(visit.scope, read_uuid("id", visit.query.get("id", "")))
    thread_id, position = place
    query = urlencode({"id": thread_id, "after": max(0, position - 5)})
    return RedirectResponse(f"/thread?{query}#m{position}", 303)


async def go_to_page(visit: Visit) -> Response:
    """Go to a page by its id."""
    row = await visit.services.wiki.page_by_id(visit.scope, _page_id(visit.query.get("id", "")))
    return RedirectResponse(row.path, 303)


def _page_id(text: str) -> UUID:
    return read_uuid("id", text.partition("#")[0].removeprefix("page:"))
