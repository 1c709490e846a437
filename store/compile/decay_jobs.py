"""The queue of decay jobs: scheduling, claims with a lease and a fencing token, ends.

Every function takes a connection inside a transaction of the scope that is passed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from store.content.tiers import AgedCandidate
from store.db import queries
from store.db.queries import Connection
from store.scope import Scope

_sql = queries.load(__file__)
_END_OF_TIME, _LAST_ID = datetime.max.replace(tzinfo=UTC), UUID(int=2**128 - 1)


class DecayJobState(StrEnum):
    """The state of a job; the last three are final."""

    PENDING = "pending"
    IN_PROGRESS = "in_progress"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class DecayJob:
    """A job with the sources to compress, in order. `result_id` is its summary's, `failure` the reason of a failed one."""

    job_id: UUID
    source_ids: tuple[str, ...]
    created_at: datetime
    scheduled_for: datetime
    policy: Mapping[str, Any] = field(default_factory=dict)
    kind: str = "candidate_compression"
    summary_method: str = "deterministic_concatenate"
    state: DecayJobState = DecayJobState.PENDING
    ended_at: datetime | None = None
    fencing_token: int = 0
    result_id: str = ""
    failure: str = ""


async def insert(connection: Connection, scope: Scope, job: DecayJob) -> None:
    """Insert a job that waits until `scheduled_for`; one with the same id stays as it is."""
    await _sql.insert_job(
        connection,
        **scope.key,
        job_id=job.job_id,
        kind=job.kind,
        summary_method=job.summary_method,
        source_ids=list(job.source_ids),
        policy=dict(job.policy),
        scheduled_for=job.scheduled_for,
        created_at=job.created_at,
    )


async def claim(
    connection: Connection, scope: Scope, *, now: datetime, lease_until: datetime, job_id: UUID | None = None
) -> DecayJob | None:
    """Claim a job: the given one, though it may not be due, or the oldest that is due. None if there is none to claim."""
    row = await _sql.claim_job(connection, **scope.key, job_id=job_id, now=now, lease_until=lease_until)
    return row and _job(row)


async def end(connection: Connection, scope: Scope, job: DecayJob) -> bool:
    """Write the job's final state, result and failure; False if another process took it over."""
    outcome = {"state": job.state.value, "result_id": job.result_id, "failure": job.failure, "now": job.ended_at}
    held = {"job_id": job.job_id, "fencing_token": job.fencing_token}
    return await _sql.end_job(connection, **scope.key, **held, **outcome) is not None


async def cancel(connection: Connection, scope: Scope, job_id: UUID, *, now: datetime) -> None:
    """Cancel a job that has not started; any other stays."""
    await _sql.cancel_job(connection, **scope.key, job_id=job_id, now=now)


async def get(connection: Connection, scope: Scope, job_id: UUID) -> DecayJob | None:
    """Return one job, or None."""
    row = await _sql.get_job(connection, **scope.key, job_id=job_id)
    return row and _job(row)


async def page(
    connection: Connection, scope: Scope, *, limit: int, before: tuple[datetime, UUID] | None = None
) -> list[DecayJob]:
    """Return a page of the owner's jobs, newest first."""
    before_at, before_id = before or (_END_OF_TIME, _LAST_ID)
    rows = await _sql.list_jobs(connection, **scope.key, before=before_at, before_id=before_id, limit=limit)
    return [_job(row) for row in rows]


async def aged_candidates(connection: Connection, scope: Scope, *, before: datetime, limit: int) -> list[AgedCandidate]:
    """Return candidates from before an instant that are no summaries, in no summary and in no waiting job, oldest first."""
    rows = await _sql.aged_candidates(connection, **scope.key, before=before, limit=limit)
    return [AgedCandidate(**dict(row)) for row in rows]


async def forget_sources(connection: Connection, scope: Scope, memory_ids: Sequence[str]) -> None:
    """Take forgotten memories out of every job."""
    await _sql.forget_sources(connection, **scope.key, memory_ids=list(memory_ids))


def _job(row: Any) -> DecayJob:
    known = dict(row)
    return DecayJob(**{**known, "source_ids": tuple(known["source_ids"]), "state": DecayJobState(known["state"])})
