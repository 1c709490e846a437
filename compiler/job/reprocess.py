"""Reprocess jobs: they apply the ontology in force to every page of a tenant, owner by owner, some pages at a time.

Each part is one transaction: the pages, their batch in the log, and the job's progress. If a worker dies, the job is claimed
again after its lease ends, and continues after the last part; the fence shuts out a worker that lost its claim. The result for a
page depends only on the page and the ontology, so that doing a part again changes nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from uuid import UUID

from compiler.errors import LeaseLost
from compiler.plan.vocabulary import Vocabulary, vocabulary
from compiler.state import governing
from compiler.state.governing import PageWindow
from store.compile import background, batches, scopes
from store.compile.batches import Batch, BatchKind
from store.db.postgres import DatabaseRole, Pool, enter_owner, scoped, tenant_scoped
from store.db.queries import Connection
from store.ontology import reprocess_jobs, versions
from store.ontology.reprocess_jobs import ReprocessJob, ReprocessLease, ReprocessStatus
from store.scope import Scope

KIND = "ontology_reprocess"
PAGES_AT_ONCE = 100
PAGES_A_TURN = 2_000
ATTEMPTS = 5

Place = tuple[str, str]
_FIRST: Place = ("", "")


@dataclass(frozen=True, slots=True)
class ReprocessDeps:
    """Dependencies of a runner. `checkpoint` is called with the name of each step, `on_end` with each job that ended."""

    pool: Pool
    now: Callable[[], datetime]
    holder: str
    lease_s: float = 60.0
    pages_at_once: int = PAGES_AT_ONCE
    checkpoint: Callable[[str], None] = lambda _: None
    on_end: Callable[[ReprocessJob], None] = lambda _: None


@dataclass(frozen=True, slots=True)
class _Reached:
    """The progress of a job: its present owner, and the place of the last page done."""

    owner_id: UUID | None = None
    place: Place = _FIRST


def tenant_scope(tenant_id: UUID) -> Scope:
    """Return the scope of background jobs about a tenant: its owner is the nil UUID."""
    return Scope(tenant_id, UUID(int=0))


async def wake(connection: Connection, tenant_id: UUID, *, now: datetime, not_before: datetime | None = None) -> None:
    """Queue a background job that runs the tenant's reprocess jobs. Call it last in a tenant's transaction that queued one."""
    scope = tenant_scope(tenant_id)
    await enter_owner(connection, scope.owner_id)
    await background.enqueue(connection, scope, KIND, "", now=now, not_before=not_before)


async def run_due_jobs(deps: ReprocessDeps, tenant_id: UUID) -> None:
    """Run the tenant's due jobs, at most PAGES_A_TURN pages, and queue another run for the rest.

    Raises LeaseLost if another worker took a job over.
    """
    remaining_pages = PAGES_A_TURN
    while remaining_pages > 0:
        async with tenant_scoped(deps.pool, tenant_id, role=DatabaseRole.WORKER) as connection:
            lease = ReprocessLease(deps.holder, deps.lease_s)
            job = await reprocess_jobs.claim(connection, tenant_id, lease, now=deps.now())
        if job is None:
            break
        deps.checkpoint("claimed")
        remaining_pages -= await _run(deps, tenant_id, job, remaining_pages)
    now = deps.now()
    async with tenant_scoped(deps.pool, tenant_id, role=DatabaseRole.WORKER) as connection:
        if (due := await reprocess_jobs.next_due(connection, tenant_id)) is not None:
            await wake(connection, tenant_id, now=now, not_before=max(due, now))


async def _run(deps: ReprocessDeps, tenant_id: UUID, job: ReprocessJob, most: int) -> int:
    """Run the job until it ends or `most` pages are done; return the number of pages done."""
    began = job.continuation_offset
    known = await _known(deps, tenant_id, job)
    if known is None or job.attempt > ATTEMPTS:
        status = ReprocessStatus.FAILED if known else ReprocessStatus.CANCELLED
        why = "workers failed to go on with it" if known else "a later version is in force, whose job does its pages"
        await _end(deps, tenant_id, job, status, why)
        return 0
    reached = _reached(job)
    while job.continuation_offset - began < most:
        if (
            reached.owner_id is None
            or (done := await _part(deps, Scope(tenant_id, reached.owner_id), job, known)) is None
        ):
            reached = await _next_owner(deps, tenant_id, reached)
            if reached.owner_id is None:
                await _end(deps, tenant_id, job, ReprocessStatus.SUCCEEDED)
                return job.continuation_offset - began
            job = replace(job, continuation=_written(reached))
            continue
        job, reached = done, _reached(done)
    async with tenant_scoped(deps.pool, tenant_id, role=DatabaseRole.WORKER) as connection:
        await reprocess_jobs.release(connection, tenant_id, job, not_before=deps.now())
    return job.continuation_offset - began


async def _known(deps: ReprocessDeps, tenant_id: UUID, job: ReprocessJob) -> Vocabulary | None:
    """Return the job's ontology; None if it is not in force any more."""
    async with tenant_scoped(deps.pool, tenant_id, role=DatabaseRole.WORKER) as connection:
        found = await versions.newest_ontology(connection, tenant_id)
    return vocabulary(found) if found is not None and found.version == job.to_version else None


