"""What holds on a real Citus cluster alone: `make test-citus` runs it first, then the product's own tests.

`SIDECAR_CITUS_URL` names the coordinator; docs/scaling.md says how a cluster is made.
"""

from __future__ import annotations

import asyncpg
import pytest
from aiosql.types import SQLOperationType as Operation

from store.db import queries
from store.db.distribution import distribute
from store.db.placements import DISTRIBUTED
from store.db.postgres import DatabaseRole, Pools, scoped
from store.db.queries import Connection, Query
from store.errors import DRIVER_ERRORS
from store.scope import Scope
from tests.support.store.arguments import SCOPE, arguments_of

# They ask one server's catalogues and files, or run as the owner of the schema.
OF_THE_OWNER = {"distribution.sql", "migrate.sql", "notices.sql", "purging.sql", "server.sql"}
OWNERS_QUERIES = {"add_key"}
# The statement reached its rows, which refused the made-up values.
_REFUSED_VALUES = ("22", "23")


async def test_everything_is_spread_and_spreading_again_changes_nothing(database: str) -> None:
    again = await distribute(database)
    assert (again.distributed, again.reference, again.before) == ((), (), len(DISTRIBUTED))
    assert again.servers >= 2


async def refusal(pools: Pools, query: Query, role: DatabaseRole) -> asyncpg.PostgresError | None:
    """Run a query once with made-up values and take it back; return why the cluster refused it, if it did."""
    opened = scoped(pools.background, SCOPE, role=role)
    connection = await opened.__aenter__()
    refused: asyncpg.PostgresError | None = None
    try:
        await connection.fetch(query.sql, *await arguments_of(connection, query))
    except asyncpg.PostgresError as error:
        refused = None if str(error.sqlstate)[:2] in _REFUSED_VALUES else error
    with pytest.raises(Exception, match="taken back"):
        await opened.__aexit__(Exception, Exception("taken back"), None)
        raise Exception("taken back")
    return refused


async def test_every_query_of_the_store_runs(pools: Pools) -> None:
    refused: dict[str, str] = {}
    tried = 0
    for query in queries.all_queries():
        if query.operation is Operation.SCRIPT or query.file.name in OF_THE_OWNER or query.name in OWNERS_QUERIES:
            continue
        tried += 1
        error = await refusal(pools, query, DatabaseRole.APP)
        if isinstance(error, asyncpg.InsufficientPrivilegeError):
            error = await refusal(pools, query, DatabaseRole.WORKER)
        if error is not None:
            refused[f"{query.file.name}: {query.name}"] = str(error)
    assert tried > 400
    assert refused == {}


async def count_turns(pools: Pools, scope: Scope) -> int:
    """Return how many rows of turns a scope sees."""
    async with scoped(pools.turn, scope) as connection:
        return int(await connection.fetchval("SELECT count(*) FROM turns"))


async def test_a_tenant_sees_its_rows_on_every_server_and_no_others(pools: Pools, superuser: Connection) -> None:
    for number in range(1, 9):
        tenant = f"{number:032x}"
        await superuser.execute(
            f"INSERT INTO tenants (tenant_id, created_at) VALUES ('{tenant}', now());"
            f"INSERT INTO workspaces SELECT * FROM workspaces WHERE false"
        )
    async with scoped(pools.turn, SCOPE) as connection:
        assert await connection.fetchval("SELECT count(*) FROM tenants") == 1
    shards = await superuser.fetch("SELECT DISTINCT nodeport FROM citus_shards WHERE table_name = 'tenants'::regclass")
    assert len(shards) >= 2


@pytest.fixture
async def superuser(database: str) -> Connection:
    """A connection that passes row security."""
    return await asyncpg.connect(database)
