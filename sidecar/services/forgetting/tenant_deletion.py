"""Deletes a tenant: its owners one by one, as when an owner is forgotten, then everything that belongs to no owner.

Each piece is a transaction of its own, so a deletion that ends early is continued by the next call.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from sidecar.runtime.errors import FailedPrecondition
from sidecar.services.forgetting.targets import ForgottenElsewhere, ForgottenOwner, RemoteState
from store.db import purging
from store.db.postgres import Pools, tenant_scoped
from store.scope import Scope
from store.tenancy import templates, tenant_deletion, tenants

LONGEST_WRITE = timedelta(minutes=10)
_OWNERS_AT_ONCE = 100
_WORKS_S = 20.0


@dataclass(frozen=True, slots=True)
class DeletedTenant:
    """The rows that one call deleted, by table, whether nothing is left, and the remote services that have not answered yet."""

    row_counts: Mapping[str, int]
    is_complete: bool
    elsewhere: tuple[ForgottenElsewhere, ...] = ()


class TenantDeletion:
    """Deletes tenants; `now` returns the time. `forget_owner` deletes an owner, `on_changed` drops this process's caches of a
    tenant. A call works for about `works_s` seconds.
    """

    def __init__(
        self,
        pools: Pools,
        *,
        now: Callable[[], datetime],
        forget_owner: Callable[[Scope], Awaitable[ForgottenOwner]],
        on_changed: Callable[[UUID], None] = lambda _: None,
        works_s: float = _WORKS_S,
    ) -> None:
        self._pool = pools.background
        self._now = now
        self._forget_owner = forget_owner
        self._on_changed = on_changed
        self._works_s = works_s

    async def delete(self, tenant_id: UUID) -> DeletedTenant:
        """Delete rows of the tenant, and return how many, and whether none is left; a tenant without rows is complete.

        It is not complete until ten minutes after the revocation of its tokens, the longest that a large write may run, nor while
        a remote service has not answered. Raises FailedPrecondition if its tokens are not revoked.
        """
        async with tenant_scoped(self._pool, tenant_id, read_only=True) as connection:
            tenant = await tenants.get(connection, tenant_id)
        if tenant is None:
            return DeletedTenant({}, is_complete=True)
        if tenant.tokens_not_before is None:
            raise FailedPrecondition("tenant", _NOT_REVOKED)
        ends_at_s = asyncio.get_running_loop().time() + self._works_s
        counts, elsewhere = Counter[str](), list[ForgottenElsewhere]()
        try:
            is_empty = await self._delete_owners(tenant_id, ends_at_s, counts, elsewhere)
            is_empty = is_empty and await self._delete_rest(tenant_id, ends_at_s, counts)
            is_revoked_long_ago = self._now() - tenant.tokens_not_before >= LONGEST_WRITE
            is_complete = is_empty and is_revoked_long_ago and await self._end(tenant_id, counts)
        finally:
            self._on_changed(tenant_id)
        return DeletedTenant(counts, is_complete, tuple(elsewhere))

    async def _delete_owners(
        self, tenant_id: UUID, ends_at_s: float, counts: Counter[str], elsewhere: list[ForgottenElsewhere]
    ) -> bool:
        """Delete the tenant's owners, and return whether none is left to do."""
        after: UUID | None = None
        while True:
            async with tenant_scoped(self._pool, tenant_id, read_only=True) as connection:
                owner_ids = await tenant_deletion.owners_after(connection, tenant_id, after, limit=_OWNERS_AT_ONCE)
            if not owner_ids:
                return True
            for after in owner_ids:
                if asyncio.get_running_loop().time() >= ends_at_s:
                    return False
                done = await self._forget_owner(Scope(tenant_id, after))
                counts.update(done.row_counts)
                elsewhere += [one for one in done.elsewhere if one.outcome.state is RemoteState.WAITING]

    async def _delete_rest(self, tenant_id: UUID, ends_at_s: float, counts: Counter[str]) -> bool:
        """Delete the rows that belong to no owner, and return whether none is left."""
        while asyncio.get_running_loop().time() < ends_at_s:
            async with tenant_scoped(self._pool, tenant_id) as connection:
                deleted = await tenant_deletion.delete_some(connection, tenant_id)
                if not deleted:
                    return True
                await purging.request(connection, now=self._now())
                await templates.notify_changed(connection, tenant_id)
            counts.update(deleted)
        return False

    async def _end(self, tenant_id: UUID, counts: Counter[str]) -> bool:
        """Return whether nothing is left, and reset the tenant then; nothing can be written in between."""
        async with tenant_scoped(self._pool, tenant_id) as connection:
            await tenant_deletion.lock(connection, tenant_id)
            owner_ids = await tenant_deletion.owners_after(connection, tenant_id, None, limit=1)
            deleted = await tenant_deletion.delete_some(connection, tenant_id)
            counts.update(deleted)
            if deleted:
                await purging.request(connection, now=self._now())
            if owner_ids or deleted:
                return False
            await tenant_deletion.reset(connection, tenant_id)
            await templates.notify_changed(connection, tenant_id)
        return True


_NOT_REVOKED = (
    "its tokens are not revoked, so its agents may still write; revoke them, and send a token that was issued since"
)
