"""Decay jobs: the groups that the policy would compress, and the queued and ended jobs; schedule, run and cancel."""

from __future__ import annotations

from datetime import datetime
from urllib.parse import urlencode
from uuid import UUID

from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute

from sidecar.http.console.desk import Desk, Visit, route
from sidecar.services.aging.decay import DecayOrder
from sidecar.services.validation import read_uuid

_JOBS = 50
_GROUPS = 50


def routes(desk: Desk) -> list[BaseRoute]:
    """Return the pages about decay."""
    return [
        route(desk, "/decay", list_jobs),
        route(desk, "/decay/schedule", schedule, methods=["POST"]),
        route(desk, "/decay/run", run, methods=["POST"]),
        route(desk, "/decay/cancel", cancel, methods=["POST"]),
    ]


async def list_jobs(visit: Visit) -> Response:
    """Show the groups that the settings' policy would compress, and the owner's jobs, newest first."""
    service = visit.services.decay
    groups = await service.explain(visit.scope, service.policy)
    jobs = await service.page(visit.scope, limit=_JOBS + 1, before=_before(visit))
    last = jobs[_JOBS - 1] if len(jobs) > _JOBS else None
    more = urlencode({"at": last.created_at.isoformat(), "id": str(last.job_id)}) if last else ""
    return await visit.page(
        "decay.html",
        groups=groups[:_GROUPS],
        group_count=len(groups),
        source_bytes=sum(one.source_bytes for one in groups),
        saved_bytes=sum(one.saved_bytes for one in groups),
        policy=service.policy,
        jobs=jobs[:_JOBS],
        more=more,
    )


async def schedule(visit: Visit) -> Response:
    """Queue a job for each group that the policy finds; a worker runs them."""
    visit.require_admin()
    service = visit.services.decay
    jobs = await service.schedule(visit.scope, DecayOrder(service.policy))
    visit.tell("1 job is queued." if len(jobs) == 1 else f"{len(jobs):,} jobs are queued.")
    return RedirectResponse("/decay", 303)


async def run(visit: Visit) -> Response:
    """Run a job now, and show how it ended."""
    visit.require_admin()
    job = await visit.services.decay.run(visit.scope, read_uuid("job", visit.form.get("job", "")))
    visit.tell(f"The job is {job.state}." if job else "There is no such job.")
    return RedirectResponse("/decay", 303)


async def cancel(visit: Visit) -> Response:
    """Cancel a job that has not started."""
    visit.require_admin()
    await visit.services.decay.cancel(visit.scope, read_uuid("job", visit.form.get("job", "")))
    visit.tell("The job is cancelled; its sources may be scheduled again.")
    return RedirectResponse("/decay", 303)


def _before(visit: Visit) -> tuple[datetime, UUID] | None:
    try:
        at = datetime.fromisoformat(visit.query["at"])
        return (at, UUID(visit.query["id"])) if at.tzinfo else None
    except (KeyError, ValueError):
        return None
