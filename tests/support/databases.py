"""The server of a test run, its migrated template, and clones of the template.

Workers of pytest-xdist share the server: its directory is named in the environment, which they inherit.
"""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import urlsplit
from uuid import uuid4

import asyncpg

from store.db.migrate import migrate
from store.embedded import postmaster
from store.embedded.locks import FileLock
from tests.servers import cluster
from tests.support.places import ROOT

RUN_DIR = "CONTEXT_SIDECAR_TEST_DIR"
_PREFIX = "context-sidecar-tests-"
_TEMPLATE = "migrated"
_IN_MEMORY = Path("/dev/shm")
_LEAST_FREE_BYTES = 4 * 1024**3


def new_directory() -> Path:
    """Return a place for a server of this run: in memory if there is room, where a clone takes a tenth of the time, else in /tmp.

    Straight under it: pytest's own directories are closed to the account Postgres runs as.
    """
    has_room = os.access(_IN_MEMORY, os.W_OK | os.X_OK) and shutil.disk_usage(_IN_MEMORY).free >= _LEAST_FREE_BYTES
    return (_IN_MEMORY if has_room else Path("/tmp")) / f"{_PREFIX}{os.getpid()}-{secrets.token_hex(4)}"


def named(dsn: str, name: str) -> str:
    """Return the DSN of another database on the run's server."""
    return cluster.at(dsn, name)


def name_of(dsn: str) -> str:
    """Return the name of the DSN's database, as `database_clone` takes it for a template."""
    return urlsplit(dsn).path.removeprefix("/")


def is_cluster() -> bool:
    """Return whether the run is one on a Citus cluster."""
    return cluster.URL in os.environ


@asynccontextmanager
async def _admin(dsn: str) -> AsyncIterator[asyncpg.Connection[asyncpg.Record]]:
    connection = await asyncpg.connect(named(dsn, "postgres"))
    try:
        yield connection
    finally:
        await connection.close()


@asynccontextmanager
async def database_clone(dsn: str, template: str = _TEMPLATE) -> AsyncIterator[str]:
    """Yield the DSN of a new database on the server, a clone of the template; it is dropped afterwards.

    Nothing may be connected to the template.
    """
    if is_cluster() and template == _TEMPLATE:
        async with cluster.clone() as spread:
            yield spread
        return
    name = f"test_{uuid4().hex}"
    async with _admin(dsn) as connection:
        await connection.execute(f"CREATE DATABASE {name} TEMPLATE {template} STRATEGY file_copy")
        yield named(dsn, name)
        await connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


async def make_template(dsn: str) -> None:
    """Make the template once for all workers: it bears its name only when it is whole."""
    lock = FileLock(Path(os.environ[RUN_DIR]) / "template.lock")
    if is_cluster():
        made = Path(os.environ[RUN_DIR]) / "template.made"
        async with lock.exclusive(300):
            if not made.exists():
                await cluster.make_template()
                made.touch()
        return
    async with lock.exclusive(120), _admin(dsn) as connection:
        if await connection.fetchval("SELECT true FROM pg_database WHERE datname = $1", _TEMPLATE):
            return
        await connection.execute("DROP DATABASE IF EXISTS unfinished")
        await connection.execute("CREATE DATABASE unfinished TEMPLATE template0")
        await migrate(named(dsn, "unfinished"), ROOT / "migrations")
        await connection.execute(f"ALTER DATABASE unfinished RENAME TO {_TEMPLATE}")


async def sweep(keep: Path) -> None:
    """Stop and remove the servers of runs that were killed: no process holds their users' lock any more.

    The server of a live run is left alone even if its lock is free: a test may have killed the holder to start it again.
    """
    for directory in keep.parent.glob(f"{_PREFIX}*"):
        pid = directory.name.removeprefix(_PREFIX).partition("-")[0]
        if Path("/proc", pid).exists():
            continue
        lock = FileLock(directory / "users.lock")
        is_ours = os.access(directory / "users.lock", os.W_OK)
        if directory == keep or not is_ours or not lock.try_exclusive():
            continue
        await postmaster.shut_down(directory / "pgdata")
        lock.release()
        shutil.rmtree(directory, ignore_errors=True)
