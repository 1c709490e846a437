"""The embedded Postgres for real: started, kept, shared, killed and started again."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import asyncpg
import pytest
import uvloop

from store.embedded import postmaster
from store.embedded.binaries import server_account
from store.embedded.layout import PORT, Layout
from store.embedded.locks import FileLock
from store.embedded.server import EmbeddedPostgres
from store.errors import DataDirectoryUnusable
from tests.support.store.server_use import (
    NewDir,
    NewUser,
    cluster_fixture,
    data_dir_fixture,
    fetch,
    is_alive,
    kill_server,
    new_dir_fixture,
    new_user_fixture,
    remember,
    remembers,
    serving_pid,
    wait_for_initdb,
)
from tests.support.waiting import until, until_blocking, until_equal

FIXTURES = (
    new_user_fixture,
    new_dir_fixture,
    cluster_fixture,
    data_dir_fixture,
)  # found by pytest in the names of this module


async def test_data_survive_a_restart_and_no_process_is_left_after_the_stop(new_dir: NewDir) -> None:
    directory = new_dir()
    async with EmbeddedPostgres(directory) as postgres:
        word = await remember(postgres.dsn)
    assert postmaster.serving_pid(directory / "pgdata") is None
    async with EmbeddedPostgres(directory) as postgres:
        assert await remembers(postgres.dsn, word)


def test_server_starts_on_uvloop_as_well(new_dir: NewDir) -> None:
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        postgres = EmbeddedPostgres(new_dir())
        assert runner.run(fetch(runner.run(postgres.start()), "SELECT 1")) == 1
        runner.run(postgres.stop())


async def test_only_the_first_start_is_logged(new_dir: NewDir, caplog: pytest.LogCaptureFixture) -> None:
    directory = new_dir()
    with caplog.at_level(logging.INFO, logger="store"):
        for _ in range(2):
            async with EmbeddedPostgres(directory):
                pass
    assert [record.message for record in caplog.records] == ["embedded_postgres_initialised"]


async def test_server_is_private_durable_and_stores_every_script(data_dir: Path) -> None:
    async with EmbeddedPostgres(data_dir) as postgres:
        assert await fetch(postgres.dsn, "SHOW listen_addresses") == ""
        assert await fetch(postgres.dsn, "SHOW fsync") == "on"
        assert await fetch(postgres.dsn, "SHOW server_encoding") == "UTF8"
        assert await fetch(postgres.dsn, "SELECT lower('ÉЯБЛОКО')") == "éяблоко"
        await fetch(postgres.dsn, "CREATE EXTENSION IF NOT EXISTS pg_trgm")
        assert await fetch(postgres.dsn, "SELECT similarity('ЯБЛОКО', 'яблоко')") == 1
        socket_dir = Layout.of(data_dir).socket_dir
        assert socket_dir.stat().st_mode & 0o777 == 0o700
        assert os.getsid(serving_pid(data_dir)) != os.getsid(0), "Ctrl-C in our terminal would reach it"


async def test_starting_and_stopping_twice_is_harmless(data_dir: Path) -> None:
    postgres = EmbeddedPostgres(data_dir)
    assert await postgres.start() == await postgres.start()
    await postgres.stop()
    await postgres.stop()
    assert postmaster.serving_pid(data_dir / "pgdata") is None


async def test_two_processes_share_the_server_and_the_last_one_stops_it(new_user: NewUser, data_dir: Path) -> None:
    starter = new_user(data_dir)
    dsn = starter.wait_started()
    async with EmbeddedPostgres(data_dir) as postgres:
        assert postgres.dsn == dsn
        assert starter.leave() == 0
        assert await fetch(postgres.dsn, "SELECT 1") == 1
    assert postmaster.serving_pid(data_dir / "pgdata") is None


async def test_killed_user_does_not_keep_the_server_running(new_user: NewUser, data_dir: Path) -> None:
    starter = new_user(data_dir)
    starter.wait_started()
    async with EmbeddedPostgres(data_dir) as postgres:
        starter.kill()
        assert await fetch(postgres.dsn, "SELECT 1") == 1
    assert postmaster.serving_pid(data_dir / "pgdata") is None


async def test_server_whose_only_user_was_killed_is_found_by_the_next(new_user: NewUser, data_dir: Path) -> None:
    killed = new_user(data_dir)
    killed.wait_started()
    killed.kill()
    pid = serving_pid(data_dir)
    async with EmbeddedPostgres(data_dir):
        assert serving_pid(data_dir) == pid
    assert postmaster.serving_pid(data_dir / "pgdata") is None


async def test_concurrent_first_starts_make_one_cluster(new_user: NewUser, new_dir: NewDir) -> None:
    directory = new_dir()
    users = [new_user(directory) for _ in range(3)]
    dsns = {user.wait_started() for user in users}
    assert len(dsns) == 1
    assert await fetch(dsns.pop(), "SELECT 1") == 1
    assert [user.leave() for user in users] == [0, 0, 0]
    assert postmaster.serving_pid(directory / "pgdata") is None


async def test_committed_rows_survive_a_killed_server(data_dir: Path) -> None:
    async with EmbeddedPostgres(data_dir) as postgres:
        word = await remember(postgres.dsn)
        kill_server(data_dir)
        await postgres.start()
        assert await remembers(postgres.dsn, word)


async def test_busy_backend_of_a_killed_server_is_awaited(data_dir: Path) -> None:
    async with EmbeddedPostgres(data_dir) as postgres:
        word = await remember(postgres.dsn)
        connection = await asyncpg.connect(postgres.dsn)
        # It computes without looking up, so it notices the death of its server only at the end.
        busy = asyncio.create_task(connection.fetchval("SELECT count(*) FROM generate_series(1, 5000000)"))
        backend = connection.get_server_pid()
        state = f"SELECT state FROM pg_stat_activity WHERE pid = {backend}"
        await until_equal(lambda: fetch(postgres.dsn, state), "active")
        kill_server(data_dir)
        await postgres.start()
        assert not is_alive(backend), "two servers on one set of files"
        assert await remembers(postgres.dsn, word)
        await asyncio.gather(busy, return_exceptions=True)
        connection.terminate()


async def test_supervised_server_is_restarted_after_a_kill(data_dir: Path) -> None:
    async with EmbeddedPostgres(data_dir) as postgres:
        keeper = asyncio.create_task(postgres.keep_running())
        killed = serving_pid(data_dir)
        kill_server(data_dir)
        pgdata = data_dir / "pgdata"
        await until(lambda: postmaster.serving_pid(pgdata) not in {None, killed})
        await postgres.start()
        assert await fetch(postgres.dsn, "SELECT 1") == 1
        keeper.cancel()
        await asyncio.gather(keeper, return_exceptions=True)


async def test_data_that_vanish_under_their_user_are_not_replaced_by_an_empty_cluster(new_dir: NewDir) -> None:
    data_dir = new_dir()
    async with EmbeddedPostgres(data_dir) as postgres:
        await fetch(postgres.dsn, "CREATE TABLE kept AS SELECT 4417 AS code")
        await postmaster.shut_down(data_dir / "pgdata")
        aside = data_dir.rename(data_dir.with_name(f"{data_dir.name}-aside"))
        with pytest.raises(DataDirectoryUnusable, match="is gone"):
            await postgres.start()
        assert not data_dir.exists()
        aside.rename(data_dir)
        await postgres.start()
        assert await fetch(postgres.dsn, "SELECT code FROM kept") == 4417


async def test_log_of_a_running_server_is_rotated_and_continues(data_dir: Path) -> None:
    async with EmbeddedPostgres(data_dir) as postgres:
        layout = Layout.of(data_dir)
        with layout.log.open("ab") as file:
            file.write(b"an old line\n" * 500_000)
        keeper = asyncio.create_task(postgres.keep_running())
        aside = layout.log.with_suffix(".log.1")
        await until(lambda: aside.exists() and layout.log.stat().st_size < 1_000_000)
        assert aside.stat().st_size >= 6_000_000
        assert aside.stat().st_mode & 0o777 == 0o600
        with pytest.raises(asyncpg.UndefinedTableError):
            await fetch(postgres.dsn, "SELECT 1 FROM no_such_table")
        await until(lambda: b"no_such_table" in layout.log.read_bytes())
        assert b"\0" not in layout.log.read_bytes(), "it is appended to from its new beginning"
        keeper.cancel()
        await asyncio.gather(keeper, return_exceptions=True)


def lose_socket(data_dir: Path) -> None:
    (Layout.of(data_dir).socket_dir / f".s.PGSQL.{PORT}").unlink()


async def test_running_server_without_its_socket_is_replaced(data_dir: Path) -> None:
    async with EmbeddedPostgres(data_dir) as postgres:
        word = await remember(postgres.dsn)
        keeper = asyncio.create_task(postgres.keep_running())
        deaf = serving_pid(data_dir)
        lose_socket(data_dir)
        await until(lambda: postmaster.serving_pid(data_dir / "pgdata") not in {None, deaf})
        await postgres.start()
        assert await remembers(postgres.dsn, word)
        keeper.cancel()
        await asyncio.gather(keeper, return_exceptions=True)


async def test_server_asked_to_stop_that_waits_for_its_clients_is_replaced(data_dir: Path) -> None:
    async with EmbeddedPostgres(data_dir, stopping_most_s=1.0) as postgres:
        word = await remember(postgres.dsn)
        keeper = asyncio.create_task(postgres.keep_running())
        client, stopping = await asyncpg.connect(postgres.dsn), serving_pid(data_dir)
        os.kill(stopping, signal.SIGTERM)  # it takes no more connections, and ends once the last client has left
        await until(lambda: postmaster.serving_pid(data_dir / "pgdata") not in {None, stopping})
        await postgres.start()
        assert await remembers(postgres.dsn, word)
        client.terminate()
        keeper.cancel()
        await asyncio.gather(keeper, return_exceptions=True)


async def test_abandoned_server_without_its_socket_is_replaced_by_the_next_user(
    new_user: NewUser, data_dir: Path
) -> None:
    killed = new_user(data_dir)
    word = await remember(killed.wait_started())
    killed.kill()
    deaf = serving_pid(data_dir)
    shutil.rmtree(Layout.of(data_dir).socket_dir)
    async with EmbeddedPostgres(data_dir) as postgres:
        assert serving_pid(data_dir) != deaf
        assert await remembers(postgres.dsn, word)


def test_slowly_starting_server_is_seldom_probed() -> None:
    pauses = list(islice(postmaster.pauses(), 130))
    assert pauses[0] <= 0.01, "most starts take a moment"
    assert sum(pauses) >= 60


@contextlib.contextmanager
def a_zombie() -> Iterator[int]:
    process = subprocess.Popen(["/bin/true"])
    until_blocking(lambda: not is_alive(process.pid))
    yield process.pid
    process.wait()


@contextlib.contextmanager
def another_program(pgdata: Path) -> Iterator[int]:
    process = subprocess.Popen(server_account(pgdata).command("/bin/sleep", "60"))
    yield process.pid
    process.kill()
    process.wait()


@pytest.mark.parametrize("what", ["a zombie", "another program", "nothing legible"])
async def test_reused_pid_of_a_dead_server_blocks_nothing(new_user: NewUser, data_dir: Path, what: str) -> None:
    first = new_user(data_dir)
    word = await remember(first.wait_started())
    record = (data_dir / "pgdata" / "postmaster.pid").read_bytes()
    kill_server(data_dir)
    first.kill()
    holder = a_zombie() if what == "a zombie" else another_program(data_dir / "pgdata")
    with holder as pid:
        _, _, rest = record.partition(b"\n")
        stale = b"" if what == "nothing legible" else b"%d\n%b" % (pid, rest)
        (data_dir / "pgdata" / "postmaster.pid").write_bytes(stale)
        (Layout.of(data_dir).socket_dir / ".s.PGSQL.5432.lock").write_bytes(stale)
        async with EmbeddedPostgres(data_dir) as postgres:
            assert await remembers(postgres.dsn, word)


async def test_unfinished_cluster_is_made_again(new_user: NewUser, new_dir: NewDir) -> None:
    directory = new_dir()
    cut_short = new_user(directory)
    wait_for_initdb(directory)
    cut_short.kill()
    assert not (directory / "pgdata").exists()
    async with EmbeddedPostgres(directory) as postgres:
        assert await fetch(postgres.dsn, "SELECT 1") == 1


async def test_missing_database_of_a_cluster_is_created(data_dir: Path) -> None:
    async with EmbeddedPostgres(data_dir) as postgres:
        await fetch(postgres.dsn.replace("/sidecar?", "/postgres?"), "DROP DATABASE sidecar")
        await postgres.start()
        assert await fetch(postgres.dsn, "SELECT current_database()") == "sidecar"


async def test_cancelled_first_start_does_not_block_the_next(new_dir: NewDir) -> None:
    directory = new_dir()
    postgres = EmbeddedPostgres(directory)
    starting = asyncio.create_task(postgres.start())
    await asyncio.to_thread(wait_for_initdb, directory)
    starting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await starting
    users = FileLock(directory / "users.lock")
    assert users.try_exclusive(), "a start that failed is no user"
    users.release()
    assert await fetch(await postgres.start(), "SELECT 1") == 1
    await postgres.stop()
