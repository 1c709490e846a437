"""The queue of compile jobs: enqueueing, claiming and settling. At most one job waits per request and five minutes.

Every function takes a connection inside a scoped transaction. `compiler/` decides the content of a job.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any
from uuid import UUID, uuid4, uuid5

import orjson
from opentelemetry import trace

from store.compile import ready, scopes
from store.db import queries
from store.db.queries import Connection, value_of
from store.errors import AlreadyExists
from store.scope import Scope

_sql = queries.load(__file__)
_CONTINUATIONS = UUID("6f0c7c1e-6d0b-5d0c-9a3e-0d5b7d1f8a06")
_END_OF_TIME = datetime.max.replace(tzinfo=UTC)

BUCKET_S = 300
_MOST_BUCKETS = 100
PROGRESS = "compile_progress"


class Enqueued(StrEnum):
    """The result of a request to compile."""

    ENQUEUED = "ENQUEUED"
    DEDUPED = "DEDUPED"
    SKIPPED_FLAG_OFF = "SKIPPED_FLAG_OFF"
    SKIPPED_ADAPTER = "SKIPPED_ADAPTER"
    FAILED = "FAILED"


class JobStatus(StrEnum):
    """The status of a job; the last four are final."""

    PENDING = "pending"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    SKIPPED = "skipped"
    CANCELLED = "cancelled"


class Trigger(StrEnum):
    """The cause of a job."""

    MEMORY_RETAIN = "memory_retain"
    BOOTSTRAP_IMPORT = "bootstrap_import"
    ADMIN = "admin"
    LINT = "lint"
    WEBHOOK = "webhook"


_MAY_REST = frozenset({Trigger.MEMORY_RETAIN, Trigger.WEBHOOK})


@dataclass(frozen=True, slots=True)
class JobOptions:
    """The options of a job; a continuation inherits them.

    `model_id` replaces the configured model. `mention_ids` are held names to process even if no memory is new.
    `may_archive_many` is an operator's permission for reconciliation to archive most of a wiki.
    """

    model_id: str = ""
    mention_ids: tuple[str, ...] = ()
    may_archive_many: bool = False


@dataclass(frozen=True, slots=True)
class Ticket:
    """The result of a request, and the job that will serve it; None if there is none."""

    outcome: Enqueued
    job_id: UUID | None = None


@dataclass(frozen=True, slots=True)
class Job:
    """A compile job. `hops` counts the continuations before it; `attempt` its claims.

    `traceparent` is the span of the call that first asked for it (W3C); empty if there was none.
    """

    job_id: UUID
    status: JobStatus
    trigger: Trigger
    attempt: int
    options: JobOptions
    metrics: dict[str, Any]
    error: str
    parent_job_id: UUID | None
    sequence: int
    hops: int
    cancel_requested: bool
    created_at: datetime
    not_before: datetime
    claimed_at: datetime | None
    finished_at: datetime | None
    traceparent: str = ""


def unstored_job(job_id: UUID, model_id: str, *, now: datetime) -> Job:
    """Return a running job that is never stored, as for a preview or a replay."""
    return Job(
        job_id=job_id,
        status=JobStatus.RUNNING,
        trigger=Trigger.ADMIN,
        attempt=1,
        options=JobOptions(model_id=model_id),
        metrics={},
        error="",
        parent_job_id=None,
        sequence=0,
        hops=0,
        cancel_requested=False,
        created_at=now,
        not_before=now,
        claimed_at=now,
        finished_at=None,
    )


@dataclass(frozen=True, slots=True)
class Ending:
    """How a job ended, or why it was requeued."""

    status: JobStatus
    error: str = ""
    metrics: Mapping[str, Any] = field(default_factory=dict)


async def forget_error_details(connection: Connection, scope: Scope) -> None:
    """Cut the details off the errors of the owner's jobs: a provider's message may quote the request."""
    await _sql.forget_error_details(connection, **scope.key)


async def enqueue(
    connection: Connection, scope: Scope, *, trigger: str, options: JobOptions | None = None, now: datetime
) -> Ticket:
    """Queue a compile of the scope and record how far its memories reach.

    Requests with the same options in one bucket of 300 s are deduped into one job until it starts; after that, a request gets
    the job of the next free bucket. A request caused by a write is deduped into any postponed job; other requests make a
    postponed job start now. If the tenant's compile is off, nothing is queued.
    """
    if not await _sql.wiki_compile_enabled(connection, tenant_id=scope.tenant_id):
        return Ticket(Enqueued.SKIPPED_FLAG_OFF)
    await scopes.mark_dirty(connection, scope, now=now)
    options = options or JobOptions()
    if Trigger(trigger) in _MAY_REST:
        waiting = await _sql.resting_job(connection, **scope.key, input=asdict(options), now=now)
        if waiting is not None:
            await ready.announce(connection, scope, ready_at=now)
            return Ticket(Enqueued.DEDUPED, waiting)
    bucket = int(now.timestamp()) // BUCKET_S
    ticket = await _enqueue_once(connection, scope, _dedupe_key(scope, bucket, options), (trigger, options, now))
    if ticket.job_id is None:
        ticket = await _enqueue_later(connection, scope, bucket + 1, (trigger, options, now))
    await ready.announce(connection, scope, ready_at=now)
    return ticket


async def _enqueue_later(
    connection: Connection, scope: Scope, bucket: int, wish: tuple[str, JobOptions, datetime]
) -> Ticket:
    """Queue a request whose bucket has a started job: in the next free bucket, or under a unique key if none is near."""
    keys = [_dedupe_key(scope, bucket + ahead, wish[1]) for ahead in range(_MOST_BUCKETS)]
    started = {row["dedupe_key"] for row in await _sql.started_keys(connection, tenant_id=scope.tenant_id, keys=keys)}
    free = next((key for key in keys if key not in started), None)
    ticket = await _enqueue_once(connection, scope, free, wish) if free else Ticket(Enqueued.DEDUPED)
    if ticket.job_id is None:
        waiting = await _sql.waiting_job(connection, **scope.key, input=asdict(wish[1]), now=wish[2])
        ticket = Ticket(Enqueued.DEDUPED, waiting)
    if ticket.job_id is None:
        ticket = await _enqueue_once(connection, scope, f"{keys[0]}:{uuid4()}", wish)
    return ticket


async def _enqueue_once(
    connection: Connection, scope: Scope, dedupe_key: str, wish: tuple[str, JobOptions, datetime]
) -> Ticket:
    trigger, options, now = wish
    job_id = await _sql.insert_job(
        connection,
        **scope.key,
        job_id=uuid4(),
        dedupe_key=dedupe_key,
        trigger=Trigger(trigger).value,
        input=asdict(options) | {"traceparent": _traceparent()},
        now=now,
    )
    if job_id is not None:
        return Ticket(Enqueued.ENQUEUED, job_id)
    waiting = await _sql.pending_job_of_key(connection, tenant_id=scope.tenant_id, dedupe_key=dedupe_key)
    if waiting is not None and Trigger(trigger) not in _MAY_REST:
        await _sql.hasten_job(
            connection, tenant_id=scope.tenant_id, job_id=waiting, trigger=Trigger(trigger).value, now=now
        )
    return Ticket(Enqueued.DEDUPED, waiting)


async def rest(connection: Connection, scope: Scope, *, pause_s: int, now: datetime) -> None:
    """Postpone the jobs caused by writes, of a wiki that no turn has read for the pause, until the pause has passed since its
    last compile; undo this for a wiki that was read meanwhile. The tenant's own pause overrides `pause_s`.
    """
    await _sql.rest_jobs(connection, **scope.key, pause_s=pause_s, now=now)


async def back_off(connection: Connection, scope: Scope, *, now: datetime) -> None:
    """Postpone the scope's jobs that no caller waits for until the next retry of its failing model."""
    await _sql.back_off_jobs(connection, **scope.key, now=now)


