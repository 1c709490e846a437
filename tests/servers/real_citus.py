"""What holds on a real Citus cluster alone: `make test-citus` runs it first, then the product's own tests.

`SIDECAR_CITUS_URL` names the coordinator; docs/scaling.md says how a cluster is made.
"""

from __future__ import annotations

import asyncio
import shutil
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import asyncpg
import grpc
from aiosql.types import SQLOperationType as Operation

from compiler.job.worker import Worker
from sidecar.cli.operations.doctor_checks import Finding, examine
from sidecar.v1 import context_pb2 as pb
from sidecar.v1 import memory_pb2
from sidecar.worker import compile_engine
from sidecar.worker.worker_process import handlers, worker_settings
from store.db import queries
from store.db.distribution import distribute
from store.db.migrate import migrate
from store.db.placements import DISTRIBUTED
from store.db.postgres import DatabaseRole, Pools, installation, scoped
from store.db.purging import purge
from store.db.queries import Connection, Query
from store.errors import AccessRefused, ConstraintViolated, StoreError, UnstorableValue
from store.scope import Scope, tenant_uuid
from tests.servers import cluster
from tests.support.compiler.compiling import engine_on, journal, write_and_compile
from tests.support.databases import name_of
from tests.support.places import ROOT
from tests.support.served.site import Caller, Site, ready, served
from tests.support.served.turns import THREAD, assembled, fill, said
from tests.support.store.arguments import SCOPE, arguments_of
from tests.support.waiting import until, until_equal

# They ask one server's catalogues and files, or run as the owner of the schema.
OF_THE_OWNER = {
    "distribution.sql",
    "migrate.sql",
    "notices.sql",
    "orphaned_files.sql",
    "purging.sql",
    "purging_servers.sql",
    "server.sql",
}
OWNERS_QUERIES = {"add_key"}


async def test_everything_is_spread_and_spreading_again_changes_the_servers_settings_alone(
    database: str, superuser: Connection
) -> None:
    await cluster.everywhere(f"ALTER DATABASE {name_of(database)} RESET ALL")
    again = await distribute(database)
    assert (again.distributed, again.before) == ((), len(DISTRIBUTED))
    assert again.servers >= 2
    chosen = "current_setting('citus.allow_nested_distributed_execution') || current_setting('citus.override_table_visibility')"
    rows = await superuser.fetch("SELECT success, result FROM run_command_on_all_nodes($1)", f"SELECT {chosen}")
    assert {tuple(row) for row in rows} == {(True, "onoff")}


async def test_pages_enter_every_server_s_search_indexes_as_they_are_written(
    pools: Pools, superuser: Connection
) -> None:
    await write_and_compile(pools, journal(12), engine_on(pools))
    # The index of the shard `wiki_pages_7` is `wiki_pages_search_7`.
    index = "regexp_replace('%s', '(_[0-9]+)$', '_search\\1')::regclass"
    at_once = "'fastupdate=off' = ANY(reloptions)"
    command = f"SELECT (gin_clean_pending_list(oid), {at_once}) FROM pg_class WHERE oid = {index}"
    for table in ("wiki_pages", "wiki_page_sections"):
        rows = await superuser.fetch("SELECT success, result FROM run_command_on_placements($1, $2)", table, command)
        assert len(rows) >= 2
        assert {tuple(row) for row in rows} == {(True, "(0,t)")}


async def test_next_release_changes_tables_and_functions_that_are_spread(
    database: str, superuser: Connection, tmp_path: Path
) -> None:
    folder = tmp_path / "migrations"
    shutil.copytree(ROOT / "migrations", folder, ignore=shutil.ignore_patterns("*.py", "__pycache__"))
    (folder / "9001_next.sql").write_text(
        "CREATE TABLE trial (tenant_id uuid REFERENCES tenants, owner_id uuid, PRIMARY KEY (tenant_id, owner_id));"
        "CREATE INDEX trial_of_owner ON memories (tenant_id, owner_id);"
        "ALTER TABLE memories ADD COLUMN trial text; GRANT SELECT (trial) ON memories TO sidecar_search;"
        "CREATE FUNCTION trial() RETURNS int LANGUAGE sql IMMUTABLE RETURN 1; GRANT EXECUTE ON FUNCTION trial TO sidecar_app;"
        "UPDATE memories SET trial = trial()"
    )
    (folder / "9002_index.sql").write_text(
        "-- no-transaction\nCREATE INDEX CONCURRENTLY trial_of_text ON memories (trial)"
    )
    assert (await migrate(database, folder)).applied == ("9001_next", "9002_index")
    said = "SELECT trial() + count(*) FROM memories WHERE trial IS NULL"
    rows = await superuser.fetch("SELECT success, result FROM run_command_on_workers($1)", said)
    assert {tuple(row) for row in rows} == {(True, "1")}


