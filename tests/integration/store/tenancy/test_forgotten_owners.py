"""Forgetting an owner empties every table of the owner, and touches no other owner."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from uuid import UUID

import asyncpg

from store.compile import scopes
from store.content import feed
from store.db.postgres import Pools, scoped
from store.scope import Scope
from store.tenancy import owners
from tests.integration.store.db.test_row_security import HOUSEMATE, MINE, _own
from tests.support.compiler.compiling import until_lock_wait
from tests.support.store.schema_rows import Table, fill, tenant_tables

NOW = datetime(2026, 3, 1, tzinfo=UTC)
# Outside row security, so that workers find work of every tenant: ids and an instant.
HINTS = Table("compile_ready", ())


async def rows_of(connection: asyncpg.Connection, tables: list[Table], owner_id: UUID) -> dict[str, int]:
    """Return how many rows each table has of an owner."""
    return {
        table.name: await connection.fetchval(f"SELECT count(*) FROM {table.name} WHERE owner_id = $1", owner_id)
        for table in tables
    }


async def forgotten(pools: Pools, scope: Scope) -> dict[str, int]:
    async with scoped(pools.background, scope) as connection:
        return await owners.forget(connection, scope)


async def test_forgotten_owner_leaves_no_row_in_any_owners_table(pools: Pools, database: str) -> None:
    connection = await asyncpg.connect(database)
    found = await tenant_tables(connection)
    tables = [table for table in found if table.has_owner]
    await fill(connection, found, _own(MINE, 0))
    await fill(connection, tables, _own(HOUSEMATE, 2))
    for scope in (MINE, HOUSEMATE):
        hint = "INSERT INTO compile_ready (tenant_id, owner_id, ready_at) VALUES ($1, $2, $3)"
        await connection.execute(hint, scope.tenant_id, scope.owner_id, NOW)
    before = await rows_of(connection, [*tables, HINTS], MINE.owner_id)
    theirs = await rows_of(connection, [*tables, HINTS], HOUSEMATE.owner_id)
    assert set(before.values()) == {1}, before
    counts = await forgotten(pools, MINE)
    after = await rows_of(connection, [*tables, HINTS], MINE.owner_id)
    assert not {name: count for name, count in after.items() if count}
    assert counts.keys() == before.keys() - {"usage_reports"}  # those go with their receipts
    assert await rows_of(connection, [*tables, HINTS], HOUSEMATE.owner_id) == theirs
    await connection.close()


async def test_unknown_owner_is_forgotten_without_an_error(pools: Pools, database: str) -> None:
    connection = await asyncpg.connect(database)
    await fill(connection, [one for one in await tenant_tables(connection) if one.name == "tenants"], _own(MINE, 0))
    await connection.close()
    assert await forgotten(pools, MINE) == {}
    connection = await asyncpg.connect(database)
    for table in await tenant_tables(connection):
        count = await connection.fetchval(f"SELECT count(*) FROM {table.name}")
        kept = {"tenants": 1, "forgotten_refs": 2}  # receipts of turns under way are left out by these notes
        assert count == kept.get(table.name, 0), table.name
    await connection.close()


async def test_owner_is_forgotten_in_a_database_without_vectors(pools: Pools, database: str) -> None:
    connection = await asyncpg.connect(database)
    await fill(connection, await tenant_tables(connection), _own(MINE, 0))
    await connection.execute("DROP EXTENSION vector CASCADE; DROP TABLE embedders, turn_vectors, memory_vectors")
    await connection.execute("DROP TABLE chunk_vectors, section_vectors, page_vectors")
    counts = await forgotten(pools, MINE)
    assert counts["memories"] == counts["turns"] == 1
    assert not await connection.fetchval("SELECT count(*) FROM memories WHERE owner_id = $1", MINE.owner_id)
    await connection.close()


async def test_owner_is_forgotten_during_a_write_without_a_deadlock(pools: Pools, database: str) -> None:
    watcher = await asyncpg.connect(database)
    await fill(watcher, await tenant_tables(watcher), _own(MINE, 0))
    async with scoped(pools.turn, MINE) as connection:
        await feed.hold(connection, MINE)
        forgetting = asyncio.create_task(forgotten(pools, MINE))
        await until_lock_wait(database)
        await scopes.lock(connection, MINE, now=NOW)
    assert (await forgetting)["memory_feeds"] == 1
    await watcher.close()
