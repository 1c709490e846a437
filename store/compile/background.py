"""The queue of background jobs other than compiles: at most one waiting job per kind and subject, claimed with a lease.

Every function takes a connection inside a scoped transaction. The handler of each kind is in `sidecar/worker`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID, uuid4

from store.compile import ready
from store.db import queries
from store.db.queries import Connection
from store.scope import Scope

_sql = queries.load(__file__)


@dataclass(frozen=True, slots=True)
class BackgroundJob:
    """A job: its kind, its subject, and how often it was claimed."""

    job_id: UUID
    kind: str
    subject: str
    attempt: int


async def enqueue(
    connection: Connection, scope: Scope, kind: str, subject: str, *, now: datetime, not_before: datetime | None = None
) -> bool:
    """Queue a job, and return whether it is new: a waiting job of its kind and subject already covers it.

    With `not_before` it is due then; a job that already waits keeps its own time, and workers are notified of new jobs only.
    """
    named = {"job_id": uuid4(), "kind": kind, "subject": subject, "now": now, "not_before": not_before or now}
    queued = await _sql.enqueue_background(connection, **scope.key, **named)
    if queued or not_before is None:
        await ready.announce(connection, scope, ready_at=not_before or now)
    return bool(queued)


async def claim(
    connection: Connection, scope: Scope, kinds: Iterable[str], *, holder: str, lease_s: float, now: datetime
) -> BackgroundJob | None:
    """Claim the scope's oldest due job of the kinds, or one whose lease ran out; None if there is none.

    `attempt` counts this claim.
    """
    until = now + timedelta(seconds=lease_s)
    row = await _sql.claim_background(connection, **scope.key, kinds=list(kinds), holder=holder, until=until, now=now)
    return row and BackgroundJob(row["job_id"], row["kind"], row["subject"], row["attempt"])


async def take(
    connection: Connection, scope: Scope, wanted: tuple[str, str], *, holder: str, lease_s: float, now: datetime
) -> BackgroundJob | None:
    """Claim the job of a kind and subject, created if missing; None if another worker holds it or it is not due yet.

    Of concurrent calls, one gets it.
    """
    about, made_id = {**scope.key, "kind": wanted[0], "subject": wanted[1]}, uuid4()
    await _sql.make_background(connection, **about, job_id=made_id, now=now)
    await _sql.lock_background(connection, **about)
    until = now + timedelta(seconds=lease_s)
    row = await _sql.take_background(connection, **about, holder=holder, until=until, now=now)
    if row is None:
        # Another worker won the race; delete our duplicate job.
        await _sql.unmake_background(connection, tenant_id=scope.tenant_id, job_id=made_id)
        return None
    return BackgroundJob(row["job_id"], row["kind"], row["subject"], row["attempt"])


async def drop(connection: Connection, scope: Scope, job: BackgroundJob, *, holder: str) -> None:
    """Delete a job that the holder still has; remaining work is recorded elsewhere."""
    await _sql.drop_background(connection, tenant_id=scope.tenant_id, job_id=job.job_id, holder=holder)


async def finish(
    connection: Connection, scope: Scope, job: BackgroundJob, *, holder: str, error: str, now: datetime
) -> None:
    """End a job that the holder still has: failed if `error` is set, else done."""
    await _sql.finish_background(
        connection, tenant_id=scope.tenant_id, job_id=job.job_id, holder=holder, error=error, now=now
    )


async def put_back(
    connection: Connection, scope: Scope, job: BackgroundJob, *, holder: str, error: str, not_before: datetime
) -> None:
    """Requeue a job; if another of its kind and subject waits already, end this one instead."""
    await _sql.put_back_background(
        connection,
        **scope.key,
        job_id=job.job_id,
        kind=job.kind,
        subject=job.subject,
        holder=holder,
        error=error,
        not_before=not_before,
    )
    await ready.announce(connection, scope, ready_at=not_before)


async def forget_error_details(connection: Connection, scope: Scope) -> None:
    """Cut the details off the errors of the owner's jobs: a provider's message may quote the request."""
    await _sql.forget_background_details(connection, **scope.key)


async def withdraw(connection: Connection, scope: Scope, kind: str, subject: str) -> None:
    """Delete the waiting job of a kind and subject, whose work was done elsewhere."""
    await _sql.withdraw_background(connection, **scope.key, kind=kind, subject=subject)


async def next_due(connection: Connection, scope: Scope) -> datetime | None:
    """Return when the scope's next background job falls due; None if there is none."""
    due: datetime | None = await _sql.next_background(connection, **scope.key)
    return due
