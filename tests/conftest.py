"""One Postgres for a test run, migrated once as a template, and a clone of it for each test that asks.

Workers of pytest-xdist share the server: its directory is named in the environment, which they inherit.
"""

from __future__ import annotations

import asyncio
import gc
import os
import secrets
import shutil
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from uuid import uuid4

import asyncpg
import pytest

from store.db.migrate import migrate
from store.db.postgres import Pools, PoolsConfig, open_pools
from store.embedded import postmaster
from store.embedded.locks import FileLock
from store.embedded.server import EmbeddedPostgres
from tests.support.places import ROOT

MIGRATIONS = ROOT / "migrations"

_RUN_DIR = "CONTEXT_SIDECAR_TEST_DIR"
_PREFIX = "context-sidecar-tests-"
_TEMPLATE = "migrated"
_SETTINGS = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off", "autovacuum": "off"}
_owned: list[Path] = []


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let `make soak` ask for the long campaigns in full."""
    parser.addoption("--soak", action="store_true", help="run the long campaigns in full, not a sample of each")


@pytest.fixture
def is_soak(request: pytest.FixtureRequest) -> bool:
    """Whether the long campaigns run in full."""
    return bool(request.config.getoption("--soak"))


def pytest_configure() -> None:
    """Choose the run's directory, straight under /tmp: pytest's own are closed to the account Postgres runs as."""
    os.umask(0o022)  # that account has to pass through folders made here, whatever the caller's shell lets pass
    if _RUN_DIR not in os.environ:
        _owned.append(Path("/tmp") / f"{_PREFIX}{os.getpid()}-{secrets.token_hex(4)}")
        os.environ[_RUN_DIR] = str(_owned[0])


def pytest_unconfigure() -> None:
    """Remove what the run left, once every worker is gone."""
    for directory in _owned:
        del os.environ[_RUN_DIR]
        shutil.rmtree(directory, ignore_errors=True)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Keep the cyclic collector out of what is imported: it stays to the end, and looking through it took a sixth of a run."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_collection_finish(session: pytest.Session) -> None:
    """Let go of the generator's plugin when nothing collected uses it: its last word would load the generator."""
    if "hypothesis" not in sys.modules and session.config.pluginmanager.has_plugin("hypothesispytest"):
        session.config.pluginmanager.unregister(name="hypothesispytest")


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """The DSN of the run's server, whose durability is off."""
    directory = Path(os.environ[_RUN_DIR])
    asyncio.run(_sweep(keep=directory))
    server = EmbeddedPostgres(directory, settings=_SETTINGS)
    asyncio.run(server.start())
    yield server.dsn
    asyncio.run(server.stop())


@pytest.fixture(scope="session")
def migrated_template(postgres_server: str) -> str:
    """The DSN of the server, which has the migrated template by now."""
    asyncio.run(_make_template(postgres_server))
    return postgres_server


@pytest.fixture
async def database(migrated_template: str) -> AsyncIterator[str]:
    """The DSN of a migrated database of the test's own."""
    async with _database(migrated_template, _TEMPLATE) as dsn:
        yield dsn


@pytest.fixture
async def empty_database(postgres_server: str) -> AsyncIterator[str]:
    """The DSN of an empty database of the test's own."""
    async with _database(postgres_server, "template0") as dsn:
        yield dsn


@pytest.fixture
async def pools(database: str) -> AsyncIterator[Pools]:
    """The pools on `database`."""
    opened = await open_pools(database, PoolsConfig(turn_connections=4, background_connections=2))
    yield opened
    await opened.close()


def named(dsn: str, name: str) -> str:
    """Return the DSN of another database on the run's server."""
    return dsn.replace("@/sidecar?", f"@/{name}?")


@asynccontextmanager
async def _admin(dsn: str) -> AsyncIterator[asyncpg.Connection[asyncpg.Record]]:
    connection = await asyncpg.connect(named(dsn, "postgres"))
    try:
        yield connection
    finally:
        await connection.close()


@asynccontextmanager
async def _database(dsn: str, template: str) -> AsyncIterator[str]:
    name = f"test_{uuid4().hex}"
    async with _admin(dsn) as connection:
        await connection.execute(f"CREATE DATABASE {name} TEMPLATE {template} STRATEGY file_copy")
        yield named(dsn, name)
        await connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


async def _make_template(dsn: str) -> None:
    """Make the template once for all workers: it bears its name only when it is whole."""
    lock = FileLock(Path(os.environ[_RUN_DIR]) / "template.lock")
    async with lock.exclusive(120), _admin(dsn) as connection:
        if await connection.fetchval("SELECT true FROM pg_database WHERE datname = $1", _TEMPLATE):
            return
        await connection.execute("DROP DATABASE IF EXISTS unfinished")
        await connection.execute("CREATE DATABASE unfinished TEMPLATE template0")
        await migrate(named(dsn, "unfinished"), MIGRATIONS)
        await connection.execute(f"ALTER DATABASE unfinished RENAME TO {_TEMPLATE}")


async def _sweep(keep: Path) -> None:
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
