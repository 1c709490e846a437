"""Memories that no batch could be made of: which, why, and another try."""

from __future__ import annotations

from urllib.parse import urlencode

from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute

from sidecar.http.console.desk import Desk, Visit, route
from sidecar.runtime.errors import FailedPrecondition
from store.compile.overview import MOST_RETRIED

_ROWS = 100


def routes(desk: Desk) -> list[BaseRoute]:
    """Return the pages about quarantined memories."""
    return [
        route(desk, "/quarantine", list_held),
        route(desk, "/quarantine/retry", retry, methods=["POST"]),
    ]


async def list_held(visit: Visit) -> Response:
    """Show the quarantined memories, with the reason and the start of each text."""
    visit.require_admin()
    scope, after = visit.scope, visit.query.get("after", "")[:400].replace("\0", "")
    rows = await visit.services.upkeep.quarantined(scope, after=after, limit=_ROWS + 1)
    reasons = await visit.services.upkeep.quarantine_reasons(scope)
    more = urlencode({"after": rows[_ROWS - 1].memory_id}) if len(rows) > _ROWS else ""
    return await visit.page("quarantine.html", rows=rows[:_ROWS], reasons=reasons, more=more, most=MOST_RETRIED)


async def retry(visit: Visit) -> Response:
    """Queue one quarantined memory, or the first thousand, to be read as new, and the compile that reads them."""
    visit.require_admin()
    named = visit.form.get("memory", "")
    count, job = await visit.services.upkeep.retry(visit.scope, [named] if named else ())
    if job is None:
        raise FailedPrecondition("memory", "is not held back here")
    what = "1 memory is" if count == 1 else f"{count:,} memories are"
    visit.tell(f"{what} read anew; a compile is queued.")
    return RedirectResponse(f"/compiles/{job.job_id}", 303)
