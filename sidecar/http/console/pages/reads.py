"""Which pages turns read and answers used, against what compiling them cost."""

from __future__ import annotations

from starlette.responses import Response
from starlette.routing import BaseRoute

from sidecar.http.console.desk import Desk, Visit, route
from sidecar.services.upkeep import MAX_TURNS_MEASURED


def routes(desk: Desk) -> list[BaseRoute]:
    """Return the page about reads."""
    return [route(desk, "/reads", show_reads)]


async def show_reads(visit: Visit) -> Response:
    """Show the most read pages of the newest turns, and the dearest that no turn read."""
    found = await visit.services.upkeep.reads_against_cost(visit.scope)
    return await visit.page("reads.html", found=found, reads=found.reads, most_turns=MAX_TURNS_MEASURED)