async def _part(deps: ReprocessDeps, scope: Scope, job: ReprocessJob, known: Vocabulary) -> ReprocessJob | None:
    """Apply the ontology to the owner's next pages and return the updated job; None if no page is left."""
    after, now = _reached(job).place, deps.now()
    async with scoped(deps.pool, scope, role=DatabaseRole.WORKER) as connection:
        if not await reprocess_jobs.hold(connection, scope.tenant_id, job):
            raise LeaseLost
        row = await scopes.lock(connection, scope, now=now)
        window = PageWindow(after, deps.pages_at_once)
        done = await governing.govern_window(connection, scope, window, known, now=now)
        deps.checkpoint("governed")
        if done is None:
            return None
        if done.counters:
            await scopes.bump_revision(connection, scope, now=now)
            options = {"ontology": known.version, "governed": [list(after), list(done.last)]}
            await batches.log_applied(connection, scope, await _logged(connection, scope, row, options, now), now=now)
        job = replace(
            job,
            continuation=_written(_Reached(scope.owner_id, done.last)),
            continuation_offset=job.continuation_offset + done.pages,
            metrics=dict(Counter(job.metrics) + Counter({"pages": done.pages, "parts": 1, **done.counters})),
        )
        lease_until = now + timedelta(seconds=deps.lease_s)
        await reprocess_jobs.advance(connection, scope.tenant_id, job, lease_until=lease_until)
        deps.checkpoint("advanced")
    deps.checkpoint("committed")
    return job


async def _logged(
    connection: Connection, scope: Scope, row: scopes.ScopeRow, options: dict[str, object], now: datetime
) -> Batch:
    return Batch(
        batch_seq=await scopes.next_batch_seq(connection, scope, now=now),
        kind=BatchKind.OPERATOR,
        job_id=None,
        revision=row.wiki_revision,
        cursor_from=row.cursor,
        cursor_to=row.cursor,
        read_through=row.read_through,
        memory_ids=(),
        content_hashes=(),
        items=[],
        options=options,
    )


async def _next_owner(deps: ReprocessDeps, tenant_id: UUID, reached: _Reached) -> _Reached:
    async with tenant_scoped(deps.pool, tenant_id, role=DatabaseRole.WORKER) as connection:
        found = await versions.owners_with_wikis(connection, tenant_id, limit=1, after=reached.owner_id)
    return _Reached(found[0] if found else None)


async def _end(
    deps: ReprocessDeps, tenant_id: UUID, job: ReprocessJob, status: ReprocessStatus, error: str = ""
) -> None:
    now = deps.now()
    async with tenant_scoped(deps.pool, tenant_id, role=DatabaseRole.WORKER) as connection:
        if not await reprocess_jobs.hold(connection, tenant_id, job):
            raise LeaseLost
        await reprocess_jobs.end(connection, tenant_id, job, status, error=error, now=now)
    deps.checkpoint("ended")
    deps.on_end(replace(job, status=status, error=error, finished_at=now))


def _reached(job: ReprocessJob) -> _Reached:
    state = job.continuation
    return _Reached(UUID(state["owner"]), (state["type"], state["slug"])) if state else _Reached()


def _written(reached: _Reached) -> dict[str, str]:
    return {"owner": str(reached.owner_id), "type": reached.place[0], "slug": reached.place[1]}
