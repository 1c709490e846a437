"""A tenant's agents, spaces, workspaces, owners and audit log, and the cache of tenants' states between calls.

Every method of `Tenants` opens its own transaction.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from datetime import datetime, timedelta
from functools import partial
from pathlib import PurePosixPath
from uuid import UUID

from compiler.releases import releasing
from sidecar.runtime.errors import InvalidArgument, NotFound
from sidecar.runtime.ttl_cache import ReadPatience, TtlCache
from sidecar.services.brain.settling import settle
from sidecar.services.forgetting.remote_forgetter import RemoteForgetter
from sidecar.services.forgetting.targets import ForgottenOwner, RemoteTarget
from sidecar.services.forgetting.tenant_deletion import TenantDeletion
from sidecar.services.validation import read_id, read_text
from store.accounting import audit
from store.accounting.audit import Entry
from store.db import purging
from store.db.postgres import Pool, Pools, scoped, tenant_scoped
from store.db.queries import Connection
from store.scope import Scope
from store.tenancy import forgotten, owners, templates, tenants
from store.tenancy.tenants import DEFAULT_TEMPLATE, Tenant, Workspace

MAX_NAME_CHARS = 300
MAX_LOCATION_CHARS = 400

_CLOCK_SKEW = timedelta(minutes=1)
_REMEMBER_S = 5.0
_GRACE_S = 300.0
_PATIENCE = ReadPatience(outdated_s=2.0)  # a slow database must not let a revoked token pass


class Tenancy:
    """Looks up tenants, and creates a verified tenant at its first call: the issuer of tokens decides which tenants exist."""

    def __init__(self, pool: Pool, *, now: Callable[[], datetime], clock: Callable[[], float]) -> None:
        self._pool = pool
        self._now = now
        self._known: TtlCache[UUID, Tenant | None] = TtlCache(
            self._read, for_s=_REMEMBER_S, grace_s=_GRACE_S, clock=clock, patience=_PATIENCE
        )

    async def not_before(self, tenant_id: UUID) -> datetime | None:
        """Return the instant before which the tenant's tokens are refused, read at most 5 s ago; None if none are refused."""
        tenant = await self._known.get(tenant_id)
        return None if tenant is None else tenant.tokens_not_before

    def forget(self, tenant_id: UUID | None = None) -> None:
        """Drop a changed tenant from the cache; without one, all tenants."""
        self._known.forget(lambda known: tenant_id in {None, known})

    async def _read(self, tenant_id: UUID) -> Tenant | None:
        async with tenant_scoped(self._pool, tenant_id) as connection:
            tenant = await tenants.get(connection, tenant_id)
            if tenant is None:
                await tenants.ensure_tenant(connection, tenant_id, now=self._now())
                tenant = await tenants.get(connection, tenant_id)
        return tenant


class _NotMeant(Exception):
    """Rolls back the transaction of a dry run."""


_WHOLE = RemoteTarget("owner")


