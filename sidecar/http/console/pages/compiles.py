"""Compile jobs: their results and cost, each scope's lag, the wiki's growth, start, stop and rerun; and the quarantine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute

from compiler.plan.edge_types import EDGE_TYPES
from sidecar.http.console.charts import Chart, share_chart
from sidecar.http.console.desk import Desk, Visit, after, read_id, route
from sidecar.runtime.errors import FailedPrecondition
from sidecar.runtime.ttl_cache import TtlCache
from sidecar.services.compiles import MAX_SCOPES, UNDER_WAY
from store.compile.jobs import Job, JobOptions
from store.compile.overview import MOST_RETRIED, Grown
from store.scope import Scope, brain_of

_ROWS, _MEMORY_ROWS = 50, 100
_KEPT_S, _KEPT_GROWTHS = 600.0, 100
_REASONS = ("rejections", "quarantined", "filtered", "cost_by_pass", "cost_by_model")
_BEHIND = ("funnel", "flags")
_TOLD = {
    "Memories": ("records_read", "records_skipped", "records_filtered", "records_quarantined",
                 "memories_ended"),
    "Pages": ("pages_created", "pages_updated", "pages_resurrected", "pages_archived", "sections_promoted"),
    "Sections": ("sections_created", "sections_rewritten", "sections_removed", "sections_skipped", "sections_quoted",
                 "parent_sections_updated"),
    "Links": ("links_written", "links_written_planner", "links_written_deterministic", "links_written_co_mention",
              "edges_written", *(f"edges_written_{kind}" for kind in EDGE_TYPES), "links_removed", "links_without_page"),
    "Names": ("aliases_written", "mentions_held", "mentions_promoted", "alias_dedup_merged", "fuzzy_dedupe_merges",
              "duplicate_candidates_count"),
    "Model": ("planner_calls", "section_writer_calls", "aggregation_planner_calls", "calls_remembered", "input_tokens",
              "output_tokens", "cached_tokens"),
}  # fmt: skip

_Growths = TtlCache[tuple[Scope, int], list[Grown]]


def routes(desk: Desk) -> list[BaseRoute]:
    """Return the pages about compiling. A wiki's growth is counted once per revision."""
    growths: _Growths = TtlCache(
        partial(_growth, desk), for_s=_KEPT_S, grace_s=_KEPT_S, clock=desk.clocks.steady_s, capacity=_KEPT_GROWTHS
    )
    return [
        route(desk, "/compiles", partial(list_jobs, growths)),
        route(desk, "/compiles/start", start, methods=["POST"]),
        route(desk, "/compiles/scopes", list_scopes),
        route(desk, "/compiles/{job_id}", show_job),
        route(desk, "/compiles/{job_id}/cancel", cancel, methods=["POST"]),
        route(desk, "/compiles/{job_id}/retry", run_again, methods=["POST"]),
        route(desk, "/quarantine", list_quarantined),
        route(desk, "/quarantine/retry", retry_quarantined, methods=["POST"]),
    ]


async def _growth(desk: Desk, key: tuple[Scope, int]) -> list[Grown]:
    return await desk.services.compiles.growth(key[0])


async def list_jobs(growths: _Growths, visit: Visit) -> Response:
    """Show the scope's jobs, newest first, its wiki's lag behind the memories, and its density over time."""
    scope, services = visit.scope, visit.services
    rows = await services.compiles.jobs(scope, limit=_ROWS + 1, after=after(visit, UUID))
    stand = await services.compiles.standing(scope)
    held = sum((await services.upkeep.quarantine_reasons(scope)).values()) if visit.is_admin else 0
    grown = await growths.get((scope, stand.wiki_revision if stand else 0))
    last = rows[_ROWS - 1] if len(rows) > _ROWS else None
    chart: Chart | None = share_chart(grown)
    values = {"stand": stand, "held": held, "grown": grown, "chart": chart, "is_older": "after" in visit.query}
    return await visit.page("compiles.html", rows=rows[:_ROWS], last=last, **values)


