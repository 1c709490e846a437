"""A scope's row opens an apply only for who holds its fence: a worker that was overtaken writes nothing."""

from __future__ import annotations

from datetime import timedelta

from store import scopes, tenants
from store.postgres import Pools, Role, scoped
from store.scopes import Lease, Stand
from tests.integration.compiling import NOW, SCOPE


async def test_an_overtaken_worker_cannot_open_an_apply(pools: Pools) -> None:
    later = NOW + timedelta(minutes=5)
    async with scoped(pools.background, SCOPE) as connection:
        await tenants.ensure_tenant(connection, SCOPE.tenant_id, now=NOW)
        await scopes.lock(connection, SCOPE, now=NOW)
    async with scoped(pools.background, SCOPE, role=Role.WORKER) as connection:
        first = await scopes.claim(connection, SCOPE, Lease("first", 60.0), now=NOW)
        second = await scopes.claim(connection, SCOPE, Lease("second", 60.0), now=later)
        assert first is not None
        assert second is not None
        stands = [Stand(one.fence, one.cursor, one.wiki_revision) for one in (first, second)]
        assert await scopes.open_apply(connection, SCOPE, stands[0], now=later) is None
        assert await scopes.open_apply(connection, SCOPE, stands[1], now=later) is not None
