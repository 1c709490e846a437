"""The databases of a test run on a Citus cluster: `SIDECAR_CITUS_URL` names its coordinator, as a superuser.

The run keeps the URL under a name of its own: the product refuses unknown settings, also in the processes that tests start.

A database that spreads over servers is copied by copying its part on each of them: the copies refer to each other by address and
by their own name, so they are a cluster again.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import urlsplit, urlunsplit
from uuid import uuid4

import asyncpg

from store.db.distribution import distribute
from store.db.migrate import migrate
from tests.support.places import ROOT

URL = "CONTEXT_SIDECAR_CITUS_URL"
_GIVEN = "SIDECAR_CITUS_URL"
_TEMPLATE = "sidecar_template_"
_COPY = "sidecar_test_"
_SHARDS = 8  # of each table: the default of 32 only makes copying and emptying a database four times as long
_SETTINGS = ("citus.allow_nested_distributed_execution = on", "citus.override_table_visibility = off")
_servers: list[str] = []


def take_url() -> None:
    """Move the URL that the user gave, if there is one, to the run's own name."""
    if given := os.environ.pop(_GIVEN, ""):
        os.environ[URL] = given


def at(dsn: str, database: str, host: str = "", port: int = 0) -> str:
    """Return the DSN of another database, on another server if one is given."""
    parts = urlsplit(dsn)
    login = f"{parts.netloc.rpartition('@')[0]}@" if "@" in parts.netloc else ""
    netloc = f"{login}{host}:{port}" if host else parts.netloc
    return urlunsplit(parts._replace(netloc=netloc, path=f"/{database}"))


async def servers() -> list[str]:
    """Return the DSNs of every server of the cluster, the coordinator's first. They stay the same through a run."""
    if _servers:
        return _servers
    url = os.environ[URL]
    connection = await asyncpg.connect(url)
    try:
        rows = await connection.fetch("SELECT nodename, nodeport FROM pg_dist_node ORDER BY groupid")
    finally:
        await connection.close()
    found = [at(url, urlsplit(url).path[1:], row["nodename"], row["nodeport"]) for row in rows]
    assert len(found) > 1, "the cluster has a coordinator and servers for shards, added to the database of the URL"
    _servers.extend(found)
    return _servers


async def run(dsn: str, *statements: str) -> None:
    """Run statements on one server, each by itself, without telling the others."""
    connection = await asyncpg.connect(dsn)
    try:
        await connection.execute("SET citus.enable_ddl_propagation = off")
        for statement in statements:
            await connection.execute(statement)
    finally:
        await connection.close()


async def everywhere(*statements: str, database: str = "postgres") -> None:
    """Run statements on every server, each by itself."""
    await asyncio.gather(*(run(at(dsn, database), *statements) for dsn in await servers()))


def template_name() -> str:
    """Return the name of the template of this schema, spread as the lists say."""
    sources = [
        *sorted((ROOT / "migrations").glob("*.sql")),
        ROOT / "store/db/placements.py",
        ROOT / "store/db/distribution.sql",
    ]
    return _TEMPLATE + hashlib.sha256(b"".join(one.read_bytes() for one in sources)).hexdigest()[:16]


async def make_template() -> None:
    """Make a migrated, spread database and close it: a copy needs it unused. One of the same schema is used again.

    Copies and templates of earlier runs are removed.
    """
    template = template_name()
    connection = await asyncpg.connect(os.environ[URL])
    found = await connection.fetch("SELECT datname, datallowconn FROM pg_database WHERE datname LIKE 'sidecar\\_te%'")
    await connection.close()
    whole = {row["datname"] for row in found if not row["datallowconn"]} & {template}
    for row in found:
        if row["datname"] not in whole:
            await everywhere(f"DROP DATABASE IF EXISTS {row['datname']} WITH (FORCE)")
    if whole:
        return
    await everywhere(
        f"DROP DATABASE IF EXISTS {template} WITH (FORCE)",
        f"CREATE DATABASE {template} TEMPLATE template0",
        f"ALTER DATABASE {template} SET citus.shard_count = {_SHARDS}",
    )
    await everywhere("CREATE EXTENSION citus", database=template)
    coordinator, *others = [urlsplit(dsn) for dsn in await servers()]
    dsn = at(os.environ[URL], template)
    connection = await asyncpg.connect(dsn)
    try:
        await connection.fetchval("SELECT citus_set_coordinator_host($1, $2)", coordinator.hostname, coordinator.port)
        for one in others:
            await connection.fetchval("SELECT citus_add_node($1, $2)", one.hostname, one.port)
    finally:
        await connection.close()
    await migrate(dsn, ROOT / "migrations")
    await distribute(dsn)
    await everywhere(f"ALTER DATABASE {template} ALLOW_CONNECTIONS false")


