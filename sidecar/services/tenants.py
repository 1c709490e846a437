"""What is known of a tenant between calls: that it exists, and from when on its tokens count."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from uuid import UUID

from sidecar.runtime.ttl_cache import TtlCache
from store.db.postgres import Pool, tenant_scoped
from store.tenancy import tenants
from store.tenancy.tenants import Tenant

_REMEMBER_S = 5.0
_GRACE_S = 300.0


class Tenancy:
    """Looks tenants up. A verified tenant that was never seen is made: whoever issues tokens decides who is a tenant."""

    def __init__(self, pool: Pool, *, now: Callable[[], datetime], clock: Callable[[], float]) -> None:
        self._pool = pool
        self._now = now
        self._known: TtlCache[UUID, Tenant | None] = TtlCache(
            self._read, for_s=_REMEMBER_S, grace_s=_GRACE_S, clock=clock
        )

    async def not_before(self, tenant_id: UUID) -> datetime | None:
        """Return the instant before which the tenant's tokens are refused, at most 5 s old; None when none are."""
        tenant = await self._known.get(tenant_id)
        return None if tenant is None else tenant.tokens_not_before

    def forget(self, tenant_id: UUID | None = None) -> None:
        """Read a tenant anew, because it changed; without one, every tenant, because they may have."""
        self._known.forget(lambda known: tenant_id in {None, known})

    async def _read(self, tenant_id: UUID) -> Tenant | None:
        async with tenant_scoped(self._pool, tenant_id) as connection:
            tenant = await tenants.get(connection, tenant_id)
            if tenant is None:
                await tenants.ensure_tenant(connection, tenant_id, now=self._now())
                tenant = await tenants.get(connection, tenant_id)
        return tenant
