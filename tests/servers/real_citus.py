"""What holds on a real Citus cluster alone: `make test-citus` runs it first, then the product's own tests.

`SIDECAR_CITUS_URL` names the coordinator; docs/scaling.md says how a cluster is made.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from uuid import UUID

import asyncpg
import pytest
from aiosql.types import SQLOperationType as Operation

from store.db import queries
from store.db.distribution import distribute
from store.db.placements import DISTRIBUTED
from store.db.postgres import DatabaseRole, Pools, installation, scoped
from store.db.queries import Connection, Query
from store.errors import AccessRefused, ConstraintViolated, StoreError, UnstorableValue
from store.scope import Scope
from tests.support.store.arguments import SCOPE, arguments_of

# They ask one server's catalogues and files, or run as the owner of the schema.
OF_THE_OWNER = {"distribution.sql", "migrate.sql", "notices.sql", "purging.sql", "server.sql"}
OWNERS_QUERIES = {"add_key"}


@pytest.fixture
async def superuser(database: str) -> AsyncIterator[Connection]:
    """A connection that passes row security."""
    connection = await asyncpg.connect(database)
    yield connection
    await connection.close()


async def test_everything_is_spread_and_spreading_again_changes_nothing(database: str) -> None:
    again = await distribute(database)
    assert (again.distributed, again.reference, again.before) == ((), (), len(DISTRIBUTED))
    assert again.servers >= 2


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
