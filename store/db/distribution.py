"""Spreads a migrated database over the servers of a Citus cluster, by tenant. Safe to repeat: spread tables are not changed.

Needs a direct connection to the coordinator, as the owner of the schema and a superuser; the extension and the servers are
the operator's (docs/scaling.md). A database on one server needs none of this and is never changed by it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from graphlib import TopologicalSorter

import asyncpg

from store.db import queries
from store.db.migrate import take_lock
from store.db.placements import DISTRIBUTED
from store.db.postgres import DatabaseRole, Pool, direct, has_citus, installation
from store.errors import DRIVER_ERRORS, DistributionFailed, NotACluster, from_driver

_sql = queries.load(__file__)
_FIRST = "tenants"


@dataclass(frozen=True, slots=True)
class DistributionReport:
    """The result of `distribute`: servers with shards, tables spread now, and the number spread before."""

    servers: int
    distributed: tuple[str, ...]
    before: int


@dataclass(frozen=True, slots=True)
class ShardServer:
    """A server of the cluster, how many of the shards of tenants it holds, and the roles that it does not answer."""

    address: str
    shards: int
    of_shards: int
    unanswered: tuple[DatabaseRole, ...]


async def distribute(dsn: str) -> DistributionReport:
    """Spread every table of `placements` that is not spread yet, and return the report.

    Raises NotACluster on a plain Postgres, DistributionFailed with the table, DatabaseUnavailable, DatabaseRefused.
    """
    async with direct(dsn) as connection:
        try:
            await take_lock(connection)
            return await _distribute(connection)
        except DRIVER_ERRORS as error:
            raise from_driver(error) from error


async def check(dsn: str) -> None:
    """Check that the tables of a database can be spread, and change nothing. Raises as `distribute` does."""
    async with direct(dsn) as connection:
        try:
            await _servers(connection)
        except DRIVER_ERRORS as error:
            raise from_driver(error) from error


async def shard_servers(pool: Pool) -> list[ShardServer]:
    """Return the servers that hold the tenants' rows, as the coordinator reaches them; none on a plain Postgres.

    Raises the errors of a transaction.
    """
    if not pool.is_spread:
        return []
    found: list[ShardServer] = []
    for role in DatabaseRole:
        async with installation(pool, role=role, read_only=True) as connection:
            await _sql.wait_briefly_for_servers(connection)
            rows = list(await _sql.shard_servers(connection))
        found = found or [ShardServer(row["address"], row["shards"], row["of_shards"], ()) for row in rows]
        silent = {row["address"] for row in rows if not row["answers"]}
        found = [replace(one, unanswered=(*one.unanswered, role)) if one.address in silent else one for one in found]
    return found


async def _servers(connection: asyncpg.Connection[asyncpg.Record]) -> int:
    """Return how many servers hold shards. Raises NotACluster if none does."""
    if not await has_citus(connection):
        raise NotACluster("there is no extension citus in this database")
    servers: int = await _sql.worker_nodes(connection)
    if not servers:
        raise NotACluster("no server of the cluster holds shards; add one with citus_add_node()")
    return servers


async def _distribute(connection: asyncpg.Connection[asyncpg.Record]) -> DistributionReport:
    servers = await _servers(connection)
    spread = {row["table_name"] for row in await _sql.spread_tables(connection)}
    await _prepare(connection)
    links = [(row["child"], row["parent"]) for row in await _sql.foreign_keys(connection)]
    distributed = [table for table in in_order(DISTRIBUTED, links) if table not in spread]
    for table in distributed:
        await _spread(connection, table)
    await _sql.index_pages_at_once(connection)
    await _sql.index_sections_at_once(connection)
    return DistributionReport(servers, tuple(distributed), len(spread & DISTRIBUTED))


def in_order(tables: Iterable[str], links: Iterable[tuple[str, str]]) -> list[str]:
    """Return the tables, each after those that it refers to; the table of tenants is the first. `links` are (child, parent)."""
    wanted = sorted(tables)
    parents: Mapping[str, set[str]] = {table: {_FIRST} - {table} for table in wanted}
    for child, parent in links:
        if child in parents and parent in parents:
            parents[child].add(parent)
    return list(TopologicalSorter(parents).static_order())


async def _prepare(connection: asyncpg.Connection[asyncpg.Record]) -> None:
    await _sql.let_roles_log_in(connection)
    refused = [row["result"] for row in await _sql.settings_of_nodes(connection) if not row["success"]]
    if refused:
        raise DistributionFailed(f"the settings of the servers: {refused[0]}")
    await _sql.spread_search(connection)


async def _spread(connection: asyncpg.Connection[asyncpg.Record], table: str) -> None:
    try:
        await _sql.distribute_table(connection, table_name=table, beside="default" if table == _FIRST else _FIRST)
    except asyncpg.PostgresError as error:
        raise DistributionFailed(f"{table}: {error}") from error
