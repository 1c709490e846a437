"""How the compile stands over all tenants, in counts: what an operator of the installation may see of it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from store.db import queries
from store.db.queries import Connection

_sql = queries.load(__file__)


@dataclass(frozen=True, slots=True)
class JobsStanding:
    """How many jobs of a status there are, and when the oldest was queued."""

    status: str
    job_count: int
    oldest_at: datetime


async def of_compiles(connection: Connection) -> list[JobsStanding]:
    """Return the standing of jobs that wait, run or failed, over all tenants."""
    rows = await _sql.compile_standing(connection)
    return [JobsStanding(row["status"], row["job_count"], row["oldest_at"]) for row in rows]