# Everything of a database that a test may change and that emptying its tables leaves: it is not used again then.
_SHAPE = (
    "SELECT (SELECT string_agg(oid::regprocedure || md5(prosrc), ' ' ORDER BY oid) FROM pg_proc"
    " WHERE pronamespace = 'public'::regnamespace)"
    " || (SELECT string_agg(relname || ' ' || relnatts || ' ' || coalesce(relacl::text, ''), ' ' ORDER BY oid) FROM pg_class"
    " WHERE relnamespace = 'public'::regnamespace)"
    " || (SELECT string_agg(s.setconfig::text, ' ' ORDER BY s.setrole) FROM pg_db_role_setting AS s"
    " JOIN pg_database AS d ON d.oid = s.setdatabase WHERE d.datname = current_database())"
    " || (SELECT string_agg(m::text, ' ' ORDER BY m::text) FROM schema_migrations AS m)"
)
# Each server empties its own part, in one round trip: through the coordinator that took a second.
_EMPTIED = (
    "SET session_replication_role = replica",
    "SET lock_timeout = '5s'",
    "SET citus.enable_manual_changes_to_shards = on",
    (
        "DO $$ DECLARE one regclass; BEGIN"
        " FOR one IN SELECT oid FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace"
        " AND pg_relation_size(oid) > 0 AND relname <> 'schema_migrations'"
        " LOOP EXECUTE format('DELETE FROM %s', one); END LOOP; END $$"
    ),
)
_free: list[str] = []  # databases of this process that no test uses
_shapes: dict[str, str] = {}  # of each copy as it was made


@asynccontextmanager
async def clone() -> AsyncIterator[str]:
    """Yield the DSN of an empty copy of the template. It is kept for the next test: a copy takes seconds, emptying it less."""
    dsn = _free.pop() if _free else await _copy()
    yield dsn
    await _put_back(dsn)


async def _copy() -> str:
    name, template = f"{_COPY}{uuid4().hex}", template_name()
    await everywhere(
        f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{template}'",
        f"CREATE DATABASE {name} TEMPLATE {template} STRATEGY file_copy",
        *(f"ALTER DATABASE {name} SET {setting}" for setting in _SETTINGS),
    )
    dsn = at(os.environ[URL], name)
    _shapes[dsn] = await _shape_of(dsn)
    return dsn


async def _shape_of(dsn: str) -> str:
    connection = await asyncpg.connect(dsn)
    try:
        found: str = await connection.fetchval(_SHAPE)
    finally:
        await connection.close()
    return found


async def _put_back(dsn: str) -> None:
    """Keep an emptied database for the next test; drop one that a test changed otherwise."""
    name = urlsplit(dsn).path[1:]
    if await _shape_of(dsn) != _shapes[dsn]:
        await everywhere(f"DROP DATABASE {name} WITH (FORCE)")
        return
    stop = (
        f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}' AND pid <> pg_backend_pid()"
    )
    await run(at(dsn, "postgres"), f"{stop} AND backend_type = 'client backend'")
    try:
        await everywhere(*_EMPTIED, database=name)
    except asyncpg.PostgresError:
        await everywhere(f"DROP DATABASE {name} WITH (FORCE)")
    else:
        _free.append(dsn)