class _TakenBack(Exception):
    """Rolls back what a query did."""


async def refusal(pools: Pools, query: Query, role: DatabaseRole) -> str:
    """Run a query once with made-up values and take it back; return why the cluster refused it, empty if it did not."""
    try:
        async with scoped(pools.background, SCOPE, role=role) as connection:
            await connection.fetch(query.sql, *await arguments_of(connection, query))
            raise _TakenBack
    except _TakenBack:
        return ""
    except (UnstorableValue, ConstraintViolated):
        return ""  # it reached its rows, and they refused the values
    except AccessRefused as error:
        return "" if role is DatabaseRole.WORKER and query.name in OWNERS_QUERIES else str(error)
    except StoreError as error:
        return f"{error}: {error.__cause__}"


async def test_every_query_of_the_store_runs(pools: Pools) -> None:
    refused: dict[str, str] = {}
    tried = 0
    for query in queries.all_queries():
        if query.operation is Operation.SCRIPT or query.file.name in OF_THE_OWNER or query.name in OWNERS_QUERIES:
            continue
        tried += 1
        said = await refusal(pools, query, DatabaseRole.APP)
        if said and not await refusal(pools, query, DatabaseRole.WORKER):
            continue
        if said:
            refused[f"{query.file.name}: {query.name}"] = said
    assert tried > 400
    assert refused == {}


async def test_a_tenant_sees_its_row_wherever_it_lies_and_no_other(pools: Pools, superuser: Connection) -> None:
    tenants = [UUID(int=number) for number in range(1, 17)]
    for tenant in tenants:
        await superuser.execute("INSERT INTO tenants (tenant_id, created_at) VALUES ($1, now())", tenant)
    for tenant in tenants:
        async with scoped(pools.turn, Scope(tenant, tenant)) as connection:
            assert [row["tenant_id"] for row in await connection.fetch("SELECT tenant_id FROM tenants")] == [tenant]
    async with installation(pools.turn) as connection:
        assert await connection.fetch("SELECT tenant_id FROM tenants") == []
    places = await superuser.fetch("SELECT DISTINCT nodename, nodeport FROM citus_shards WHERE shard_size > 0")
    assert len(places) >= 2


def postmaster_of(directory: str) -> tuple[list[str], dict[str, Any]]:
    """Return the command that stops or starts the server of a data directory on this machine, and what it runs with."""
    pid = Path(directory, "postmaster.pid").read_text().split()[0]
    process = Path("/proc", pid)
    command = [str((process / "exe").readlink().with_name("pg_ctl")), "-D", directory, "-w"]
    environment = [one.partition("=") for one in (process / "environ").read_text().split("\0") if one]
    owner = process.stat()
    quiet = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.DEVNULL)
    env = {name: value for name, _, value in environment}
    return command, {"env": env, "user": owner.st_uid, "group": owner.st_gid, "cwd": "/", **quiet}


def run(command: list[str], options: dict[str, Any]) -> None:
    subprocess.run(command, check=True, **options)


@asynccontextmanager
async def stopped(dsn: str) -> AsyncIterator[None]:
    """Stop a server of the cluster, which runs on this machine, and start it again at the end."""
    connection = await asyncpg.connect(dsn)
    directory = await connection.fetchval("SHOW data_directory")
    await connection.close()
    command, options = postmaster_of(directory)
    await asyncio.to_thread(run, [*command, "-m", "immediate", "stop"], options)
    try:
        yield
    finally:
        await asyncio.to_thread(run, [*command, "start"], options)


async def tenants_by_server(superuser: Connection) -> dict[str, str]:
    """Return the name of one tenant for each server, by the server's address."""
    found: dict[str, str] = {}
    for name in (f"tenant{number}" for number in range(40)):
        shard = "SELECT get_shard_id_for_distribution_column('tenants', $1::uuid)"
        where = f"SELECT nodename || ':' || nodeport FROM citus_shards WHERE shardid = ({shard})"
        found.setdefault(await superuser.fetchval(where, tenant_uuid(name)), name)
    return found


async def answered(caller: Caller) -> bool:
    """Return whether the turn had everything; a turn that had not is one with a report, or refused as unavailable."""
    try:
        answer = await assembled(caller, timeout=20.0)
    except grpc.aio.AioRpcError as error:
        if error.code() is grpc.StatusCode.UNAVAILABLE:
            return False
        raise
    return not answer.degraded


async def written(caller: Caller, number: int) -> grpc.StatusCode | None:
    """Write a turn and a memory, and return the status of the first refusal, if there is one."""
    memories = [memory_pb2.NewMemory(text=f"Mara bought rope number {number}.")]
    try:
        await caller.AppendTurns(
            pb.AppendTurnsRequest(thread_id=THREAD, turns=said(("Rope?", "Yes."), start=90 + number))
        )
        await caller.Retain(memory_pb2.RetainRequest(memories=memories))
    except grpc.aio.AioRpcError as error:
        return error.code()
    return None


