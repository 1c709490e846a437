"""A scope's row admits only the holder of its fencing token: a superseded worker writes nothing.

Neither does a worker whose owner was forgotten and created again meanwhile.
"""

from __future__ import annotations

from datetime import timedelta

from compiler.plan.batch import LeafBatch
from compiler.planners.planner import ExtractivePlanner, Proposed
from store.compile import jobs, scopes
from store.compile.scopes import ExpectedState, Lease
from store.db.postgres import DatabaseRole, Pools, scoped
from store.tenancy import owners, tenants
from tests.support.compiler.compiling import (
    NOW,
    SCOPE,
    engine_on,
    fetch,
    journal,
    worker_on,
    write_and_request,
)


async def test_overtaken_worker_cannot_open_an_apply(pools: Pools) -> None:
    later = NOW + timedelta(minutes=5)
    async with scoped(pools.background, SCOPE) as connection:
        await tenants.ensure_tenant(connection, SCOPE.tenant_id, now=NOW)
        await scopes.lock(connection, SCOPE, now=NOW)
    async with scoped(pools.background, SCOPE, role=DatabaseRole.WORKER) as connection:
        first = await scopes.claim(connection, SCOPE, Lease("first", 60.0), now=NOW)
        second = await scopes.claim(connection, SCOPE, Lease("second", 60.0), now=later)
        assert first is not None
        assert second is not None
        stands = [ExpectedState(one.fence, one.cursor, one.wiki_revision) for one in (first, second)]
        assert await scopes.open_apply(connection, SCOPE, stands[0], now=later) is None
        assert await scopes.open_apply(connection, SCOPE, stands[1], now=later) is not None


async def test_plan_for_an_owner_forgotten_and_recreated_is_not_applied(pools: Pools, database: str) -> None:
    """The new row looks like the old one, and another worker holds it: only the fence tells them apart."""

    class Overtaken(ExtractivePlanner):
        async def plan_leaf(self, batch: LeafBatch) -> Proposed:
            proposed = await super().plan_leaf(batch)
            async with scoped(pools.background, SCOPE) as connection:
                await owners.forget(connection, SCOPE)
            await write_and_request(pools, journal(1, first=90))
            async with scoped(pools.background, SCOPE, role=DatabaseRole.WORKER) as connection:
                assert await scopes.claim(connection, SCOPE, Lease("other", 60.0), now=NOW) is not None
                assert await jobs.start_next(connection, SCOPE, now=NOW) is not None
            return proposed

    await write_and_request(pools, journal(12))
    assert not await worker_on(pools, engine_on(pools, planner=Overtaken())).drain_scope(SCOPE)
    for table in ("wiki_pages", "compile_batches", "memory_ledger"):
        assert await fetch(database, f"SELECT 1 FROM {table}") == [], table
    (row,) = await fetch(database, "SELECT lease_holder FROM wiki_compile_cursors")
    assert row["lease_holder"] == "other"
