"""Memories that no batch could be made of: which, why, and another try."""

from __future__ import annotations

from urllib.parse import urlencode

from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute

from sidecar.http.console.desk import Desk, Visit, route
from sidecar.runtime.errors import FailedPrecondition
from sidecar.services.validation import read_id
from store.compile import jobs, overview
from store.compile.jobs import Trigger
from store.db.postgres import scoped

_ROWS = 100


def routes(desk: Desk) -> list[BaseRoute]:
    """Return the pages about memories that are held back."""
    return [
        route(desk, "/quarantine", list_held),
        route(desk, "/quarantine/retry", retry, methods=["POST"]),
    ]


async def list_held(visit: Visit) -> Response:
    """Show the memories that are held back, with why and how they begin."""
    visit.require_admin()
    scope, after = visit.scope, visit.query.get("after", "")[:400].replace("\0", "")
    async with scoped(visit.desk.pools.background, scope, read_only=True) as connection:
        rows = await overview.held_back(connection, scope, after=after, limit=_ROWS + 1)
        reasons = await overview.held_back_reasons(connection, scope)
    more = urlencode({"after": rows[_ROWS - 1].memory_id}) if len(rows) > _ROWS else ""
    return await visit.page(
        "quarantine.html", rows=rows[:_ROWS], reasons=reasons, more=more, most=overview.MOST_RETRIED
    )


async def retry(visit: Visit) -> Response:
    """Have one memory that is held back, or the first thousand, read as new ones by a compile that is queued with it."""
    visit.require_admin()
    scope, named, now = visit.scope, visit.form.get("memory", ""), visit.desk.clocks.now()
    async with scoped(visit.desk.pools.background, scope) as connection:
        wanted = [read_id("memory", named)] if named else ()
        count = await overview.retry(connection, scope, wanted, now=now)
        if not count:
            raise FailedPrecondition("memory", "is not held back here")
        ticket = await jobs.enqueue(connection, scope, trigger=Trigger.ADMIN.value, now=now)
    what = "1 memory is" if count == 1 else f"{count:,} memories are"
    later = "a compile is queued" if ticket.job_id else "the next compile reads them: compiling is off for this tenant"
    visit.tell(f"{what} read anew; {later}.")
    return RedirectResponse(f"/compiles/{ticket.job_id}" if ticket.job_id else "/quarantine", 303)
