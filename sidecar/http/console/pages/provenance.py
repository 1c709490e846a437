"""Provenance: a memory with the pages that cite it, a chunk of a document, a turn in its thread, a page."""

from __future__ import annotations

from datetime import datetime
from typing import Any, NamedTuple
from urllib.parse import urlencode
from uuid import UUID

from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute

from compiler.decay.supersede import SupersessionCause
from sidecar.http.console.desk import Desk, Visit, route
from sidecar.runtime.errors import InvalidArgument
from sidecar.services.memories import MemoryHistory, check_memory
from sidecar.services.validation import read_uuid
from store.content.memories import NewMemory
from store.content.standing import StatusDecision
from store.content.supersessions import SupersessionReason
from store.content.tiers import AuthorityTier, MemoryStatus

_ROWS = 100
_DOES = {
    SupersessionReason.COMPRESSED: "sums up",
    SupersessionReason.CORRECTED: "corrects",
    SupersessionReason.CONTRADICTED: "contradicts",
}
_DONE_TO = {
    SupersessionReason.COMPRESSED: "summed up by",
    SupersessionReason.CORRECTED: "corrected by",
    SupersessionReason.CONTRADICTED: "contradicted by",
}


class LifeEvent(NamedTuple):
    """An event in a memory's history, with the other memory if there is one."""

    at: datetime
    what: str
    detail: str
    other: str = ""


def routes(desk: Desk) -> list[BaseRoute]:
    """Return the pages of provenance."""
    return [
        route(desk, "/from/memory", show_memory),
        route(desk, "/from/memory/pin", pin_memory, methods=["POST"]),
        route(desk, "/from/memory/status", set_status, methods=["POST"]),
        route(desk, "/from/memory/correct", correct_memory, methods=["POST"]),
        route(desk, "/from/memory/restore", restore_memory, methods=["POST"]),
        route(desk, "/from/chunk", show_chunk),
        route(desk, "/from/turn", go_to_turn),
        route(desk, "/from/page", go_to_page),
    ]


async def show_memory(visit: Visit) -> Response:
    """Show a memory, its history, the evidence for it, its outcome in the compile, and the pages that cite it."""
    memory_id = visit.query.get("id", "")
    view = await visit.services.memories.view(visit.scope, memory_id, most_citations=_ROWS)
    values: dict[str, Any] = {"memory": view.memory, "entry": view.entry, "cited": view.citations}
    if view.memory is not None:
        history = await visit.services.memories.history(visit.scope, memory_id)
        belief = await visit.services.memories.supersessions.explain(visit.scope, memory_id)
        texts = {one.memory_id: one.text for one in belief.memories}
        behind = [(edge, texts.get(edge.superseded_id, "")) for edge in belief.chain[:_ROWS]]
        values |= {"life": life(history), "behind": behind, "turns": belief.turns[:_ROWS], "endings": _endings(history)}
    return await visit.page("memory.html", memory_id=memory_id, **values)


def life(history: MemoryHistory) -> list[LifeEvent]:
    """Return a memory's history, oldest first."""
    own = history.memory.memory_id
    events = [LifeEvent(history.memory.created_at, "written", "")]
    for change in history.changes:
        detail = f"{change.changed_by}{': ' if change.rule else ''}{change.rule}"
        events.append(LifeEvent(change.changed_at, f"{change.old_status} → {change.new_status}", detail))
    for edge in history.supersessions:
        is_older = edge.superseded_id == own
        other = edge.memory_id if is_older else edge.superseded_id
        did = _DONE_TO[edge.reason] if is_older else _DOES[edge.reason]
        events.append(LifeEvent(edge.created_at, did, edge.evidence, other))
        if edge.undone_at is not None:
            events.append(LifeEvent(edge.undone_at, f"no longer {did}", "", other))
    return sorted(events, key=lambda one: one.at)


def _endings(history: MemoryHistory) -> list[str]:
    """Return the memories that end this one."""
    own, compressed = history.memory.memory_id, SupersessionReason.COMPRESSED
    live = (one for one in history.supersessions if one.superseded_id == own and one.undone_at is None)
    return [one.memory_id for one in live if one.reason is not compressed]


async def set_status(visit: Visit) -> Response:
    """Accept or reject a memory, or make it a candidate again."""
    visit.require_admin()
    memory_id, status = visit.form.get("id", ""), visit.form.get("status", "")
    if status not in list(MemoryStatus):
        raise InvalidArgument("status", f"is {status!r}", f"send {', '.join(MemoryStatus)}")
    decision = StatusDecision(
        MemoryStatus(status), f"{visit.identity.role} {visit.identity.subject}".strip(), "console"
    )
    await visit.services.memories.set_status(visit.scope, memory_id, decision)
    visit.tell(f"The memory is {status}.")
    return RedirectResponse(f"/from/memory?{urlencode({'id': memory_id})}", 303)


async def correct_memory(visit: Visit) -> Response:
    """Supersede a memory by a new text."""
    visit.require_admin()
    memory_id, edit = visit.form.get("id", ""), NewMemory(visit.form.get("text", "").strip())
    check_memory("edit", edit, most_trusted=AuthorityTier.USER)
    cause = SupersessionCause(SupersessionReason.CORRECTED, "console", most_trusted=AuthorityTier.USER)
    newer, _ = await visit.services.memories.supersessions.supersede(visit.scope, [memory_id], edit, cause)
    visit.tell("This memory replaces the previous one, which holds until now.")
    return RedirectResponse(f"/from/memory?{urlencode({'id': newer.memory_id})}", 303)


async def restore_memory(visit: Visit) -> Response:
    """Restore a superseded memory."""
    visit.require_admin()
    memory_id = visit.form.get("id", "")
    await visit.services.memories.supersessions.restore(visit.scope, memory_id)
    visit.tell("The memory is current again.")
    return RedirectResponse(f"/from/memory?{urlencode({'id': memory_id})}", 303)


async def pin_memory(visit: Visit) -> Response:
    """Pin or unpin a memory."""
    visit.require_admin()
    memory_id, is_pinned = visit.form.get("id", ""), visit.form.get("pinned") == "yes"
    await visit.services.memories.set_pinned(visit.scope, memory_id, is_pinned=is_pinned)
    visit.tell("The memory is pinned: it is in every context." if is_pinned else "The memory is no longer pinned.")
    return RedirectResponse(f"/from/memory?{urlencode({'id': memory_id})}", 303)


async def show_chunk(visit: Visit) -> Response:
    """Show a piece of a document with its neighbours; an agent must reach the document's base."""
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
