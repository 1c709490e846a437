"""Migrations and a service with users that are no superusers, on a server that has none of the roles yet."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import asyncpg
import pytest

from sidecar.runtime.database import check_roles, migrations
from store.db.migrate import migrate, status
from store.db.postgres import DatabaseRole, PoolsConfig, open_pools
from store.embedded import postmaster
from store.embedded.server import EmbeddedPostgres
from store.errors import LedgerUnreadable, RightsLost, RoleNotGranted
from tests.support.databases import new_directory


@pytest.fixture(scope="module")
def data_dir() -> Iterator[Path]:
    """A directory for a server of the module's own: roles belong to all databases of a server."""
    directory = new_directory()
    yield directory
    asyncio.run(postmaster.shut_down(directory / "pgdata"))
    shutil.rmtree(directory)


@pytest.fixture
async def superuser(data_dir: Path) -> AsyncIterator[asyncpg.Connection[asyncpg.Record]]:
    """A superuser's connection to a database of `migrator`, who may make roles; `server` is the user of a service."""
    async with EmbeddedPostgres(data_dir, settings={"fsync": "off"}) as server:
        connection = await asyncpg.connect(server.dsn)
        await connection.execute("CREATE ROLE migrator LOGIN CREATEROLE BYPASSRLS; CREATE ROLE server LOGIN")
        await connection.execute("ALTER DATABASE sidecar OWNER TO migrator; CREATE EXTENSION IF NOT EXISTS vector")
        yield connection
        await connection.close()


async def test_ordinary_user_migrates_and_a_member_of_the_roles_serves(
    superuser: asyncpg.Connection[asyncpg.Record], data_dir: Path
) -> None:
    dsn = EmbeddedPostgres(data_dir).dsn
    migrator, server = (dsn.replace("//postgres@", f"//{name}@") for name in ("migrator", "server"))
    await migrate(migrator, migrations())
    assert not await superuser.fetchval("SELECT has_schema_privilege('sidecar_search', 'public', 'CREATE')")

    with pytest.raises(LedgerUnreadable, match="GRANT sidecar_app, sidecar_worker"):
        await status(server, migrations())
    pools = await open_pools(server, PoolsConfig())
    for role in DatabaseRole:
        with pytest.raises(RoleNotGranted, match="GRANT sidecar_app, sidecar_worker"):
            await check_roles(pools.turn)
        await superuser.execute(f"GRANT {role} TO server")
    await check_roles(pools.turn)
    await pools.close()
    assert all(state.applied_at for state in await status(server, migrations()))

    await superuser.execute("REVOKE ALL ON ALL TABLES IN SCHEMA public FROM sidecar_app")
    for attempt in (status, migrate):
        with pytest.raises(RightsLost, match="a dump was restored on another"):
            await attempt(migrator, migrations())
