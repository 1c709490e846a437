"""Transactions carry their scope, connections do not, and the pool survives every failure."""

from __future__ import annotations

import asyncio
import os
import random
import signal
from dataclasses import replace
from typing import Any
from uuid import UUID

import asyncpg
import pytest
import uvloop

from store.db.postgres import DatabaseRole, Pools, installation, open_pools, scoped, tenant_scoped
from store.db.queries import Json
from store.errors import (
    AccessRefused,
    DatabaseBusy,
    DatabaseReadOnly,
    DatabaseUnavailable,
    QueryTimeout,
    TransactionAborted,
)
from store.scope import Scope
from tests.support.store.notes import (
    ADA,
    BOB,
    CONFIG,
    EVE,
    OURS,
    as_admin,
    assert_clean,
    dsn_fixture,
    in_force,
    insert,
    note_ids,
    opened_fixture,
    wait_until_active,
)
from tests.support.waiting import until_equal

FIXTURES = (
    dsn_fixture,
    opened_fixture,
)  # found by pytest in the names of this module


async def test_role_and_scope_are_set_inside_and_reset_outside(opened: Pools) -> None:
    async with scoped(opened.turn, ADA) as connection:
        assert await in_force(connection) == ("sidecar_app", str(ADA.tenant_id), str(ADA.owner_id))
    connection = await opened.turn.acquire()
    assert await in_force(connection) == ("postgres", "", "")
    await opened.turn.release(connection)


async def test_worker_has_its_own_role_and_a_tenant_transaction_has_no_owner(opened: Pools) -> None:
    async with tenant_scoped(opened.background, ADA.tenant_id, role=DatabaseRole.WORKER) as connection:
        role, tenant, owner = await in_force(connection)
        assert (role, tenant, owner or "") == ("sidecar_worker", str(ADA.tenant_id), "")


async def test_rows_are_visible_to_their_owner_alone_and_hidden_without_a_scope(opened: Pools) -> None:
    for number, scope in enumerate((ADA, BOB, EVE), start=1):
        async with scoped(opened.turn, scope) as connection:
            await insert(connection, scope, number)
    async with scoped(opened.turn, ADA) as connection:
        assert await note_ids(connection) == [1]
    async with tenant_scoped(opened.turn, ADA.tenant_id) as connection:
        assert await note_ids(connection) == []
    async with installation(opened.turn) as connection:
        assert await note_ids(connection) == []


async def test_row_of_another_owner_cannot_be_written(opened: Pools) -> None:
    with pytest.raises(AccessRefused):
        async with scoped(opened.turn, ADA) as connection:
            await insert(connection, BOB, 1)


async def test_read_only_transaction_writes_nothing(opened: Pools) -> None:
    with pytest.raises(DatabaseReadOnly, match="25006"):
        async with scoped(opened.turn, ADA, read_only=True) as connection:
            await insert(connection, ADA, 1)


@pytest.mark.parametrize("wrong", ["00000000-0000-0000-0000-000000000000", "'; DROP TABLE notes; --", None, 7, b""])
def test_only_uuid_values_form_a_scope(wrong: Any) -> None:
    pool: Any = None
    with pytest.raises(TypeError, match=r"app\.tenant_id takes a UUID"):
        scoped(pool, replace(ADA, tenant_id=wrong))
    with pytest.raises(TypeError, match=r"app\.owner_id takes a UUID"):
        scoped(pool, replace(ADA, owner_id=wrong))
    with pytest.raises(ValueError, match="postgres"):
        scoped(pool, ADA, role="postgres")  # type: ignore[arg-type]  # the mistake under test


async def test_uuid_with_a_custom_string_form_changes_nothing(opened: Pools) -> None:
    class Liar(UUID):
        def __str__(self) -> str:
            return "'; DROP TABLE notes; --"

    lying = Scope(Liar(int=ADA.tenant_id.int), ADA.owner_id)
    async with scoped(opened.turn, lying) as connection:
        assert (await in_force(connection))[1] == str(ADA.tenant_id)


async def test_error_in_the_body_rolls_back_and_passes_through(opened: Pools) -> None:
    async def fail() -> None:
        async with scoped(opened.turn, ADA) as connection:
            await insert(connection, ADA, 1)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await fail()
    async with scoped(opened.turn, ADA) as connection:
        assert await note_ids(connection) == []
    await assert_clean(opened)


async def test_error_swallowed_in_the_body_is_not_taken_for_success(opened: Pools) -> None:
    async def swallow() -> None:
        async with scoped(opened.turn, ADA) as connection:
            await insert(connection, ADA, 1)
            with pytest.raises(asyncpg.UniqueViolationError):
                await insert(connection, ADA, 1)

    with pytest.raises(TransactionAborted):
        await swallow()
    await assert_clean(opened)


async def test_statement_past_its_deadline_is_cancelled(dsn: str) -> None:
    pools = await open_pools(dsn, replace(CONFIG, query_deadline_s=0.05))
    with pytest.raises(QueryTimeout):
        async with scoped(pools.turn, ADA) as connection:
            await connection.execute("SELECT pg_sleep(600)")
    await wait_until_active(dsn, "SELECT pg_sleep", count=0)
    await assert_clean(pools)
    await pools.close()


async def test_cancelled_query_ends_on_the_server_and_the_pool_stays_whole(dsn: str, opened: Pools) -> None:
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


