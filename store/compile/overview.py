"""Queries of the operator views: quarantined memories, growth of a wiki, jobs by instant and status, place of a turn or chunk.

Every function takes a connection inside a scoped transaction, except `job_counts`. Only `retry` writes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from uuid import UUID

from store.compile import ledger
from store.db import queries
from store.db.queries import Connection
from store.scope import Scope

_sql = queries.load(__file__)

MOST_CHARS = 400
MOST_RETRIED = 1_000


@dataclass(frozen=True, slots=True)
class QuarantinedRow:
    """A quarantined memory, the reason, and the start of its text; None if the text is kept elsewhere."""

    memory_id: str
    reason: str
    updated_at: datetime
    occurred_at: datetime
    text: str | None


@dataclass(frozen=True, slots=True)
class JobCount:
    """The number of jobs in a status, and when the oldest was queued."""

    status: str
    job_count: int
    oldest_at: datetime


@dataclass(frozen=True, slots=True)
class Grown:
    """A wiki at the end of a day (UTC), counting what still exists: active pages, those with a reference link, and links."""

    day: date
    pages: int
    linked: int
    links: int

    @property
    def share(self) -> float:
        """The share of pages with a reference link, 0 to 1."""
        return self.linked / self.pages if self.pages else 0.0


@dataclass(frozen=True, slots=True)
class Cited:
    """How often pages began to cite a memory: counts of some pages, the total, and the number of such pages."""

    by_page: Mapping[UUID, int]
    whole: int
    pages: int


@dataclass(frozen=True, slots=True)
class ChunkThere:
    """A chunk of a document as stored now."""

    chunk_id: UUID
    position: int
    heading: str
    page: int | None
    text: str
    title: str
    path: str
    chunk_count: int


async def quarantined(connection: Connection, scope: Scope, *, after: str = "", limit: int) -> list[QuarantinedRow]:
    """Return quarantined memories in order of id, after id `after`, with the first 400 characters of each text."""
    rows = await _sql.quarantined(connection, **scope.key, after=after, limit=limit, most_chars=MOST_CHARS)
    return [QuarantinedRow(**row) for row in rows]


async def quarantine_reasons(connection: Connection, scope: Scope) -> dict[str, int]:
    """Return how many memories are quarantined, by reason, the most frequent first."""
    return {row["reason"]: row["memories"] for row in await _sql.quarantine_reasons(connection, **scope.key)}


async def retry(connection: Connection, scope: Scope, memory_ids: Sequence[str] = (), *, now: datetime) -> int:
    """Queue quarantined memories for the next compile, MOST_RETRIED at most, and return how many.

    Without ids it takes the first ones; ids of memories that are not quarantined are ignored.
    """
    wanted = list(memory_ids) or None
    rows = await _sql.quarantined_ids(connection, **scope.key, memory_ids=wanted, limit=MOST_RETRIED)
    return await ledger.queue_reread(connection, scope, [row["memory_id"] for row in rows], now=now)


async def growth(connection: Connection, scope: Scope) -> list[Grown]:
    """Return one value for each day on which the wiki grew, oldest first."""
    links = {row["day"]: row["made"] for row in await _sql.links_by_day(connection, **scope.key)}
    pages = {row["day"]: (row["made"], row["linked"]) for row in await _sql.pages_by_day(connection, **scope.key)}
    grown, made, linked, linking = [], 0, 0, 0
    for day in sorted(links.keys() | pages.keys()):
        more_pages, more_linked = pages.get(day, (0, 0))
        made, linked, linking = made + more_pages, linked + more_linked, linking + links.get(day, 0)
        grown.append(Grown(day, made, linked, linking))
    return grown


async def jobs_at(connection: Connection, scope: Scope, instants: Sequence[datetime]) -> dict[datetime, UUID]:
    """Return the compile job that ran at each instant; instants without one are left out."""
    rows = await _sql.jobs_at(connection, **scope.key, instants=list(instants))
    return {row["at"]: row["job_id"] for row in rows}


async def instant_of_turn(connection: Connection, scope: Scope, nth: int) -> datetime | None:
    """Return the time of the owner's nth newest turn, counted from 0; None if there are fewer."""
    instant: datetime | None = await _sql.instant_of_turn(connection, **scope.key, nth=nth)
    return instant


async def cited_since(
    connection: Connection, scope: Scope, *, since: datetime, page_ids: Sequence[UUID], limit: int
) -> Cited:
    """Return how often pages began to cite a memory since an instant: for `page_ids` and the `limit` pages with the most."""
    rows = await _sql.cited_since(connection, **scope.key, since=since, page_ids=list(page_ids), limit=limit)
    by_page = {row["page_id"]: row["citations"] for row in rows}
    return Cited(by_page, rows[0]["whole"] if rows else 0, rows[0]["pages"] if rows else 0)


async def place_of_turn(connection: Connection, scope: Scope, turn_id: UUID) -> tuple[str, int] | None:
    """Return a turn's thread and its position there; None if the owner has no such turn."""
    row = await _sql.place_of_turn(connection, **scope.key, turn_id=turn_id)
    return row and (row["thread_id"], row["position"])


async def chunk_around(
    connection: Connection, tenant_id: UUID, chunk_id: UUID, *, around: int = 1, among: Sequence[UUID] | None = None
) -> list[ChunkThere]:
    """Return a chunk with its neighbours; empty if it is gone, or if `among` is given and does not hold its base."""
    rows = await _sql.chunk_around(connection, tenant_id=tenant_id, chunk_id=chunk_id, around=around, among=among)
    return [ChunkThere(**row) for row in rows]


async def job_counts(connection: Connection) -> list[JobCount]:
    """Return the counts of waiting, running and failed jobs over all tenants."""
    rows = await _sql.job_counts(connection)
    return [JobCount(row["status"], row["job_count"], row["oldest_at"]) for row in rows]
