"""A tenant's decisions about its configured backends: switches, approved tools, webhooks.

Backends come from the configuration; a tenant sees and controls only its own. A decision takes effect from the next turn on:
this process drops its cache at once, others on a notice.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import partial
from uuid import UUID, uuid4

from sidecar.backends.tools import Offered, ToolKeeper
from sidecar.context.ports import BackendError
from sidecar.runtime.errors import FailedPrecondition, InvalidArgument, NotFound
from sidecar.services.tenants import writing
from sidecar.services.validation import read_id, read_name, read_text
from store.db.postgres import Pools, scoped, tenant_scoped
from store.scope import Scope
from store.tenancy import backends, tenants, webhooks
from store.tenancy.backends import Approval, Switch
from store.tenancy.webhooks import Subscription

MAX_REASON_CHARS = 500
MAX_QUESTION_CHARS = 4_000


class Backends:
    """Switches backends and approves tools. `configured` holds backends by tenant and name; others raise NotFound."""

    def __init__(
        self,
        pools: Pools,
        configured: Mapping[UUID, Mapping[str, object]],
        *,
        now: Callable[[], datetime],
        on_changed: Callable[[UUID], None] = lambda _: None,
    ) -> None:
        self._pool = pools.background
        self._configured = configured
        self._now = now
        self._writing = partial(writing, self._pool, now=now, on_changed=on_changed)

    async def switches(self, tenant_id: UUID) -> list[tuple[str, Switch | None]]:
        """Return the tenant's backends by name, each with its switch; None if it was never switched."""
        async with tenant_scoped(self._pool, tenant_id, read_only=True) as connection:
            known = {switch.backend: switch for switch in await backends.switches(connection, tenant_id)}
        return [(name, known.get(name)) for name in sorted(self._configured.get(tenant_id, {}))]

    async def switch(self, tenant_id: UUID, backend: str, *, is_off: bool, reason: str, author: str) -> None:
        """Set a backend's switch, with the reason in up to 500 characters."""
        self._backend(tenant_id, backend)
        read_text("reason", reason, max_chars=MAX_REASON_CHARS)
        async with self._writing(tenant_id) as (connection, now):
            await backends.put_switch(connection, tenant_id, Switch(backend, is_off, reason, author, now))

    async def tools(self, tenant_id: UUID, backend: str = "") -> tuple[list[tuple[str, Offered]], list[str]]:
        """Return the tools that the tenant's servers, or the named one, declare, and the errors of servers that do not answer."""
        if backend:
            wanted = {backend: self._keeper(tenant_id, backend)}
        else:
            configured = self._configured.get(tenant_id, {})
            wanted = {name: one for name, one in configured.items() if isinstance(one, ToolKeeper)}
        names = sorted(wanted)
        # At once: servers that do not answer would otherwise take the caller's time one after another.
        found = await asyncio.gather(*(_offered_or_why(wanted[name], tenant_id) for name in names))
        tools = [
            (name, one)
            for name, offered in zip(names, found, strict=True)
            if not isinstance(offered, BackendError)
            for one in sorted(offered, key=lambda one: one.tool.name)
        ]
        return tools, [str(one) for one in found if isinstance(one, BackendError)]

    async def approve_tool(self, tenant_id: UUID, backend: str, tool: str, *, schema_hash: str, author: str) -> Offered:
        """Approve a tool as it is declared now, and return it.

        Raises FailedPrecondition if a turn could not call it, or if its declaration does not have the hash `schema_hash`
        (hexadecimal; empty for any declaration).
        """
        keeper = self._keeper(tenant_id, backend)
        offered = (await _suited(keeper, tenant_id, tool)).tool
        if schema_hash and schema_hash != offered.schema_hash.hex():
            raise FailedPrecondition("schema_hash", "The tool's declaration has changed; review it again")
        async with self._writing(tenant_id) as (connection, now):
            approval = Approval(backend, offered.name, offered.schema_hash, author, now)
            await backends.approve(connection, tenant_id, approval)
        return await _offered(keeper, tenant_id, offered.name)

    async def revoke_tool(self, tenant_id: UUID, backend: str, tool: str) -> bool:
        """Revoke a tool's approval, even if its server no longer declares it; return whether it was approved."""
        read_name("backend", backend)
        read_id("tool", tool)
        async with self._writing(tenant_id) as (connection, _):
            return await backends.revoke(connection, tenant_id, backend=backend, tool=tool)

    async def test_tool(self, tenant_id: UUID, backend: str, tool: str, question: str) -> Sequence[str]:
        """Call a tool once, and return its texts. Only tools that a turn could call are allowed, so that it writes nothing."""
        keeper = self._keeper(tenant_id, backend)
        read_text("question", question, max_chars=MAX_QUESTION_CHARS, min_chars=1)
        return await keeper.tried((await _suited(keeper, tenant_id, tool)).tool.name, question)

    async def create_webhook(self, scope: Scope, backend: str) -> Subscription:
        """Create the owner's webhook of a backend, or return the existing one."""
        self._backend(scope.tenant_id, backend)
        now = self._now()
        async with scoped(self._pool, scope) as connection:
            await tenants.ensure_tenant(connection, scope.tenant_id, now=now)
            return await webhooks.ensure(
                connection, Subscription(uuid4(), scope, backend, secrets.token_bytes(32), now)
            )

    async def delete_webhook(self, scope: Scope, backend: str) -> bool:
        """Delete the owner's webhook of a backend; return whether there was one."""
        read_name("backend", backend)
        async with scoped(self._pool, scope) as connection:
            known = await webhooks.of_backend(connection, scope, backend)
            if known is not None:
                await webhooks.unsubscribe(connection, scope, known.subscription_id)
        return known is not None

    def _backend(self, tenant_id: UUID, name: str) -> object:
        backend = self._configured.get(tenant_id, {}).get(read_name("backend", name))
        if backend is None:
            raise NotFound("backend")
        return backend

    def _keeper(self, tenant_id: UUID, name: str) -> ToolKeeper:
        backend = self._backend(tenant_id, name)
        if not isinstance(backend, ToolKeeper):
            raise InvalidArgument("backend", "has no tools", "name one that is configured under [[tools]]")
        return backend


async def _offered_or_why(keeper: ToolKeeper, tenant_id: UUID) -> tuple[Offered, ...] | BackendError:
    try:
        return await keeper.offered(tenant_id)
    except BackendError as error:
        return error


async def _suited(keeper: ToolKeeper, tenant_id: UUID, name: str) -> Offered:
    offered = await _offered(keeper, tenant_id, read_id("tool", name))
    if offered.unsuited:
        raise FailedPrecondition("tool", f"The tool cannot be called in a turn: {offered.unsuited}")
    return offered


async def _offered(keeper: ToolKeeper, tenant_id: UUID, name: str) -> Offered:
    offered = next((tool for tool in await keeper.offered(tenant_id) if tool.tool.name == name), None)
    if offered is None:
        raise NotFound("tool")
    return offered