class Tenants:
    """Sets up a tenant and forgets its owners; `now` returns the time of a write.

    `on_changed` is called with the tenant whose state changed, and `on_forgotten` with the forgotten owner, ahead of the notice.
    """

    def __init__(
        self,
        pools: Pools,
        *,
        now: Callable[[], datetime],
        on_changed: Callable[[UUID], None] = lambda _: None,
        on_forgotten: Callable[[Scope], None] = lambda _: None,
        elsewhere: RemoteForgetter | None = None,
    ) -> None:
        self._pool = pools.background
        self._now = now
        self._writing = partial(writing, self._pool, now=now, on_changed=on_changed)
        self._on_forgotten = on_forgotten
        self._elsewhere = elsewhere or RemoteForgetter(self._pool, {}, now=now)
        self.deletion = TenantDeletion(pools, now=now, forget_owner=self.forget_owner, on_changed=on_changed)

    async def get(self, tenant_id: UUID) -> Tenant:
        """Return the tenant's state. Raises NotFound before its first write."""
        async with tenant_scoped(self._pool, tenant_id, read_only=True) as connection:
            tenant = await tenants.get(connection, tenant_id)
        if tenant is None:
            raise NotFound("tenant")
        return tenant

    async def put_agent(self, tenant_id: UUID, agent_id: str, template_id: str) -> None:
        """Create an agent or change its template (empty for the default one); in force from its next turn."""
        read_id("agent_id", agent_id)
        template_id = read_id("template_id", template_id, is_optional=True) or DEFAULT_TEMPLATE
        async with self._writing(tenant_id) as (connection, now):
            await tenants.put_agent(connection, tenant_id, agent_id, template_id=template_id, now=now)

    async def put_space(self, tenant_id: UUID, space_id: str, name: str) -> None:
        """Create a space or change its name, of up to 300 characters."""
        read_id("space_id", space_id)
        read_text("name", name, max_chars=MAX_NAME_CHARS)
        async with self._writing(tenant_id) as (connection, now):
            await tenants.put_space(connection, tenant_id, space_id, name=name, now=now)

    async def put_workspace(self, tenant_id: UUID, level: str, ref: str, location: str) -> None:
        """Set the directory of a workspace's files below the tenant's folder; an empty directory removes the workspace.

        `level` is `tenant`, with an empty `ref`, or `template` or `agent`.
        """
        if level == "tenant" and ref:
            raise InvalidArgument("ref", "is set for the tenant's own level", "leave it empty")
        if level != "tenant":
            read_id("ref", ref)
        location = _read_location(location)
        async with self._writing(tenant_id) as (connection, _):
            if location:
                await tenants.put_workspace(connection, tenant_id, Workspace(level, ref, location))
            else:
                await tenants.remove_workspace(connection, tenant_id, level=level, ref=ref)

    async def revoke_tokens(self, tenant_id: UUID, not_before: datetime | None = None) -> datetime | None:
        """Refuse the tenant's tokens issued before an instant (None for now), and return the instant in force.

        That instant never moves back. Raises InvalidArgument for a future instant, which would refuse every caller until then.
        """
        now = self._now()
        if not_before is not None and not_before > now + _CLOCK_SKEW:
            raise InvalidArgument("not_before_time", "is in the future", "send an instant up to now, or none")
        async with self._writing(tenant_id) as (connection, _):
            return await tenants.revoke_tokens(connection, tenant_id, not_before=not_before or now)

    async def forget_owner(
        self, scope: Scope, *, is_dry_run: bool = False, asks_services: bool = True
    ) -> ForgottenOwner:
        """Delete all data of an owner, and return the number of rows by table; none if the tenant is unknown.

        Remote memory services forget the owner too; the report has each outcome. With `asks_services` False, only the worker
        asks them, a minute later. A dry run rolls back and calls no service.
        """
        counts: Mapping[str, int] = {}
        elsewhere = self._elsewhere.announced(scope)
        with suppress(_NotMeant):
            async with scoped(self._pool, scope) as connection:
                if await tenants.get(connection, scope.tenant_id) is None:
                    return ForgottenOwner(counts)
                counts = await owners.forget(connection, scope)
                await releasing.follow(connection, scope, None, now=self._now())
                if counts:
                    await purging.request(connection, now=self._now())
                if is_dry_run:
                    raise _NotMeant
                await self._elsewhere.note(connection, scope, _WHOLE)
        if is_dry_run:
            return ForgottenOwner(counts, elsewhere)
        self._on_forgotten(scope)
        async with scoped(self._pool, scope) as connection:
            await forgotten.date_owner(connection, scope, clock=self._now)
        await settle(self._pool, scope.tenant_id, now=self._now, on_forgotten=self._on_forgotten)
        return ForgottenOwner(counts, await self._elsewhere.settle_in_time(scope) if asks_services else elsewhere)

    async def audit_entries(
        self,
        tenant_id: UUID,
        *,
        about_owner: UUID | None,
        since: datetime,
        limit: int,
        before: tuple[datetime, UUID] | None = None,
    ) -> list[Entry]:
        """Return up to `limit` audit entries of admins' calls, newest first; only about one owner if named."""
        async with tenant_scoped(self._pool, tenant_id, read_only=True) as connection:
            return await audit.page(
                connection, tenant_id, about_owner=about_owner, since=since, limit=limit, before=before
            )


@asynccontextmanager
async def writing(
    pool: Pool, tenant_id: UUID, *, now: Callable[[], datetime], on_changed: Callable[[UUID], None]
) -> AsyncIterator[tuple[Connection, datetime]]:
    """Yield a transaction in which the tenant exists, and the time; the change is in force from the next turn on.

    Afterwards `on_changed` drops this process's caches of the tenant.
    """
    at = now()
    async with tenant_scoped(pool, tenant_id) as connection:
        await tenants.ensure_tenant(connection, tenant_id, now=at)
        yield connection, at
        await templates.notify_changed(connection, tenant_id)
    on_changed(tenant_id)


def _read_location(location: str) -> str:
    """Return the normalized directory. Links that lead out of the tenant's folder are checked when files are read."""
    read_text("location", location, max_chars=MAX_LOCATION_CHARS)
    path = PurePosixPath(location)
    if path.is_absolute() or ".." in path.parts or "\\" in location or (location and not location.isprintable()):
        raise InvalidArgument("location", "leads out of the tenant's folder", "send a relative directory without ..")
    return str(path) if location else ""