async def test_cancelling_does_not_wait_for_a_hanging_server(dsn: str) -> None:
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
    task.cancel()
    done, _ = await asyncio.wait(
        [task], timeout=60
    )  # the backend hangs until it is told to go on: nobody may wait for it
    assert done
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
    assert await as_admin(dsn, f"SELECT count(*) {OURS} AND state LIKE 'idle in%'") == 0


async def test_full_pool_is_reported_by_its_deadline_while_the_other_pool_serves(dsn: str) -> None:
    config = replace(CONFIG, background_connections=1, background_acquire_deadline_s=0.05)
    pools = await open_pools(dsn, config)
    async with installation(pools.background):
        with pytest.raises(DatabaseBusy, match=r"0\.05 s"):
            async with installation(pools.background):
                pass
        async with installation(pools.turn) as connection:
            assert await connection.fetchval("SELECT 1") == 1
    await pools.close()


async def test_full_pool_refuses_a_turn_soon_but_a_new_connection_may_take_longer(dsn: str) -> None:
    pools = await open_pools(dsn, replace(CONFIG, turn_connections=2, turn_wait_s=0.05))
    async with scoped(pools.turn, ADA), scoped(pools.turn, ADA):  # the second one is made for it
        with pytest.raises(DatabaseBusy, match=r"0\.05 s"):
            async with scoped(pools.turn, ADA):
                pass
    async with scoped(pools.turn, ADA) as connection:
        assert await note_ids(connection) == []
    await pools.close()


async def test_connections_are_shared_if_the_server_accepts_fewer_than_the_pool_may_open(dsn: str) -> None:
    async def select(pools: Pools) -> object:
        async with installation(pools.turn) as connection:
            return await connection.fetchval("SELECT 1 FROM pg_sleep(0.02)")

    name = f"few_{os.getpid()}"
    await as_admin(dsn, f"CREATE ROLE {name} LOGIN CONNECTION LIMIT 2 IN ROLE sidecar_app")
    pools = await open_pools(dsn.replace("//postgres@", f"//{name}@"), CONFIG)  # one connection for background work
    assert await asyncio.gather(*(select(pools) for _ in range(20))) == [1] * 20
    await pools.close()

    await as_admin(dsn, f"ALTER ROLE {name} CONNECTION LIMIT 0")
    with pytest.raises(DatabaseBusy, match="53300"):
        await open_pools(dsn.replace("//postgres@", f"//{name}@"), CONFIG)
    await as_admin(dsn, f"DROP ROLE {name}")


async def test_lost_connection_fails_once_and_the_next_transaction_works(dsn: str, opened: Pools) -> None:
    others = f"SELECT count(pg_terminate_backend(pid)) {OURS} AND application_name = 'context-sidecar'"

    async def lose() -> None:
        async with scoped(opened.turn, ADA) as connection:
            await as_admin(dsn, others)
            await connection.execute("SELECT 1")

    with pytest.raises(DatabaseUnavailable):
        await lose()
    await assert_clean(opened)


async def test_json_survives_a_round_trip(opened: Pools) -> None:
    facts = {"town": "東京", "n": 1.5, "list": [None, True, {"deep": "é"}]}
    async with scoped(opened.turn, ADA) as connection:
        await insert(connection, ADA, 1, facts=facts)
        assert await connection.fetchval("SELECT facts FROM notes") == facts
        lists = [[facts], [], "text"]
        assert await connection.fetchval("SELECT $1::jsonb[]", [Json(value) for value in lists]) == lists
        assert await connection.fetchval("SELECT $1::json", facts) == facts


async def test_pool_works_without_prepared_statements(dsn: str) -> None:
    pools = await open_pools(dsn, replace(CONFIG, statement_cache_size=0))
    for _ in range(2):
        async with scoped(pools.turn, ADA) as connection:
            assert await connection.fetchval("SELECT $1::jsonb", {"a": 1}) == {"a": 1}
    await pools.close()


def test_pool_works_on_uvloop(dsn: str) -> None:
    async def use() -> None:
        pools = await open_pools(dsn, CONFIG)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05), scoped(pools.turn, ADA) as connection:
                await connection.execute("SELECT pg_sleep(600)")
        await assert_clean(pools)
        await pools.close()

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(use())


@pytest.mark.parametrize("is_cancelled", [False, True])
async def test_pools_that_could_not_all_be_opened_leave_no_connection(dsn: str, *, is_cancelled: bool) -> None:
    config = CONFIG if is_cancelled else replace(CONFIG, query_deadline_s=0.3)
    theirs = f"SELECT count(*) {OURS} AND application_name = 'context-sidecar'"
    locker, watcher = await asyncpg.connect(dsn), await asyncpg.connect(dsn)
    await watcher.fetchval(theirs)  # a cluster's new session waits for the lock too
    async with locker.transaction():
        await locker.execute("LOCK TABLE pg_extension")
        opening = asyncio.create_task(open_pools(dsn, config))
        if is_cancelled:
            await until_equal(lambda: watcher.fetchval(f"{theirs} AND wait_event_type = 'Lock'"), 1)
            opening.cancel()
        # On a busy machine a connection, and not the query, may be what takes too long.
        with pytest.raises(asyncio.CancelledError if is_cancelled else (QueryTimeout, DatabaseUnavailable)):
            await opening
    await locker.close()
    await until_equal(lambda: watcher.fetchval(theirs), 0, 10)
    await watcher.close()
