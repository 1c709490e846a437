"""Deletes a tenant: its owners one by one, as when an owner is forgotten, then everything that belongs to no owner.

Each piece is a transaction of its own, so a deletion that ends early is continued by the next call.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol
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
    """The rows that one call deleted, by table, whether nothing is left, and a report of each remote service that has
    not answered yet.
    """

    row_counts: Mapping[str, int]
    is_complete: bool
    elsewhere: tuple[ForgottenElsewhere, ...] = ()


class ForgetOwner(Protocol):
    """Deletes an owner, and asks remote services to do so too: at once, or later if `asks_services` is False."""

    async def __call__(self, scope: Scope, *, asks_services: bool) -> ForgottenOwner:
        """Return the deleted rows, and the outcome at each service."""


class TenantDeletion:
    """Deletes tenants; `now` returns the time. `forget_owner` deletes an owner, `on_changed` drops this process's caches of a
    tenant. A call works for about `works_s` seconds; the next one begins with the owners after its last.
    """

    def __init__(
        self,
        pools: Pools,
        *,
        now: Callable[[], datetime],
        forget_owner: ForgetOwner,
        on_changed: Callable[[UUID], None] = lambda _: None,
        works_s: float = _WORKS_S,
    ) -> None:
        self._pool = pools.background
        self._now = now
        self._forget_owner = forget_owner
        self._on_changed = on_changed
        self._works_s = works_s
        self._reached: dict[UUID, UUID] = {}

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
        counts, elsewhere = Counter[str](), dict[str, ForgottenElsewhere]()
        try:
            is_empty = await self._delete_owners(tenant_id, ends_at_s, counts, elsewhere)
            is_empty = is_empty and await self._delete_rest(tenant_id, ends_at_s, counts)
            is_revoked_long_ago = self._now() - tenant.tokens_not_before >= LONGEST_WRITE
            is_complete = is_empty and is_revoked_long_ago and await self._end(tenant_id, counts)
        finally:
            self._on_changed(tenant_id)
        return DeletedTenant(counts, is_complete, tuple(elsewhere.values()))

    async def _delete_owners(
        self, tenant_id: UUID, ends_at_s: float, counts: Counter[str], elsewhere: dict[str, ForgottenElsewhere]
    ) -> bool:
        """Delete the tenant's owners, and return whether none is left to do.

        `elsewhere` gets the services that do not answer, by name. They are asked no more in this call: else the time would be
        over before the data of the other owners are deleted here.
        """
        begin = self._reached.get(tenant_id)
        async with aclosing(self._owners(tenant_id, begin)) as owner_ids:
            async for owner_id in owner_ids:
                if asyncio.get_running_loop().time() >= ends_at_s:
                    return False
                done = await self._forget_owner(Scope(tenant_id, owner_id), asks_services=not elsewhere)
                self._reached[tenant_id] = owner_id
                counts.update(done.row_counts)
                for one in done.elsewhere:
                    if one.outcome.state is RemoteState.WAITING:
                        elsewhere.setdefault(one.backend, one)
        self._reached.pop(tenant_id, None)
        return True

    async def _owners(self, tenant_id: UUID, begin: UUID | None) -> AsyncGenerator[UUID]:
        """Yield the owners after `begin` in the order of their ids, then the others."""
        for after, last in [(begin, None), (None, begin)] if begin else [(None, None)]:
            place = after
            while owner_ids := await self._owners_after(tenant_id, place):
                for place in owner_ids:
                    if last is not None and place > last:
                        return
                    yield place

    async def _owners_after(self, tenant_id: UUID, after: UUID | None) -> list[UUID]:
        async with tenant_scoped(self._pool, tenant_id, read_only=True) as connection:
            return await tenant_deletion.owners_after(connection, tenant_id, after, limit=_OWNERS_AT_ONCE)

    async def _delete_rest(self, tenant_id: UUID, ends_at_s: float, counts: Counter[str]) -> bool:
        """Delete the rows that belong to no owner, and return whether none is left."""
        while asyncio.get_running_loop().time() < ends_at_s:
            async with tenant_scoped(self._pool, tenant_id) as connection:
                deleted = await tenant_deletion.delete_some(connection, tenant_id, now=self._now())
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
            deleted = await tenant_deletion.delete_some(connection, tenant_id, now=self._now())
            counts.update(deleted)
            if deleted:
                await purging.request(connection, now=self._now())
            if owner_ids or deleted:
                return False
            await tenant_deletion.reset(connection, tenant_id, now=self._now())
            await templates.notify_changed(connection, tenant_id)
        return True


_NOT_REVOKED = (
    "its tokens are not revoked, so its agents may still write; revoke them, and send a token that was issued since"
)