@asynccontextmanager
async def compiling(site: Site) -> AsyncIterator[None]:
    """Run a worker on the site's database until the block ends."""
    pool = site.app.pools.background
    async with compile_engine.engine(site.settings, pool) as engine:
        worker = Worker(pool, engine, worker_settings(site.settings), handlers(pool))
        running = asyncio.create_task(worker.run())
        yield
        worker.stop()
        await running


async def until_compiled(superuser: Connection, tenant: str) -> None:
    """Return once every compile of a tenant has succeeded."""
    left = "SELECT count(*) FROM wiki_compile_jobs WHERE tenant_id = $1 AND status <> 'succeeded'"
    await until_equal(lambda: superuser.fetchval(left, tenant_uuid(tenant)), 0, 60)


async def doctor(dsn: str, home: Path) -> Finding:
    """Return what the doctor finds of the cluster's servers."""
    environ = {"SIDECAR_DATABASE_URL": dsn, "SIDECAR_DATA_DIR": str(home), "SIDECAR_EMBEDDER": "none"}
    [found] = [one for one in await examine(environ) if one.name == "cluster"]
    return found


async def test_a_lost_server_is_missed_by_its_own_tenants_alone_until_it_is_back(
    database: str, superuser: Connection, tmp_path: Path
) -> None:
    async with served(await ready(database, tmp_path)) as site:
        servers = await tenants_by_server(superuser)
        (lost, its_tenant), (_, other), *_ = sorted(servers.items())
        callers = {name: await fill(site, tenant=name) for name in (its_tenant, other)}
        assert all([await answered(one) for one in callers.values()])
        host, _, port = lost.rpartition(":")
        async with stopped(cluster.at(database, "postgres", host, int(port))):
            assert not await answered(callers[its_tenant])
            assert await answered(callers[other])
            report = await purge(database, is_forced=True)
            assert ([one.partition(": ")[0] for one in report.unpurged], report.servers) == ([lost], ())
            found = await doctor(database, tmp_path)
            assert (found.is_well, found.detail.partition(" does")[0]) == (False, lost)
            for caller, outcome in ((callers[other], None), (callers[its_tenant], grpc.StatusCode.UNAVAILABLE)):
                assert [await written(caller, number) for number in range(3)] == [outcome] * 3
            async with compiling(site):
                await until_compiled(superuser, other)
        async with asyncio.timeout(60):
            while not await answered(callers[its_tenant]):
                await asyncio.sleep(0.2)
        assert await answered(callers[other])
        assert await written(callers[its_tenant], 3) is None
        async with compiling(site):
            await until_compiled(superuser, its_tenant)
        assert (await doctor(database, tmp_path)).is_well
        report = await purge(database, is_forced=True)
        assert (report.left, report.unpurged, sorted(report.servers)) == (0, (), sorted(servers))


async def waited(database: str, reader: Connection, watcher: Connection, event: str) -> None:
    """Purge, and see that it waits on the server of the two sessions until the reader's transaction ends."""
    seen = (
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND backend_type = 'client backend'"
    )
    purging = asyncio.create_task(purge(database, is_forced=True))
    await until(lambda: watcher.fetchval(f"{seen} AND wait_event_type = $1", event))
    assert not purging.done()
    await reader.execute("ROLLBACK")
    report = await purging
    assert (report.unpurged, len(report.servers)) == ((), 2)


async def test_a_purge_waits_on_another_server_for_sessions_that_see_deleted_rows_and_for_tables_in_use(
    database: str, superuser: Connection
) -> None:
    await superuser.execute("INSERT INTO tenants (tenant_id, created_at) VALUES ($1, now())", SCOPE.tenant_id)
    number = "get_shard_id_for_distribution_column('tenants', $1::uuid)"
    where = f"SELECT nodename, nodeport, shard_name FROM citus_shards WHERE shardid = {number}"
    [(host, port, shard)] = await superuser.fetch(where, SCOPE.tenant_id)
    part = cluster.at(database, name_of(database), host, port)
    reader, watcher = await asyncpg.connect(part), await asyncpg.connect(part)
    await reader.execute("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM pg_class")
    await superuser.execute("UPDATE tenants SET created_at = $1", datetime.now(UTC))
    await waited(database, reader, watcher, "Timeout")  # it pauses
    await reader.execute("SET citus.enable_manual_changes_to_shards = on")
    await reader.execute(f"BEGIN; LOCK TABLE {shard} IN ROW EXCLUSIVE MODE")
    await waited(database, reader, watcher, "Lock")
    await reader.close()
    await watcher.close()
