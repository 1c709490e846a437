"""Counts of compile jobs over all tenants: the part of the compile state that the installation's operator may see."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from store.db import queries
from store.db.queries import Connection

_sql = queries.load(__file__)


@dataclass(frozen=True, slots=True)
class JobsStanding:
    """The number of jobs in a status, and when the oldest was queued."""

    status: str
    job_count: int
    oldest_at: datetime


async def of_compiles(connection: Connection) -> list[JobsStanding]:
    """Return the counts of waiting, running and failed jobs over all tenants."""
    rows = await _sql.compile_standing(connection)
    return [JobsStanding(row["status"], row["job_count"], row["oldest_at"]) for row in rows]
