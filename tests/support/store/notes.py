"""A small table under row security, its owners, and queries for a connection's role and scope, for tests of transactions."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any
from uuid import uuid4

import asyncpg
import pytest

from store.db.postgres import Pools, PoolsConfig, installation, open_pools
from store.db.queries import Connection
from store.scope import Scope
from tests.support.waiting import PATIENCE_S, until_equal

ADA = Scope(uuid4(), uuid4())
BOB = Scope(ADA.tenant_id, uuid4())
EVE = Scope(uuid4(), uuid4())
CONFIG = PoolsConfig(turn_connections=2, background_connections=2, turn_wait_s=30.0, turn_acquire_deadline_s=30.0)

SCHEMA = """
DO $$ BEGIN
    CREATE ROLE sidecar_app; EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL;
END $$;
DO $$ BEGIN
    CREATE ROLE sidecar_worker; EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL;
END $$;
CREATE TABLE notes (
    tenant_id uuid NOT NULL, owner_id uuid, note_id integer, body text, facts jsonb, parent integer,
    PRIMARY KEY (tenant_id, note_id), FOREIGN KEY (tenant_id, parent) REFERENCES notes,
    CONSTRAINT short_body CHECK (length(body) < 100)
);
ALTER TABLE notes ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON notes USING (
    tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid
    AND (owner_id IS NULL OR owner_id = nullif(current_setting('app.owner_id', true), '')::uuid)
);
GRANT SELECT, INSERT, UPDATE, DELETE ON notes TO sidecar_app, sidecar_worker;
"""
OURS = "FROM pg_stat_activity WHERE datname = current_database()"  # tests share the server
IN_FORCE = "SELECT current_user, current_setting('app.tenant_id', true), current_setting('app.owner_id', true)"
INSERT = "INSERT INTO notes (tenant_id, owner_id, note_id, body, facts, parent) VALUES ($1, $2, $3, $4, $5, $6)"


@pytest.fixture(name="dsn")
async def dsn_fixture(empty_database: str) -> str:
    connection = await asyncpg.connect(empty_database)
    await connection.execute(SCHEMA)
    await connection.close()
    return empty_database


@pytest.fixture(name="opened")
async def opened_fixture(dsn: str) -> AsyncIterator[Pools]:
    pools = await open_pools(dsn, CONFIG)
    yield pools
    await pools.close()


async def insert(connection: Connection, scope: Scope, note_id: int, **columns: Any) -> None:
    values = {"body": "", "facts": None, "parent": None, **columns}
    await connection.execute(
        INSERT, scope.tenant_id, scope.owner_id, note_id, values["body"], values["facts"], values["parent"]
    )


async def in_force(connection: Connection) -> tuple[Any, ...]:
    """Return the role, tenant and owner that the connection acts for."""
    row = await connection.fetchrow(IN_FORCE)
    assert row is not None
    return tuple(row)


async def note_ids(connection: Connection) -> list[int]:
    return [row["note_id"] for row in await connection.fetch("SELECT note_id FROM notes ORDER BY note_id")]


async def as_admin(dsn: str, query: str, *arguments: object) -> Any:
    connection = await asyncpg.connect(dsn)
    try:
        return await connection.fetchval(query, *arguments)
    finally:
        await connection.close()


async def wait_until_active(dsn: str, query: str, count: int = 1) -> None:
    """Wait until the server runs this many queries that begin so."""
    active = f"SELECT count(*) {OURS} AND state = 'active' AND query LIKE $1 || '%'"
    await until_equal(lambda: as_admin(dsn, active, query), count, PATIENCE_S)


async def assert_clean(pools: Pools, size: int = CONFIG.turn_connections) -> None:
    """Every connection of the turn pool can be had at once, and none remembers a scope."""
    transactions = [installation(pools.turn) for _ in range(size)]
    for transaction in transactions:
        connection = await transaction.__aenter__()
        role, tenant, owner = await in_force(connection)
        assert (role, tenant or "", owner or "") == ("sidecar_app", "", "")
    for transaction in transactions:
        await transaction.__aexit__(None, None, None)


MOST_STATEMENT_CHARS = 3 << 20  # a share's text and its search words, with room


class Noting:
    """A connection that notes how many characters each of its statements carries."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.chars: list[int] = []

    async def fetch(self, sql: str, *values: object) -> list[asyncpg.Record]:
        return await self._connection.fetch(sql, *self._noted(values))

    async def fetchrow(self, sql: str, *values: object) -> asyncpg.Record | None:
        return await self._connection.fetchrow(sql, *self._noted(values))

    async def fetchval(self, sql: str, *values: object) -> Any:
        return await self._connection.fetchval(sql, *self._noted(values))

    async def execute(self, sql: str, *values: object) -> str:
        return await self._connection.execute(sql, *self._noted(values))

    def _noted(self, values: tuple[object, ...]) -> tuple[object, ...]:
        columns = [value for value in values if isinstance(value, list)]
        self.chars.append(sum(len(text) for column in columns for text in column if isinstance(text, str)))
        return values
