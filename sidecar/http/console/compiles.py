"""Compile jobs: what runs, what it did and cost, how far behind a scope is, and an operator's start and stop."""

from __future__ import annotations

from datetime import timedelta

from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute

from sidecar.errors import NotFound
from sidecar.http.console.desk import Desk, Visit, read_id, route
from store import browse, jobs, scopes, upkeep
from store.postgres import scoped

_ROWS = 50
_READS_DAYS = 30


def routes(desk: Desk) -> list[BaseRoute]:
    """Return the pages about compiling."""
    return [
        route(desk, "/compiles", list_jobs),
        route(desk, "/compiles/start", start, methods=["POST"]),
        route(desk, "/compiles/{job_id}", show_job),
        route(desk, "/compiles/{job_id}/cancel", cancel, methods=["POST"]),
        route(desk, "/reads", show_reads),
    ]


async def list_jobs(visit: Visit) -> Response:
    """Show the scope's jobs, newest first, and how far its wiki is behind its memories."""
    scope = visit.scope
    async with scoped(visit.desk.pools.background, scope, read_only=True) as connection:
        rows = await jobs.page(connection, scope, limit=_ROWS)
        stand = await scopes.read(connection, scope)
    return visit.page("compiles.html", rows=rows, stand=stand)


async def show_job(visit: Visit) -> Response:
    """Show one job."""
    scope, job_id = visit.scope, read_id(visit, "job_id")
    async with scoped(visit.desk.pools.background, scope, read_only=True) as connection:
        job = await jobs.get(connection, scope, job_id)
    if job is None:
        raise NotFound("job")
    plain = {key: value for key, value in job.metrics.items() if not isinstance(value, dict | list)}
    nested = {key: value for key, value in job.metrics.items() if isinstance(value, dict)}
    return visit.page("job.html", job=job, plain=plain, nested=nested)


async def start(visit: Visit) -> Response:
    """Queue a compile of the scope."""
    visit.require_admin()
    scope = visit.scope
    async with scoped(visit.desk.pools.background, scope) as connection:
        await jobs.enqueue(connection, scope, trigger="admin", now=visit.desk.clocks.now())
    return RedirectResponse("/compiles", 303)


async def cancel(visit: Visit) -> Response:
    """Ask a job to end."""
    visit.require_admin()
    scope, job_id = visit.scope, read_id(visit, "job_id")
    async with scoped(visit.desk.pools.background, scope) as connection:
        if await jobs.cancel(connection, scope, job_id, now=visit.desk.clocks.now()) is None:
            raise NotFound("job")
    return RedirectResponse(f"/compiles/{job_id}", 303)


async def show_reads(visit: Visit) -> Response:
    """Show which pages turns read and answers cited in the last month, against what compiling cost."""
    scope, since = visit.scope, visit.desk.clocks.now() - timedelta(days=_READS_DAYS)
    async with scoped(visit.desk.pools.background, scope, read_only=True) as connection:
        reads = await upkeep.reads(connection, scope, since=since)
        most = sorted(reads.by_page.items(), key=lambda one: (-one[1][0], -one[1][1], one[0]))[:_ROWS]
        rows = [(row, counts) for page_id, counts in most if (row := await browse.page(connection, scope, page_id))]
    return visit.page("reads.html", reads=reads, rows=rows, days=_READS_DAYS)
