"""Purges the other servers of a Citus cluster, which hold the tenants' rows. The coordinator tells each of them what to do."""

from __future__ import annotations

from dataclasses import dataclass

from store.db import queries
from store.db.queries import Connection

_sql = queries.load(__file__)
_REFUSED = "may not clear the log"  # what the query raises if the role lacks a right


@dataclass(frozen=True, slots=True)
class ServersReport:
    """The result on the other servers: those purged, those not purged, each with the reason, and steps refused to the role."""

    purged: tuple[str, ...] = ()
    unpurged: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()


async def purge_servers(connection: Connection) -> ServersReport:
    """Purge every other server, all at the same time. If a step fails on one, stop: the next purge repeats all steps."""
    servers: tuple[str, ...] = ()
    steps = (
        _sql.wait_on_servers,
        _sql.rewrite_tables_on_servers,
        _sql.wait_on_servers,
        _sql.rewrite_statistics_on_servers,
        _sql.clear_log_on_servers,
    )
    for step in steps:
        rows = list(await step(connection))
        servers = tuple(row["server"] for row in rows)
        failed = {row["server"]: row["result"] for row in rows if not row["success"]}
        refused = tuple(f"log of {server}" for server, result in failed.items() if result.endswith(_REFUSED))
        unpurged = tuple(f"{server}: {result}" for server, result in failed.items() if not result.endswith(_REFUSED))
        if unpurged:
            return ServersReport((), unpurged)
    return ServersReport(servers, (), refused)
