"""Purges deleted rows from the database's files, on a Citus cluster those of every server.

A deleted row's bytes stay in their page, in the indexes, in the log and in the planner's samples until something overwrites
them. A purge rewrites the tables and removes the log's old files. Forgettings request it; it waits for
sessions that may still see the rows.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

import asyncpg

from store.db import orphaned_files, queries
from store.db.postgres import direct, has_citus
from store.db.purging_servers import ServersReport, purge_servers
from store.db.queries import Connection
from store.errors import driver_errors

_sql = queries.load(__file__)
_MOST_TRIES = 30
_PAUSE_S = 1.0
_MOST_SEGMENTS = 200


@dataclass(frozen=True, slots=True)
class PurgeReport:
    """The result of a purge: requests settled and left, tables rewritten and in use, and steps refused to the role. Nothing was
    done if another purge is running (`is_elsewhere`). On a cluster, the tables are the coordinator's; `servers` are the others
    that were purged, and `unpurged` those that were not, each with the reason.
    """

    settled: int = 0
    left: int = 0
    tables: tuple[str, ...] = ()
    busy: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    is_elsewhere: bool = False
    servers: tuple[str, ...] = ()
    unpurged: tuple[str, ...] = ()

    @property
    def is_complete(self) -> bool:
        """Whether nothing is left to do or was refused."""
        return not (self.left or self.busy or self.refused or self.is_elsewhere or self.unpurged)


async def request(connection: Connection, *, now: datetime) -> None:
    """Request a purge of the rows that the open transaction deletes."""
    await _sql.request_purge(connection, now=now)


async def purge(dsn: str, *, is_forced: bool = False, pgdata: Path | None = None) -> PurgeReport:
    """Purge the rows of requests that no session sees any more; without requests, do nothing.

    `is_forced` purges without a request too. Each table is rewritten and locked in its own transaction;
    a table that stays in use for half a minute is left for the next purge, with all requests. Needs the owner of the tables.
    If the server's directory `pgdata` is on this machine, files that a killed rewrite left behind are emptied too.
    Raises DatabaseUnavailable, DatabaseRefused.
    """
    async with direct(dsn) as connection:
        with driver_errors():
            return await _purge(connection, pgdata, is_forced=is_forced)


async def _purge(connection: Connection, pgdata: Path | None, *, is_forced: bool) -> PurgeReport:
    if not await _sql.take_purge(connection):
        return PurgeReport(is_elsewhere=True)
    rows = await _sql.requested(connection)
    due = [row["requested_by"] for row in rows if not row["is_seen"]]
    if not due and not is_forced:
        return PurgeReport(left=len(rows))
    await _sql.wait_briefly(connection)
    others = await purge_servers(connection) if await has_citus(connection) else ServersReport()
    if others.unpurged:
        return PurgeReport(left=len(rows), unpurged=others.unpurged)
    report = await _purge_here(connection, pgdata, waiting=len(rows), due=due)
    return replace(report, refused=(*report.refused, *others.refused), servers=others.purged)


async def _purge_here(connection: Connection, pgdata: Path | None, *, waiting: int, due: list[str]) -> PurgeReport:
    """Purge the connection's server, and settle the due requests of all that wait."""
    tables = [row["table_name"] for row in await _sql.tables_with_texts(connection)]
    try:
        busy = [table for table in tables if not await _is_rewritten(connection, table)]
    except asyncpg.InsufficientPrivilegeError:
        return PurgeReport(left=waiting, refused=("tables",))
    if not await _is_unseen(connection, str(await _sql.mark(connection))):
        busy.append("pg_statistic")
    refused, in_use = await _clear_rest(connection)
    busy += set(in_use) - set(busy)
    if pgdata and not await orphaned_files.empty(connection, pgdata):
        busy.append("pg_class")
    if busy:
        return PurgeReport(0, waiting, tuple(table for table in tables if table not in busy), tuple(busy), refused)
    await _sql.settle_requests(connection, requests=due)
    return PurgeReport(len(due), waiting - len(due), tuple(tables), (), refused)


async def _is_rewritten(connection: Connection, table: str) -> bool:
    for _ in range(_MOST_TRIES):
        try:
            await _sql.rewrite_table(connection, table_name=table)
        except (asyncpg.LockNotAvailableError, asyncpg.DeadlockDetectedError):
            continue
        return True
    return False


async def _is_unseen(connection: Connection, mark: str) -> bool:
    """Wait until no session sees the planner's old samples any more, half a minute at most; return whether that is so."""
    for _ in range(_MOST_TRIES):
        if not await _sql.is_seen_before(connection, mark=mark):
            return True
        await asyncio.sleep(_PAUSE_S)
    return False


async def _clear_rest(connection: Connection) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Clear the samples and the log. Return the steps that the role may not do, which the server's operator must do, and the
    tables in use.
    """
    refused, in_use = [], []
    for name, clear in (("planner samples", _sql.rewrite_statistics), ("log", _clear_log)):
        try:
            await clear(connection)
        except asyncpg.InsufficientPrivilegeError:
            refused.append(name)
        except (asyncpg.LockNotAvailableError, asyncpg.DeadlockDetectedError):
            in_use.append("pg_statistic")
    return tuple(refused), tuple(in_use)


async def _clear_log(connection: Connection) -> None:
    """Fill the log's recycled files, which still hold their old contents, and remove old files."""
    for _ in range(_MOST_SEGMENTS):
        await _sql.switch_log(connection)
        if not await _sql.waiting_segments(connection):
            break
    await _sql.checkpoint(connection)