async def failing_streak(connection: Connection, scope: Scope) -> int:
    """Return how many of the scope's latest jobs failed in a row because their model did, 10 at most."""
    return int(await _sql.failing_streak(connection, **scope.key) or 0)


async def continue_job(connection: Connection, scope: Scope, job: Job, *, not_before: datetime, now: datetime) -> UUID:
    """Queue the continuation of a job and return its id. Raises AlreadyExists if the job has one.

    The continuation inherits trigger and options and has the next sequence number.
    """
    sequence = job.sequence + 1
    job_id = uuid5(_CONTINUATIONS, f"{job.job_id}:{sequence}")
    inserted = await _sql.insert_continuation(
        connection,
        **scope.key,
        job_id=job_id,
        dedupe_key=f"continuation:{job.job_id}:{sequence}",
        trigger=job.trigger.value,
        input=asdict(job.options) | {"traceparent": job.traceparent},
        parent_job_id=job.job_id,
        sequence=sequence,
        hops=job.hops + 1,
        not_before=not_before,
        now=now,
    )
    if inserted is None:
        raise AlreadyExists("wiki_compile_jobs_continuation")
    await ready.announce(connection, scope, ready_at=not_before)
    return job_id


async def is_enabled(connection: Connection, scope: Scope) -> bool:
    """Return whether compiling is enabled for the tenant."""
    return bool(await _sql.wiki_compile_enabled(connection, tenant_id=scope.tenant_id))


async def start_next(connection: Connection, scope: Scope, *, now: datetime) -> Job | None:
    """Start the scope's next job and return it; a job whose worker died comes first. `attempt` counts this claim."""
    row = await _sql.start_next_job(connection, **scope.key, now=now)
    return row and _job(row)


async def next_startable(connection: Connection, scope: Scope, *, now: datetime) -> UUID | None:
    """Return the job that `start_next` would start, without starting it; None if there is none."""
    job_id: UUID | None = await _sql.next_startable(connection, **scope.key, now=now)
    return job_id


