"""Which pages turns read and answers used, against what compiling them cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from starlette.responses import Response
from starlette.routing import BaseRoute

from sidecar.http.console.desk import Desk, Visit, route
from store.compile import overview
from store.compile.overview import Cited
from store.db.postgres import scoped
from store.db.queries import Connection
from store.scope import Scope
from store.wiki import browse, upkeep
from store.wiki.browse import PageRow
from store.wiki.upkeep import Reads

_ROWS = 50
_DAYS = 30
_MOST_TURNS = 500


@dataclass(frozen=True, slots=True)
class Worth:
    """A page with how many turns read it, how many answers used it, and its share of what compiling cost."""

    page: PageRow
    reads: int
    uses: int
    cost_usd: float | None


def routes(desk: Desk) -> list[BaseRoute]:
    """Return the page about reads."""
    return [route(desk, "/reads", show_reads)]


async def show_reads(visit: Visit) -> Response:
    """Show the most read pages of the newest turns, 500 or a month of them, and the dearest that nobody read."""
    scope, now = visit.scope, visit.desk.clocks.now()
    async with scoped(visit.desk.pools.background, scope, read_only=True) as connection:
        oldest = await overview.instant_of_turn(connection, scope, _MOST_TURNS)
        since = max(now - timedelta(days=_DAYS), oldest) if oldest else now - timedelta(days=_DAYS)
        reads = await upkeep.reads(connection, scope, since=since)
        most = sorted(reads.by_page, key=lambda one: (-reads.by_page[one][0], -reads.by_page[one][1], one))[:_ROWS]
        cited = await overview.cited_since(connection, scope, since=since, page_ids=most, limit=_ROWS)
        unread = [one for one in cited.by_page if one not in reads.by_page]
        rows = await _worths(connection, scope, reads, cited, most)
        idle = await _worths(connection, scope, reads, cited, unread[:10])
    values = {
        "since": since,
        "is_cut": oldest is not None and since == oldest,
        "most_turns": _MOST_TURNS,
        "cited": cited,
    }
    return await visit.page("reads.html", reads=reads, rows=rows, idle=idle, **values)


async def _worths(
    connection: Connection, scope: Scope, reads: Reads, cited: Cited, page_ids: Sequence[UUID]
) -> list[Worth]:
    """Return pages with how they were read, and the share of the cost that falls to the memories they began to cite."""
    found = []
    for page_id in page_ids:
        row = await browse.page(connection, scope, page_id)
        if row is None:
            continue
        share = cited.by_page.get(row.page_id, 0) / cited.whole if cited.whole else 0.0
        read, used = reads.by_page.get(row.page_id, (0, 0))
        found.append(Worth(row, read, used, reads.cost_usd * share if cited.whole else None))
    return found
