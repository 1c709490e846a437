"""Threads: the list, and one thread's turns with their receipts."""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import UUID

from starlette.responses import Response
from starlette.routing import BaseRoute

from sidecar.http.console.desk import Desk, Visit, after, route
from sidecar.http.console.turn_view import account_stripes
from sidecar.services.costs import account_cost
from sidecar.services.validation import read_id
from store.accounting.costs import Filters, TurnAccount
from store.content.threads import StoredTurn

_ROWS = 100
_SAID_ROWS = 100
_MADE_ROWS = 300
_MOST_CHARS = 20_000
_LAST_ID = UUID(int=2**128 - 1)
_END = datetime.max.replace(tzinfo=UTC)


def routes(desk: Desk) -> list[BaseRoute]:
    """Return the pages about threads."""
    return [
        route(desk, "/threads", list_threads),
        route(desk, "/thread", show_thread),
    ]


async def list_threads(visit: Visit) -> Response:
    """Show the owner's threads, the one with the newest turn first."""
    rows = await visit.services.threads.page(visit.scope, limit=_ROWS + 1, before=after(visit, str))
    last = rows[_ROWS - 1] if len(rows) > _ROWS else None
    return await visit.page("threads.html", rows=rows[:_ROWS], last=last)


async def show_thread(visit: Visit) -> Response:
    """Show a part of a thread, with its assemblies in chronological order."""
    scope, thread_id = visit.scope, read_id("id", visit.query.get("id", ""))
    place = visit.query.get("after", "")
    position = int(place) if place.isdecimal() and len(place) < 9 else 0
    turns = await visit.services.threads.turns(scope, thread_id, limit=_SAID_ROWS + 1, after=position)
    accounts = await _made(visit, thread_id, turns, is_first=position == 0)
    timeline = sorted(
        [("turn", turn.said_at, 0, turn) for turn in turns[:_SAID_ROWS]]
        + [("made", one.created_at, 1, (one, account_cost(one), account_stripes(one))) for one in accounts],
        key=lambda row: row[1:3],
    )
    values = {
        "timeline": timeline,
        "more": turns[_SAID_ROWS - 1].position if len(turns) > _SAID_ROWS else None,
        "earlier": max(0, position - _SAID_ROWS) if position else None,
        "most_chars": None if visit.query.get("whole") == "1" else _MOST_CHARS,
    }
    return await visit.page("thread.html", thread_id=thread_id, **values)


async def _made(visit: Visit, thread_id: str, turns: list[StoredTurn], *, is_first: bool) -> list[TurnAccount]:
    """Return the assemblies from the first of the turns up to the turn after the last; first parts include all earlier ones."""
    until = turns[_SAID_ROWS].said_at if len(turns) > _SAID_ROWS else _END
    filters = Filters(thread_id=thread_id, agent_id=visit.filtered_agent(""))
    accounts = await visit.services.costs.turns(visit.scope, filters, limit=_MADE_ROWS, before=(until, _LAST_ID))
    return [one for one in accounts if is_first or (turns and one.created_at >= turns[0].said_at)]
