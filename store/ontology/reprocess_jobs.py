"""The queue of reprocess jobs, which bring a tenant's pages from one version of its ontology to the next.

Every function takes a connection inside a transaction of the tenant.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
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
    """A job between two versions. `continuation_offset` counts the pages that are done."""

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


@dataclass(frozen=True, slots=True)
class ReprocessWish:
    """The job to queue: between which versions, the change set that made the new one (None after a rollback), and its impact."""

    from_version: int
    to_version: int
    change_set_id: UUID | None = None
    impact: Mapping[str, Any] = field(default_factory=dict)


async def queue_reprocess(connection: Connection, tenant_id: UUID, wish: ReprocessWish, *, now: datetime) -> UUID:
    """Queue the job of a change set and version, and return its id; a repeat gets the job that is there."""
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
