"""Compile jobs: what runs, what it did and cost, how far behind each scope is, how the wiki grew; start, stop and run again."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Any
from uuid import UUID

from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute

from sidecar.http.console.charts import Chart, share_chart
from sidecar.http.console.desk import Desk, Visit, read_id, route
from sidecar.runtime.errors import FailedPrecondition, NotFound
from sidecar.runtime.ttl_cache import TtlCache
from store.compile import jobs, overview, ready, scopes
from store.compile.jobs import Job, JobStatus, Ticket, Trigger
from store.compile.overview import Grown
from store.compile.scopes import ScopeRow
from store.db.postgres import installation, scoped
from store.scope import Scope
from store.wiki import upkeep

_ROWS = 50
_MOST_SCOPES = 100
_MOST_KNOWN = 5_000
_AT_ONCE = 8
_KEPT_S, _KEPT_GROWTHS = 600.0, 100
_REASONS = ("rejections", "quarantined", "filtered", "cost_by_pass", "cost_by_model")
_BEHIND = ("funnel", "flags")
_TOLD = {
    "Memories": ("records_read", "records_skipped", "records_filtered", "records_quarantined"),
    "Pages": ("pages_created", "pages_updated", "pages_resurrected", "pages_archived", "sections_promoted"),
    "Sections": ("sections_created", "sections_rewritten", "sections_removed", "sections_skipped", "sections_quoted",
                 "parent_sections_updated"),
    "Links": ("links_written", "links_written_planner", "links_written_deterministic", "links_written_co_mention",
              "links_removed", "links_without_page"),
    "Names": ("aliases_written", "mentions_held", "mentions_promoted", "alias_dedup_merged", "fuzzy_dedupe_merges",
              "duplicate_candidates_count"),
    "Model": ("planner_calls", "section_writer_calls", "aggregation_planner_calls", "calls_remembered", "input_tokens",
              "output_tokens", "cached_tokens"),
}  # fmt: skip
_UNDER_WAY = frozenset({JobStatus.PENDING, JobStatus.RUNNING})


_Growths = TtlCache[tuple[Scope, int], list[Grown]]


def routes(desk: Desk) -> list[BaseRoute]:
    """Return the pages about compiling. How a wiki grew is counted once for each of its revisions that is looked at."""
    growths: _Growths = TtlCache(
        partial(_growth, desk), for_s=_KEPT_S, grace_s=_KEPT_S, clock=desk.clocks.steady_s, capacity=_KEPT_GROWTHS
    )
    return [
        route(desk, "/compiles", partial(list_jobs, growths)),
        route(desk, "/compiles/start", start, methods=["POST"]),
        route(desk, "/compiles/scopes", list_scopes),
        route(desk, "/compiles/{job_id}", show_job),
        route(desk, "/compiles/{job_id}/cancel", cancel, methods=["POST"]),
        route(desk, "/compiles/{job_id}/retry", retry, methods=["POST"]),
    ]


async def _growth(desk: Desk, key: tuple[Scope, int]) -> list[Grown]:
    async with scoped(desk.pools.background, key[0], read_only=True) as connection:
        return await overview.growth(connection, key[0])


async def list_jobs(growths: _Growths, visit: Visit) -> Response:
    """Show the scope's jobs, newest first, how far its wiki is behind its memories, and how dense it has become."""
    scope = visit.scope
    async with scoped(visit.desk.pools.background, scope, read_only=True) as connection:
        rows = await jobs.page(connection, scope, limit=_ROWS + 1, **_starting(visit))
        stand = await scopes.read(connection, scope)
        held = sum((await overview.held_back_reasons(connection, scope)).values()) if visit.is_admin else 0
    grown = await growths.get((scope, stand.wiki_revision if stand else 0))
    last = rows[_ROWS - 1] if len(rows) > _ROWS else None
    chart: Chart | None = share_chart(grown)
    values = {"stand": stand, "held": held, "grown": grown, "chart": chart, "is_older": "after" in visit.query}
    return await visit.page("compiles.html", rows=rows[:_ROWS], last=last, **values)


def _starting(visit: Visit) -> dict[str, Any]:
    """Return where the list goes on: the instant and id of the job before."""
    at, _, job_id = visit.query.get("after", "").partition("_")
    try:
        moment = datetime.fromisoformat(at)
        return {"after": (moment, UUID(job_id))} if moment.tzinfo else {}
    except ValueError:
        return {}


