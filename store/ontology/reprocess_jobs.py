"""The queue of reprocess jobs, which apply a new version of a tenant's ontology to its pages.

Every function takes a connection inside a transaction of the tenant.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any
from uuid import UUID, uuid4

from store.db import queries
from store.db.queries import Connection, value_of

_sql = queries.load(__file__)
_END_OF_TIME = datetime.max.replace(tzinfo=UTC)


class ReprocessStatus(StrEnum):
    """The status of a job; the last three are final."""

    PENDING = "pending"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class ReprocessJob:
    """A job between two versions. `continuation_offset` counts the pages that are done, `continuation` is the place of the last.

    `attempt` counts the claims since its last progress; `fence` is the number of its claim.
    """

    job_id: UUID
    from_version: int
    to_version: int
    status: ReprocessStatus
    created_at: datetime
    change_set_id: UUID | None = None
    attempt: int = 0
    continuation_offset: int = 0
    impact: Mapping[str, Any] = field(default_factory=dict)
    metrics: Mapping[str, Any] = field(default_factory=dict)
    error: str = ""
    finished_at: datetime | None = None
    continuation: Mapping[str, Any] = field(default_factory=dict)
    fence: int = 0

    @property
    def named(self) -> dict[str, Any]:
        """The job and its claim as query parameters."""
        return {"job_id": self.job_id, "fence": self.fence}


@dataclass(frozen=True, slots=True)
class ReprocessWish:
    """A job to queue: its two versions, the change set that created the new one (None after a rollback), and its impact."""

    from_version: int
    to_version: int
    change_set_id: UUID | None = None
    impact: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ReprocessLease:
    """A worker's lease on a job: the holder, and its seconds, which begin again with each progress of the job."""

    holder: str
    duration_s: float


async def queue_reprocess(connection: Connection, tenant_id: UUID, wish: ReprocessWish, *, now: datetime) -> UUID:
    """Queue the job of a change set and version, and return its id; a repeated call returns the existing job."""
    source = wish.change_set_id or f"rollback-from-{wish.from_version}"
    dedupe_key = f"ontology:{tenant_id}:{source}:{wish.to_version}"
    named = {"tenant_id": tenant_id, "dedupe_key": dedupe_key}
    job_id = await _sql.insert_job(
        connection,
        **named,
        job_id=uuid4(),
        change_set_id=wish.change_set_id,
        from_version=wish.from_version,
        to_version=wish.to_version,
        impact=dict(wish.impact),
        now=now,
    )
    return job_id or await _sql.job_of_key(connection, **named)  # type: ignore[no-any-return]  # queries return Any


async def page(
    connection: Connection, tenant_id: UUID, *, limit: int, after: tuple[datetime, UUID] | None = None
) -> list[ReprocessJob]:
    """Return a page of the tenant's jobs, newest first, after the job with this instant and id."""
    before, after_id = after or (_END_OF_TIME, UUID(int=0))
    rows = await _sql.list_jobs(connection, tenant_id=tenant_id, before=before, after_id=after_id, limit=limit)
    return [value_of(ReprocessJob, row, status=ReprocessStatus(row["status"])) for row in rows]


async def claim(
    connection: Connection, tenant_id: UUID, lease: ReprocessLease, *, now: datetime
) -> ReprocessJob | None:
    """Claim the tenant's oldest due job, or one whose lease ran out, raising its fence; None if there is none."""
    until = now + timedelta(seconds=lease.duration_s)
    row = await _sql.claim_job(connection, tenant_id=tenant_id, holder=lease.holder, until=until, now=now)
    return row and value_of(ReprocessJob, row, status=ReprocessStatus(row["status"]))


async def hold(connection: Connection, tenant_id: UUID, job: ReprocessJob) -> bool:
    """Lock the job until the transaction ends, and return whether the claim is still valid."""
    return await _sql.hold_job(connection, tenant_id=tenant_id, **job.named) is not None


async def advance(connection: Connection, tenant_id: UUID, job: ReprocessJob, *, lease_until: datetime) -> None:
    """Record the job's progress, in the transaction that did the work."""
    reached = {"continuation": dict(job.continuation), "offset": job.continuation_offset, "metrics": dict(job.metrics)}
    await _sql.advance_job(connection, tenant_id=tenant_id, **job.named, **reached, until=lease_until)


async def release(connection: Connection, tenant_id: UUID, job: ReprocessJob, *, not_before: datetime) -> None:
    """Release the job for another claim; this one does not count as an attempt."""
    await _sql.release_job(connection, tenant_id=tenant_id, **job.named, not_before=not_before)


async def end(
    connection: Connection,
    tenant_id: UUID,
    job: ReprocessJob,
    status: ReprocessStatus,
    *,
    error: str = "",
    now: datetime,
) -> None:
    """End the job. `error` says why it failed or was cancelled."""
    ended = {"status": status.value, "error": error, "now": now}
    await _sql.end_job(connection, tenant_id=tenant_id, **job.named, **ended)


async def next_due(connection: Connection, tenant_id: UUID) -> datetime | None:
    """Return when the tenant's next job is due, or the lease of a running one ends; None if none waits."""
    due: datetime | None = await _sql.next_due(connection, tenant_id=tenant_id)
    return due