async def list_scopes(visit: Visit) -> Response:
    """Show the lag of each of the tenant's scopes, the largest first."""
    visit.require_admin()
    tenant_id = visit.identity.tenant_id
    rows, count = await visit.services.compiles.standings(tenant_id)
    brain_id = brain_of(tenant_id).owner_id
    return await visit.page("scopes.html", rows=rows, count=count, most=MAX_SCOPES, brain_id=brain_id)


async def show_job(visit: Visit) -> Response:
    """Show one job: its changes by subject, its refusals with reasons, and its cost."""
    job = await visit.services.compiles.job(visit.scope, read_id(visit, "job_id"))
    sections = {
        heading: {name: job.metrics[name] for name in names if job.metrics.get(name)}
        for heading, names in _TOLD.items()
    }
    grouped = {name for names in _TOLD.values() for name in names}
    rest = {
        name: value
        for name, value in job.metrics.items()
        if name not in grouped and not isinstance(value, dict | list) and value not in ("", 0, False)
    }
    shown = {"reasons": _grouped(job, _REASONS), "sections": sections, "rest": rest, "behind": _grouped(job, _BEHIND)}
    return await visit.page("job.html", job=job, is_under_way=job.status in UNDER_WAY, **shown)


def _grouped(job: Job, names: Sequence[str]) -> dict[str, Mapping[str, Any]]:
    """Return the named metrics of a job that are non-empty groups of figures."""
    return {name: value for name in names if isinstance(value := job.metrics.get(name), Mapping) and value}


async def start(visit: Visit) -> Response:
    """Queue a compile of the scope."""
    visit.require_admin()
    _, job = await visit.services.compiles.start(visit.scope, JobOptions())
    return _queued(visit, job)


async def run_again(visit: Visit) -> Response:
    """Queue a job with the options of an ended one."""
    visit.require_admin()
    return _queued(visit, await visit.services.compiles.run_again(visit.scope, read_id(visit, "job_id")))


def _queued(visit: Visit, job: Job) -> Response:
    visit.tell("The compile is queued.", undo=f"/compiles/{job.job_id}/cancel")
    return RedirectResponse(f"/compiles/{job.job_id}", 303)


async def cancel(visit: Visit) -> Response:
    """Cancel a job."""
    visit.require_admin()
    job = await visit.services.compiles.cancel(visit.scope, read_id(visit, "job_id"))
    return RedirectResponse(f"/compiles/{job.job_id}", 303)


async def list_quarantined(visit: Visit) -> Response:
    """Show the quarantined memories, with the reason and the start of each text."""
    visit.require_admin()
    scope, memory_id = visit.scope, visit.query.get("after", "")[:400].replace("\0", "")
    rows = await visit.services.upkeep.quarantined(scope, after=memory_id, limit=_MEMORY_ROWS + 1)
    reasons = await visit.services.upkeep.quarantine_reasons(scope)
    more = urlencode({"after": rows[_MEMORY_ROWS - 1].memory_id}) if len(rows) > _MEMORY_ROWS else ""
    return await visit.page("quarantine.html", rows=rows[:_MEMORY_ROWS], reasons=reasons, more=more, most=MOST_RETRIED)


async def retry_quarantined(visit: Visit) -> Response:
    """Queue one quarantined memory, or the first thousand, to be read again, and the compile that reads them."""
    visit.require_admin()
    named = visit.form.get("memory", "")
    count, job = await visit.services.upkeep.retry(visit.scope, [named] if named else ())
    if job is None:
        raise FailedPrecondition("memory", "is not quarantined here")
    subject = "1 memory is" if count == 1 else f"{count:,} memories are"
    visit.tell(f"{subject} read again; a compile is queued.")
    return RedirectResponse(f"/compiles/{job.job_id}", 303)