async def list_scopes(visit: Visit) -> Response:
    """Show how far each of the tenant's scopes is behind, the farthest first."""
    visit.require_admin()
    known = await _scopes(visit)
    gate = asyncio.Semaphore(_AT_ONCE)

    async def stand(scope: Scope) -> tuple[Scope, ScopeRow | None]:
        async with gate, scoped(visit.desk.pools.background, scope, read_only=True) as connection:
            return scope, await scopes.read(connection, scope)

    read = await asyncio.gather(*map(stand, known[:_MOST_SCOPES]))
    rows = [(scope, row) for scope, row in read if row is not None]
    rows.sort(key=lambda one: (one[1].read_through - one[1].dirty_through, str(one[0].owner_id)))
    return await visit.page("scopes.html", rows=rows, count=len(known), most=_MOST_SCOPES)


async def _scopes(visit: Visit) -> Sequence[Scope]:
    """Return the tenant's scopes that have a wiki, or work that waits."""
    tenant_id, now = visit.identity.tenant_id, visit.desk.clocks.now()
    async with installation(visit.desk.pools.background, read_only=True) as connection:
        busy = [hint.scope for hint in await ready.due(connection, now=now, limit=_MOST_KNOWN)]
        there = await upkeep.scopes_due_lint(connection, before=now + timedelta(days=1), limit=_MOST_KNOWN)
    return list(dict.fromkeys(scope for scope in (*busy, *there) if scope.tenant_id == tenant_id))


async def show_job(visit: Visit) -> Response:
    """Show one job: what it did by subject, what it refused and why, what it cost."""
    job = await _job(visit)
    told = {
        heading: {name: job.metrics[name] for name in names if job.metrics.get(name)}
        for heading, names in _TOLD.items()
    }
    grouped = {name for names in _TOLD.values() for name in names}
    rest = {
        name: value
        for name, value in job.metrics.items()
        if name not in grouped and not isinstance(value, dict | list) and value not in ("", 0, False)
    }
    shown = {"reasons": _grouped(job, _REASONS), "told": told, "rest": rest, "behind": _grouped(job, _BEHIND)}
    return await visit.page("job.html", job=job, is_under_way=job.status in _UNDER_WAY, **shown)


def _grouped(job: Job, names: Sequence[str]) -> dict[str, Mapping[str, Any]]:
    """Return those of a job's metrics that are figures under a heading and have any."""
    return {name: value for name in names if isinstance(value := job.metrics.get(name), Mapping) and value}


async def start(visit: Visit) -> Response:
    """Queue a compile of the scope."""
    visit.require_admin()
    scope = visit.scope
    async with scoped(visit.desk.pools.background, scope) as connection:
        ticket = await jobs.enqueue(connection, scope, trigger=Trigger.ADMIN.value, now=visit.desk.clocks.now())
    return _queued(visit, ticket)


async def retry(visit: Visit) -> Response:
    """Queue what a job that has ended was asked for once more."""
    visit.require_admin()
    job, scope = await _job(visit), visit.scope
    if job.status in _UNDER_WAY:
        raise FailedPrecondition("job", "has not ended yet; stop it first, or wait")
    async with scoped(visit.desk.pools.background, scope) as connection:
        ticket = await jobs.enqueue(
            connection, scope, trigger=Trigger.ADMIN.value, options=job.options, now=visit.desk.clocks.now()
        )
    return _queued(visit, ticket)


def _queued(visit: Visit, ticket: Ticket) -> Response:
    if ticket.job_id is None:
        raise FailedPrecondition("wiki_compile_enabled", "is off for this tenant; switch its compile on first")
    visit.tell("The compile is queued.", undo=f"/compiles/{ticket.job_id}/cancel")
    return RedirectResponse(f"/compiles/{ticket.job_id}", 303)


async def cancel(visit: Visit) -> Response:
    """Ask a job to end."""
    visit.require_admin()
    scope, job_id = visit.scope, read_id(visit, "job_id")
    async with scoped(visit.desk.pools.background, scope) as connection:
        if await jobs.cancel(connection, scope, job_id, now=visit.desk.clocks.now()) is None:
            raise NotFound("job")
    return RedirectResponse(f"/compiles/{job_id}", 303)


async def _job(visit: Visit) -> Job:
    scope, job_id = visit.scope, read_id(visit, "job_id")
    async with scoped(visit.desk.pools.background, scope, read_only=True) as connection:
        job = await jobs.get(connection, scope, job_id)
    if job is None:
        raise NotFound("job")
    return job