async def record(connection: Connection, scope: Scope, job_id: UUID, metrics: Mapping[str, Any]) -> bool:
    """Write a running job's metrics, notify PROGRESS on commit, and return whether its cancellation was requested."""
    is_cancelled = await _sql.record_job(connection, tenant_id=scope.tenant_id, job_id=job_id, metrics=dict(metrics))
    await _notify(connection, None if is_cancelled is None else job_id)
    return bool(is_cancelled)


async def settle(connection: Connection, scope: Scope, job_id: UUID, ending: Ending, *, now: datetime) -> None:
    """End a running job and notify listeners."""
    settled = await _sql.settle_job(
        connection,
        tenant_id=scope.tenant_id,
        job_id=job_id,
        status=ending.status.value,
        error=ending.error,
        metrics=dict(ending.metrics),
        now=now,
    )
    await _notify(connection, settled)


async def put_back(
    connection: Connection, scope: Scope, job_id: UUID, ending: Ending, *, not_before: datetime, counts: bool
) -> None:
    """Requeue a running job and notify listeners.

    With `counts` False the attempt is not counted. Empty metrics leave the old ones.
    """
    requeued = await _sql.put_back_job(
        connection,
        tenant_id=scope.tenant_id,
        job_id=job_id,
        error=ending.error,
        metrics=dict(ending.metrics),
        not_before=not_before,
        refund=0 if counts else 1,
    )
    await _notify(connection, requeued)
    await ready.announce(connection, scope, ready_at=not_before)


async def get(connection: Connection, scope: Scope, job_id: UUID) -> Job | None:
    """Return one job of the scope, or None."""
    row = await _sql.get_job(connection, **scope.key, job_id=job_id)
    return row and _job(row)


async def page(
    connection: Connection, scope: Scope, *, limit: int, after: tuple[datetime, UUID] | None = None
) -> list[Job]:
    """Return a page of the scope's jobs, newest first, after the job with this instant and id."""
    before, after_id = after or (_END_OF_TIME, UUID(int=0))
    rows = await _sql.list_jobs(connection, **scope.key, before=before, after_id=after_id, limit=limit)
    return [_job(row) for row in rows]


async def cancel(connection: Connection, scope: Scope, job_id: UUID, *, now: datetime) -> Job | None:
    """Cancel a waiting job, or ask a running one to stop at its next batch; return the job, None if there is none."""
    await _notify(connection, await _sql.cancel_job(connection, **scope.key, job_id=job_id, now=now))
    return await get(connection, scope, job_id)


async def cancel_pending(connection: Connection, scope: Scope, *, now: datetime) -> int:
    """Cancel the scope's waiting jobs and return how many there were."""
    cancelled = [row["job_id"] for row in await _sql.cancel_pending_jobs(connection, **scope.key, now=now)]
    await _notify(connection, *cancelled)
    return len(cancelled)


async def running(connection: Connection, scope: Scope) -> Job | None:
    """Return the scope's running job, or None."""
    row = await _sql.running_job(connection, **scope.key)
    return row and _job(row)


async def next_due(connection: Connection, scope: Scope) -> datetime | None:
    """Return when the scope's next waiting job may start; None if none waits."""
    due: datetime | None = await _sql.next_due(connection, **scope.key)
    return due


async def _notify(connection: Connection, *job_ids: UUID | None) -> None:
    """Notify PROGRESS of these jobs on commit; None stands for a job that was not changed.

    A statement of its own: where a table's rows lie on other servers, a notice sent while they are written reaches no listener.
    """
    changed = [one for one in job_ids if one is not None]
    if changed:
        await _sql.notify_progress(connection, job_ids=changed)


def _dedupe_key(scope: Scope, bucket: int, options: JobOptions) -> str:
    if options == JobOptions():
        return f"{scope.tenant_id}:{scope.owner_id}:{bucket}"
    digest = hashlib.sha256(orjson.dumps(asdict(options), option=orjson.OPT_SORT_KEYS)).hexdigest()[:16]
    return f"{scope.tenant_id}:{scope.owner_id}:{bucket}:{digest}"


def _traceparent() -> str:
    """Return the current span as a W3C traceparent; empty if there is none."""
    span = trace.get_current_span().get_span_context()
    return f"00-{span.trace_id:032x}-{span.span_id:016x}-{span.trace_flags:02x}" if span.is_valid else ""


def _job(row: Any) -> Job:
    payload = row["input"]
    options = JobOptions(
        payload.get("model_id", ""), tuple(payload.get("mention_ids", ())), payload.get("may_archive_many", False)
    )
    status, trigger = JobStatus(row["status"]), Trigger(row["trigger"])
    traceparent = payload.get("traceparent", "")
    return value_of(Job, row, status=status, trigger=trigger, options=options, traceparent=traceparent)
