"""The process's database: the operator's own, or the embedded one, migrated to the newest schema."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path

from sidecar.runtime.errors import MigrationsPending
from sidecar.runtime.settings import Settings
from sidecar.runtime.supervisor import Supervisor
from store.db import migrate
from store.db.postgres import DatabaseRole, Pool, PoolsConfig, direct, installation
from store.db.server_checks import check_server
from store.embedded.server import EmbeddedPostgres
from store.tenancy import keys

_USUAL_CONNECTIONS = 100


@dataclass(frozen=True, slots=True)
class Database:
    """The DSNs of Postgres: one for pooled work, a direct one for migrations and notices."""

    dsn: str
    direct_dsn: str
    embedded: EmbeddedPostgres | None = None

    @property
    def pgdata(self) -> Path | None:
        """The directory of the embedded server."""
        return self.embedded.pgdata if self.embedded else None


@asynccontextmanager
async def reached(settings: Settings, *, connections: int = 0) -> AsyncIterator[Database]:
    """Yield the database of the settings without changing it; an embedded one is started, and released at the end.

    If this starts an embedded one, it accepts at least `connections` connections.
    """
    if settings.database_url:
        yield Database(settings.database_url, settings.database_direct_url or settings.database_url)
        return
    options = {"max_connections": str(connections)} if connections > _USUAL_CONNECTIONS else None
    async with EmbeddedPostgres(settings.data_dir, bin_dir=settings.pg_bin, settings=options) as embedded:
        yield Database(embedded.dsn, embedded.dsn, embedded)


@asynccontextmanager
async def opened(settings: Settings, *, connections: int = 0) -> AsyncIterator[Database]:
    """Yield the database of the settings; an embedded one is migrated and kept running, with at least `connections`."""
    async with reached(settings, connections=connections) as database:
        embedded = database.embedded
        if embedded is None:
            yield database
            return
        await bring_up_to_date(database)
        supervisor = Supervisor()
        supervisor.start("embedded_postgres", embedded.keep_running)
        try:
            yield database
        finally:
            await supervisor.stop()


async def bring_up_to_date(database: Database, *, dry_run: bool = False) -> migrate.MigrationReport:
    """Apply pending migrations and create the fence key if there is none. Raises the errors of `store.db.migrate`."""
    report = await migrate.migrate(database.direct_dsn, migrations(), dry_run=dry_run)
    if not dry_run:
        async with direct(database.direct_dsn) as connection:
            key = keys.Key(f"fence-{secrets.token_hex(4)}", secrets.token_bytes(32))
            await keys.add(connection, keys.FENCE, key, now=datetime.now(UTC))
    return report


async def check(database: Database) -> None:
    """Raise ServerUnsuitable for an unsuitable server, MigrationsPending for an outdated schema."""
    async with direct(database.direct_dsn) as connection:
        await check_server(connection)
    states = await migrate.status(database.direct_dsn, migrations())
    if any(state.applied_at is None and not state.waits_for for state in states):
        raise MigrationsPending


async def check_roles(pool: Pool) -> None:
    """Raise RoleNotGranted unless the pool's user may act as all roles of transactions."""
    for role in DatabaseRole:
        async with installation(pool, role=role, read_only=True):
            pass


def migrations() -> Path:
    """Return the folder of this release's migrations."""
    spec = find_spec("migrations")
    places = spec and spec.submodule_search_locations
    assert places, "the migrations are part of this package"
    return Path(places[0])


def pools_config(settings: Settings) -> PoolsConfig:
    """Return the pool sizes from the settings."""
    return PoolsConfig(
        turn_connections=settings.turn_pool_size,
        background_connections=settings.background_pool_size,
        statement_cache_size=settings.statement_cache_size,
    )
