"""The compile states of a tenant's wikis."""

from __future__ import annotations

from uuid import uuid4

from store.compile import scopes
from store.db.postgres import Pools, scoped, tenant_scoped
from store.scope import Scope, owner_uuid, tenant_uuid
from store.tenancy import tenants
from tests.support.compiler.wiki_pages import NOW

TENANT, OTHER = tenant_uuid("acme"), tenant_uuid("zeta")


async def put(pools: Pools, scope: Scope, *, dirty_through: int) -> None:
    async with scoped(pools.background, scope) as connection:
        await tenants.ensure_tenant(connection, scope.tenant_id, now=NOW)
        await scopes.mark_dirty(connection, scope, through=dirty_through, now=NOW)


async def test_wikis_of_a_tenant_come_the_farthest_behind_first_with_their_number(pools: Pools) -> None:
    lags = {owner_uuid(f"owner {lag}"): lag for lag in (3, 9, 1, 7)}
    for owner_id, lag in lags.items():
        await put(pools, Scope(TENANT, owner_id), dirty_through=lag)
    for _ in range(3):
        await put(pools, Scope(OTHER, uuid4()), dirty_through=50)
    async with tenant_scoped(pools.background, TENANT, read_only=True) as connection:
        found, count = await scopes.of_tenant(connection, TENANT, limit=3)
        assert [(scope.tenant_id, lags[scope.owner_id]) for scope, _ in found] == [
            (TENANT, 9),
            (TENANT, 7),
            (TENANT, 3),
        ]
        assert [row.dirty_through for _, row in found] == [9, 7, 3]
        assert count == len(lags)
        assert await scopes.of_tenant(connection, OTHER, limit=3) == ([], 0)
    async with tenant_scoped(pools.background, tenant_uuid("new"), read_only=True) as connection:
        assert await scopes.of_tenant(connection, tenant_uuid("new"), limit=3) == ([], 0)
