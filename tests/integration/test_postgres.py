"""Transactions carry their scope and nothing else does; whatever breaks them, the pool stays whole."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any
from uuid import UUID, uuid4

import asyncpg
import pytest
import uvloop

from store.errors import (
    AccessRefused,
    AlreadyExists,
    DatabaseBusy,
    DatabaseRefused,
    DatabaseUnavailable,
    QueryTimeout,
    ReferenceMissing,
    SchemaOutdated,
    ServerUnsuitable,
    StoreError,
    TransactionAborted,
    TransactionConflict,
    UnexpectedDatabaseError,
    UnstorableValue,
)
from store.notices import Listener, Notice, listen
from store.postgres import (
    Pools,
    PoolsConfig,
    Role,
    check_server,
    installation,
    open_pools,
    scoped,
    tenant_scoped,
)
from store.queries import Connection, Json
from store.scope import Scope

ADA = Scope(uuid4(), uuid4())
BOB = Scope(ADA.tenant_id, uuid4())
EVE = Scope(uuid4(), uuid4())
PATIENCE_S = 30
CONFIG = PoolsConfig(turn_connections=2, background_connections=2, turn_acquire_deadline_s=5.0)

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
IN_FORCE = "SELECT current_user, current_setting('app.tenant_id', true), current_setting('app.owner_id', true)"
INSERT = "INSERT INTO notes (tenant_id, owner_id, note_id, body, facts, parent) VALUES ($1, $2, $3, $4, $5, $6)"


@pytest.fixture
async def dsn(empty_database: str) -> str:
    connection = await asyncpg.connect(empty_database)
    await connection.execute(SCHEMA)
    await connection.close()
    return empty_database


@pytest.fixture
async def opened(dsn: str) -> AsyncIterator[Pools]:
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
    active = "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND query LIKE $1 || '%'"
    async with asyncio.timeout(PATIENCE_S):
        while await as_admin(dsn, active, query) != count:
            pass


async def assert_clean(pools: Pools, size: int = CONFIG.turn_connections) -> None:
    """Every connection of the turn pool can be had at once, and none remembers a scope."""
    transactions = [installation(pools.turn) for _ in range(size)]
    for transaction in transactions:
        connection = await transaction.__aenter__()
        role, tenant, owner = await in_force(connection)
        assert (role, tenant or "", owner or "") == ("sidecar_app", "", "")
    for transaction in transactions:
        await transaction.__aexit__(None, None, None)


async def test_role_and_scope_are_in_force_inside_and_gone_outside(opened: Pools) -> None:
    async with scoped(opened.turn, ADA) as connection:
        assert await in_force(connection) == ("sidecar_app", str(ADA.tenant_id), str(ADA.owner_id))
    connection = await opened.turn.acquire()
    assert await in_force(connection) == ("postgres", "", "")
    await opened.turn.release(connection)


async def test_the_worker_has_a_role_of_its_own_and_a_tenant_transaction_no_owner(opened: Pools) -> None:
    async with tenant_scoped(opened.background, ADA.tenant_id, role=Role.WORKER) as connection:
        role, tenant, owner = await in_force(connection)
        assert (role, tenant, owner or "") == ("sidecar_worker", str(ADA.tenant_id), "")


async def test_rows_are_seen_by_their_owner_alone_and_without_a_scope_by_nobody(opened: Pools) -> None:
    for number, scope in enumerate((ADA, BOB, EVE), start=1):
        async with scoped(opened.turn, scope) as connection:
            await insert(connection, scope, number)
    async with scoped(opened.turn, ADA) as connection:
        assert await note_ids(connection) == [1]
    async with tenant_scoped(opened.turn, ADA.tenant_id) as connection:
        assert await note_ids(connection) == []
    async with installation(opened.turn) as connection:
        assert await note_ids(connection) == []


async def test_a_row_of_another_owner_cannot_be_written(opened: Pools) -> None:
    with pytest.raises(AccessRefused):
        async with scoped(opened.turn, ADA) as connection:
            await insert(connection, BOB, 1)


async def test_a_read_only_transaction_writes_nothing(opened: Pools) -> None:
    with pytest.raises(UnexpectedDatabaseError, match="25006"):
        async with scoped(opened.turn, ADA, read_only=True) as connection:
            await insert(connection, ADA, 1)


@pytest.mark.parametrize("wrong", ["00000000-0000-0000-0000-000000000000", "'; DROP TABLE notes; --", None, 7, b""])
def test_only_uuid_values_become_a_scope(wrong: Any) -> None:
    pool: Any = None
    with pytest.raises(TypeError, match=r"app\.tenant_id takes a UUID"):
        scoped(pool, replace(ADA, tenant_id=wrong))
    with pytest.raises(TypeError, match=r"app\.owner_id takes a UUID"):
        scoped(pool, replace(ADA, owner_id=wrong))
    with pytest.raises(ValueError, match="postgres"):
        scoped(pool, ADA, role="postgres")  # type: ignore[arg-type]  # the mistake under test


async def test_a_uuid_that_prints_itself_otherwise_changes_nothing(opened: Pools) -> None:
    class Liar(UUID):
        def __str__(self) -> str:
            return "'; DROP TABLE notes; --"

    lying = Scope(Liar(int=ADA.tenant_id.int), ADA.owner_id)
    async with scoped(opened.turn, lying) as connection:
        assert (await in_force(connection))[1] == str(ADA.tenant_id)


async def test_an_error_in_the_body_undoes_it_and_passes_through(opened: Pools) -> None:
    async def fail() -> None:
        async with scoped(opened.turn, ADA) as connection:
            await insert(connection, ADA, 1)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await fail()
    async with scoped(opened.turn, ADA) as connection:
        assert await note_ids(connection) == []
    await assert_clean(opened)


@pytest.mark.parametrize(
    ("columns", "expected", "detail"),
    [
        ({"note_id": 1}, AlreadyExists, "notes_pkey"),
        ({"note_id": 2, "parent": 9}, ReferenceMissing, "notes_tenant_id_parent_fkey"),
        ({"note_id": 2, "body": "long" * 100}, StoreError, "short_body"),
        ({"note_id": 2, "body": "nul \0 inside"}, UnstorableValue, "SQLSTATE 22021"),
        ({"note_id": 2, "body": "half \ud800 a pair"}, UnstorableValue, "argument 4"),
        ({"note_id": 2, "facts": {"nul": "\0"}}, UnstorableValue, "SQLSTATE 22P05"),
        ({"note_id": 2, "facts": {"half": "\ud800"}}, UnstorableValue, "argument 5"),
        ({"note_id": 2, "facts": {"big": 2**70}}, UnstorableValue, "argument 5"),
        ({"note_id": 2**31}, UnstorableValue, "argument 3"),
        ({"note_id": "secret words"}, UnstorableValue, "argument 3"),
    ],
)
async def test_what_postgres_refuses_has_a_name_of_ours_and_keeps_the_value_to_itself(
    opened: Pools, columns: dict[str, Any], expected: type[StoreError], detail: str
) -> None:
    async with scoped(opened.turn, ADA) as connection:
        await insert(connection, ADA, 1)
    with pytest.raises(expected) as caught:
        async with scoped(opened.turn, ADA) as connection:
            await insert(connection, ADA, **columns)
    assert caught.value.detail == detail
    assert "secret" not in str(caught.value)
    await assert_clean(opened)


@pytest.mark.parametrize("query", ["SELECT * FROM nowhere", "SELECT nothing FROM notes", "SELECT f()"])
async def test_a_schema_that_lacks_something_points_at_the_migrations(opened: Pools, query: str) -> None:
    with pytest.raises(SchemaOutdated, match="sidecar migrate"):
        async with scoped(opened.turn, ADA) as connection:
            await connection.execute(query)


async def test_a_missing_role_points_at_the_migrations(opened: Pools, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Role.APP, "_value_", "sidecar_nobody")
    with pytest.raises(SchemaOutdated, match="role"):
        async with scoped(opened.turn, ADA):
            pass


async def test_an_error_that_is_swallowed_inside_is_not_taken_for_success(opened: Pools) -> None:
    async def swallow() -> None:
        async with scoped(opened.turn, ADA) as connection:
            await insert(connection, ADA, 1)
            with pytest.raises(asyncpg.UniqueViolationError):
                await insert(connection, ADA, 1)

    with pytest.raises(TransactionAborted):
        await swallow()
    await assert_clean(opened)


async def test_a_row_locked_by_another_is_a_conflict(opened: Pools) -> None:
    async with scoped(opened.turn, ADA) as connection:
        await insert(connection, ADA, 1)
    async with scoped(opened.turn, ADA) as holder:
        await holder.execute("SELECT FROM notes FOR UPDATE")
        with pytest.raises(TransactionConflict):
            async with scoped(opened.turn, ADA) as connection:
                await connection.execute("SELECT FROM notes FOR UPDATE NOWAIT")


async def test_a_statement_past_its_deadline_is_broken_off(dsn: str) -> None:
    pools = await open_pools(dsn, replace(CONFIG, query_deadline_s=0.05))
    with pytest.raises(QueryTimeout):
        async with scoped(pools.turn, ADA) as connection:
            await connection.execute("SELECT pg_sleep(600)")
    await wait_until_active(dsn, "SELECT pg_sleep", count=0)
    await assert_clean(pools)
    await pools.close()


async def test_a_cancelled_query_ends_on_the_server_and_the_pool_is_whole(dsn: str, opened: Pools) -> None:
    async def turn() -> None:
        async with scoped(opened.turn, ADA) as connection:
            await insert(connection, ADA, 1)
            await connection.execute("SELECT pg_sleep(600)")

    task = asyncio.create_task(turn())
    await wait_until_active(dsn, "SELECT pg_sleep")
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await wait_until_active(dsn, "SELECT pg_sleep", count=0)
    async with scoped(opened.turn, ADA) as connection:
        assert await note_ids(connection) == []
    await assert_clean(opened)


async def test_cancelling_does_not_wait_for_a_server_that_hangs(dsn: str) -> None:
    pools = await open_pools(dsn, replace(CONFIG, turn_connections=1))
    entered: asyncio.Queue[int] = asyncio.Queue()

    async def turn() -> None:
        async with scoped(pools.turn, ADA) as connection:
            entered.put_nowait(connection.get_server_pid())
            await connection.execute("SELECT pg_sleep(600)")

    task = asyncio.create_task(turn())
    backend = await entered.get()
    await wait_until_active(dsn, "SELECT pg_sleep")
    os.kill(backend, signal.SIGSTOP)
    cancelled_at = time.monotonic()
    task.cancel()
    await asyncio.wait([task])
    assert time.monotonic() - cancelled_at < 0.2
    await assert_clean(pools, size=1)  # waits until the connection that hangs is given up
    os.kill(backend, signal.SIGCONT)
    await pools.close()


async def test_transactions_cancelled_at_any_moment_leave_the_pool_whole(dsn: str, opened: Pools) -> None:
    chance = random.Random(7)

    async def turn(number: int) -> None:
        async with scoped(opened.turn, ADA) as connection:
            await insert(connection, ADA, number)
            await connection.execute("SELECT pg_sleep(0.002)")

    for number in range(150):
        task = asyncio.create_task(turn(number))
        done, _ = await asyncio.wait([task], timeout=chance.uniform(0, 0.006))
        if not done:
            task.cancel()
            await asyncio.wait([task])
    await assert_clean(opened)
    assert await as_admin(dsn, "SELECT count(*) FROM pg_stat_activity WHERE state LIKE 'idle in%'") == 0


async def test_a_full_pool_says_so_within_its_deadline_and_the_other_pool_serves(dsn: str) -> None:
    config = replace(CONFIG, background_connections=1, background_acquire_deadline_s=0.05)
    pools = await open_pools(dsn, config)
    async with installation(pools.background):
        with pytest.raises(DatabaseBusy, match=r"0\.05 s"):
            async with installation(pools.background):
                pass
        async with installation(pools.turn) as connection:
            assert await connection.fetchval("SELECT 1") == 1
    await pools.close()


async def test_a_lost_connection_is_an_error_once_and_the_next_transaction_works(dsn: str, opened: Pools) -> None:
    others = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = 'context-sidecar'"

    async def lose() -> None:
        async with scoped(opened.turn, ADA) as connection:
            await as_admin(dsn, others)
            await connection.execute("SELECT 1")

    with pytest.raises(DatabaseUnavailable):
        await lose()
    await assert_clean(opened)


async def test_an_error_of_the_callers_own_files_is_not_taken_for_the_databases(opened: Pools) -> None:
    with pytest.raises(FileNotFoundError):
        async with scoped(opened.turn, ADA):
            raise FileNotFoundError("a file of the caller's")


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (("run&port", "nowhere&port"), DatabaseUnavailable),
        (("@/test_", "@/no_"), DatabaseRefused),
        (("postgres@", "stranger@"), DatabaseRefused),
        (("postgresql:", "mysql:"), DatabaseRefused),
        (("5432", "seven"), DatabaseRefused),
    ],
)
async def test_a_server_that_cannot_be_reached_is_a_clear_error(
    dsn: str, change: tuple[str, str], expected: type[StoreError]
) -> None:
    with pytest.raises(expected, match="SIDECAR_DATABASE_URL"):
        await open_pools(dsn.replace(*change), CONFIG)


async def test_json_comes_back_as_it_went(opened: Pools) -> None:
    facts = {"town": "東京", "n": 1.5, "list": [None, True, {"deep": "é"}]}
    async with scoped(opened.turn, ADA) as connection:
        await insert(connection, ADA, 1, facts=facts)
        assert await connection.fetchval("SELECT facts FROM notes") == facts
        lists = [[facts], [], "text"]
        assert await connection.fetchval("SELECT $1::jsonb[]", [Json(value) for value in lists]) == lists
        assert await connection.fetchval("SELECT $1::json", facts) == facts


async def test_it_works_without_prepared_statements(dsn: str) -> None:
    pools = await open_pools(dsn, replace(CONFIG, statement_cache_size=0))
    for _ in range(2):
        async with scoped(pools.turn, ADA) as connection:
            assert await connection.fetchval("SELECT $1::jsonb", {"a": 1}) == {"a": 1}
    await pools.close()


def test_it_works_on_uvloop(dsn: str) -> None:
    async def use() -> None:
        pools = await open_pools(dsn, CONFIG)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05), scoped(pools.turn, ADA) as connection:
                await connection.execute("SELECT pg_sleep(600)")
        await assert_clean(pools)
        await pools.close()

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(use())


async def test_the_server_is_known_for_what_it_is(opened: Pools) -> None:
    async with installation(opened.turn) as connection:
        facts = await check_server(connection)
    assert facts.version >= 150000
    assert facts.has_vector


class OtherServer:
    """A connection to a server that is not there: answers what `check_server` asks."""

    def __init__(self, version: int, extensions: dict[str, str]) -> None:
        self.version = version
        self.extensions = extensions

    async def fetchval(self, _query: str) -> int:
        return self.version

    async def fetch(self, _query: str, names: list[str]) -> list[dict[str, str]]:
        return [{"name": name, "version": self.extensions[name]} for name in names if name in self.extensions]


NEEDED = {"pg_trgm": "1.6", "btree_gin": "1.3", "unaccent": "1.1"}


@pytest.mark.parametrize(
    ("version", "extensions", "problem"),
    [(140011, NEEDED, "is 14"), (160000, {"pg_trgm": "1.6"}, "missing: btree_gin, unaccent")],
)
async def test_a_server_that_cannot_serve_is_refused(version: int, extensions: dict[str, str], problem: str) -> None:
    server: Any = OtherServer(version, extensions)
    with pytest.raises(ServerUnsuitable, match=problem):
        await check_server(server)


@pytest.mark.parametrize(("vector", "expected"), [({}, False), ({"vector": "0.7.4"}, False), ({"vector": "0.8"}, True)])
async def test_vectors_are_an_option_from_a_version_on(vector: dict[str, str], expected: bool) -> None:
    server: Any = OtherServer(150000, NEEDED | vector)
    assert (await check_server(server)).has_vector is expected


async def next_of(heard: asyncio.Queue[Notice | str]) -> Notice | str:
    async with asyncio.timeout(PATIENCE_S):
        return await heard.get()


async def test_notices_arrive_and_a_lost_connection_is_made_again(dsn: str) -> None:
    heard: asyncio.Queue[Notice | str] = asyncio.Queue()
    listener = Listener(heard.put_nowait, lambda: heard.put_nowait("connected"))
    task = asyncio.create_task(listen(dsn, ["profile_changed", "odd channel"], listener))
    for _ in range(2):
        assert await next_of(heard) == "connected"
        await as_admin(dsn, "SELECT pg_notify('profile_changed', 'é')")
        assert await next_of(heard) == Notice("profile_changed", "é")
        await as_admin(dsn, "SELECT pg_notify('odd channel', '')")
        assert await next_of(heard) == Notice("odd channel", "")
        await as_admin(
            dsn, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN%' AND pid > 0"
        )
    task.cancel()
    await asyncio.wait([task])


async def test_what_the_listener_raises_ends_the_listening(dsn: str) -> None:
    def refuse(_notice: Notice) -> None:
        raise ZeroDivisionError

    connected = asyncio.Event()
    task = asyncio.create_task(listen(dsn, ["any"], Listener(refuse, connected.set)))
    await connected.wait()
    await as_admin(dsn, "SELECT pg_notify('any', '')")
    with pytest.raises(ZeroDivisionError):
        await task
