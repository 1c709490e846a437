"""One Postgres for a test run, migrated once as a template, and a clone of it for each test that asks.

Workers of pytest-xdist share the server: its directory is named in the environment, which they inherit.
"""

from __future__ import annotations

import asyncio
import gc
import os
import shutil
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import asyncpg
import pytest

from sidecar.process.parts import cores
from store.db.postgres import Pools, PoolsConfig, open_pools
from store.db.queries import Connection
from store.embedded.server import EmbeddedPostgres
from tests.servers import cluster
from tests.servers.left_out import is_left_out
from tests.support.databases import RUN_DIR, database_clone, is_cluster, make_template, new_directory, sweep

# One more than there are cores: many tests wait for processes that they started or killed.
_WORKERS = int(os.environ.get("PYTEST_XDIST_AUTO_NUM_WORKERS", "0")) or cores() + 1
_SETTINGS = {
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "autovacuum": "off",
    "max_connections": str(100 * _WORKERS),
}
_owned: list[Path] = []


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let `make soak` ask for the long campaigns in full."""
    parser.addoption("--soak", action="store_true", help="run the long campaigns in full, not a sample of each")


@pytest.fixture
def is_soak(request: pytest.FixtureRequest) -> bool:
    """Whether the long campaigns run in full."""
    return bool(request.config.getoption("--soak"))


def pytest_configure() -> None:
    """Choose the run's directory, and take the address of a cluster."""
    cluster.take_url()
    os.umask(0o022)  # that account has to pass through folders made here, whatever the caller's shell lets pass
    if RUN_DIR not in os.environ:
        _owned.append(new_directory())
        os.environ[RUN_DIR] = str(_owned[0])


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Return the number of workers that `-n auto` starts."""
    return _WORKERS


def pytest_unconfigure() -> None:
    """Remove what the run left, once every worker is gone."""
    for directory in _owned:
        del os.environ[RUN_DIR]
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


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out, on a cluster, what cannot run there."""
    if is_cluster() and (out := [one for one in items if is_left_out(one.nodeid)]):
        config.hook.pytest_deselected(items=out)
        items[:] = [one for one in items if one not in out]


def pytest_collection_finish(session: pytest.Session) -> None:
    """Let go of the generator's plugin when nothing collected uses it: its last word would load the generator."""
    if "hypothesis" not in sys.modules and session.config.pluginmanager.has_plugin("hypothesispytest"):
        session.config.pluginmanager.unregister(name="hypothesispytest")


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """The DSN of the run's server, whose durability is off."""
    directory = Path(os.environ[RUN_DIR])
    if is_cluster():
        directory.mkdir(exist_ok=True)
        yield os.environ[cluster.URL]
        return
    asyncio.run(sweep(keep=directory))
    server = EmbeddedPostgres(directory, settings=_SETTINGS)
    asyncio.run(server.start())
    yield server.dsn
    asyncio.run(server.stop())


@pytest.fixture(scope="session")
def migrated_template(postgres_server: str) -> str:
    """The DSN of the server, which has the migrated template by now."""
    asyncio.run(make_template(postgres_server))
    return postgres_server


@pytest.fixture
async def database(migrated_template: str) -> AsyncIterator[str]:
    """The DSN of a migrated database of the test's own."""
    async with database_clone(migrated_template) as dsn:
        yield dsn


@pytest.fixture
async def superuser(database: str) -> AsyncIterator[Connection]:
    """A connection to `database` that row security does not bind."""
    connection = await asyncpg.connect(database)
    yield connection
    await connection.close()


@pytest.fixture
async def empty_database(postgres_server: str) -> AsyncIterator[str]:
    """The DSN of an empty database of the test's own."""
    async with database_clone(postgres_server, "template0") as dsn:
        yield dsn


@pytest.fixture
async def pools(database: str) -> AsyncIterator[Pools]:
    """The pools on `database`."""
    opened = await open_pools(database, PoolsConfig(turn_connections=4, background_connections=2))
    yield opened
    await opened.close()
