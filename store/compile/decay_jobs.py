"""The queue of decay jobs: scheduling, claims with a lease and a fencing token, ends.

Every function takes a connection inside a transaction of the scope that is passed.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
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


class DecayKind(StrEnum):
    """The kind of a job: compress candidates or episodes, or list expired accepted principles."""

    CANDIDATES = "candidate_compression"
    EPISODES = "episode_compression"
    REVIEW = "expired_principle_review"


class SummaryMethod(StrEnum):
    """How a job makes its summary; a review makes none."""

    DETERMINISTIC = "deterministic_concatenate"
    LLM = "llm_summary"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class DecayJob:
    """A job with its sources in order, and the policy and inputs by which they were chosen, frozen when it was scheduled.

    `result_id` is the id of its summary, `failure` the reason if it failed, `findings` the results of a review: pairs of a memory
    and an instant in ISO 8601.
    """

    job_id: UUID
    source_ids: tuple[str, ...]
    created_at: datetime
    scheduled_for: datetime
    policy: Mapping[str, Any] = field(default_factory=dict)
    kind: DecayKind = DecayKind.CANDIDATES
    summary_method: SummaryMethod = SummaryMethod.DETERMINISTIC
    state: DecayJobState = DecayJobState.PENDING
    ended_at: datetime | None = None
    fencing_token: int = 0
    result_id: str = ""
    failure: str = ""
    findings: tuple[Mapping[str, str], ...] = ()


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
    connection: Connection,
    scope: Scope,
    methods: Collection[SummaryMethod],
    *,
    now: datetime,
    lease_until: datetime,
    job_id: UUID | None = None,
) -> DecayJob | None:
    """Claim a job of one of the methods: the given one, though it may not be due, or the oldest that is due; else None."""
    named = {"methods": [one.value for one in methods], "job_id": job_id}
    row = await _sql.claim_job(connection, **scope.key, **named, now=now, lease_until=lease_until)
    return row and _job(row)


async def end(connection: Connection, scope: Scope, job: DecayJob) -> bool:
    """Write the job's final state, result and failure; return False if another process took it over."""
    outcome = {
        "state": job.state.value,
        "result_id": job.result_id,
        "failure": job.failure,
        "findings": list(map(dict, job.findings)),
        "now": job.ended_at,
    }
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


async def next_due(connection: Connection, scope: Scope) -> datetime | None:
    """Return when the owner's next job is due, or when the lease of a running one ends; None if none waits."""
    due: datetime | None = await _sql.next_due(connection, **scope.key)
    return due


async def aged_candidates(
    connection: Connection, scope: Scope, *, before: datetime, reads_since: datetime, limit: int
) -> list[AgedCandidate]:
    """Return candidates from before an instant that are no summaries, in no summary and in no waiting job, oldest first.

    Their reads are counted in the owner's newest 5,000 receipts since `reads_since`.
    """
    rows = await _sql.aged_candidates(connection, **scope.key, before=before, reads_since=reads_since, limit=limit)
    return [AgedCandidate(**dict(row)) for row in rows]


async def owners_due_decay(connection: Connection, *, before: datetime, day: date, limit: int) -> list[Scope]:
    """Return owners with candidates from before an instant whose candidates were not reviewed on the day, at most `limit`."""
    rows = await _sql.owners_due_decay(connection, before=before, day=day, limit=limit)
    return [Scope(row["tenant_id"], row["owner_id"]) for row in rows]


async def begin_day(connection: Connection, scope: Scope, day: date) -> bool:
    """Record that the owner's candidates are reviewed on the day; return False if they were already, on it or a later day."""
    return await _sql.begin_day(connection, **scope.key, day=day) is not None


async def expired_principles(
    connection: Connection, scope: Scope, *, memory_ids: Sequence[str], age_days: int, now: datetime
) -> list[dict[str, str]]:
    """Return the expired ones of the given accepted principles, or of all: each id, and when it expired. A principle expires
    `age_days` days after it was said, or at the end of its validity if that is earlier.
    """
    parameters = {"memory_ids": list(memory_ids), "age_days": age_days, "now": now}
    rows = await _sql.expired_principles(connection, **scope.key, **parameters)
    return [{"memory_id": row["memory_id"], "expired_at": row["expired_at"].isoformat()} for row in rows]


async def forget_sources(connection: Connection, scope: Scope, memory_ids: Sequence[str]) -> None:
    """Take forgotten memories out of every job."""
    await _sql.forget_sources(connection, **scope.key, memory_ids=list(memory_ids))


def _job(row: Any) -> DecayJob:
    named = {
        "kind": DecayKind(row["kind"]),
        "summary_method": SummaryMethod(row["summary_method"]),
        "state": DecayJobState(row["state"]),
    }
    listed = {name: tuple(row[name]) for name in ("source_ids", "findings")}
    return DecayJob(**{**dict(row), **named, **listed})
