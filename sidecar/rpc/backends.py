"""The backend service: a tenant's switches, approved tools and webhooks. Every call needs the admin role.

Which backends there are is configured; a tenant sees and decides about its own only.
"""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID, uuid4

from sidecar.backends.backend_policy import BackendPolicy
from sidecar.backends.tools import Offered, ToolKeeper
from sidecar.context.ports import BackendError
from sidecar.rpc.auth.identity import require_admin, resolve_scope, resolve_tenant
from sidecar.rpc.transport.call import Behaviour, Call
from sidecar.rpc.transport.validation import write_time
from sidecar.runtime.errors import FailedPrecondition, InvalidArgument, NotFound
from sidecar.services.validation import read_id, read_name, read_text
from sidecar.v1 import backends_pb2 as pb
from store.db.postgres import Pools, scoped, tenant_scoped
from store.db.queries import Connection
from store.tenancy import backends, templates, tenants, webhooks

MAX_REASON_CHARS = 500
MAX_QUESTION_CHARS = 4_000
WEBHOOK_PATH = "/webhooks/hindsight"

SERVICE = pb.DESCRIPTOR.services_by_name["BackendService"]


@dataclass(frozen=True, slots=True)
class BackendDeps:
    """What the service stands on: `places` are the configured backends by tenant and name."""

    pools: Pools
    places: Mapping[UUID, Mapping[str, object]]
    rulings: BackendPolicy
    now: Callable[[], datetime]
    changed: Callable[[UUID], None] = lambda _: None


class BackendService:
    """Decides about backends; turns see it from the next one on."""

    def __init__(self, parts: BackendDeps) -> None:
        self._parts = parts

    @property
    def behaviours(self) -> Mapping[str, Behaviour]:
        """Return the service's methods by their names in the contract."""
        return {
            "ListBackends": self.list_backends,
            "SwitchBackend": self.switch_backend,
            "ListTools": self.list_tools,
            "ApproveTool": self.approve_tool,
            "RevokeTool": self.revoke_tool,
            "TestTool": self.test_tool,
            "CreateWebhook": self.create_webhook,
            "DeleteWebhook": self.delete_webhook,
        }

    async def list_backends(self, request: pb.ListBackendsRequest, call: Call) -> pb.ListBackendsResponse:
        """Return the tenant's backends with their switches."""
        tenant_id = _admin_tenant(request.tenant_id, call)
        async with tenant_scoped(self._parts.pools.background, tenant_id, read_only=True) as connection:
            known = {switch.backend: switch for switch in await backends.switches(connection, tenant_id)}
        names = sorted(self._parts.places.get(tenant_id, {}))
        return pb.ListBackendsResponse(backends=[_backend(name, known.get(name)) for name in names])

    async def switch_backend(self, request: pb.SwitchBackendRequest, call: Call) -> pb.SwitchBackendResponse:
        """Set a backend's switch."""
        tenant_id = _admin_tenant(request.tenant_id, call)
        self._place(tenant_id, request.backend)
        reason = read_text("reason", request.reason, max_chars=MAX_REASON_CHARS)
        async with self._writing(tenant_id) as (connection, now):
            switch = backends.Switch(request.backend, request.is_off, reason, call.identity.subject, now)
            await backends.put_switch(connection, tenant_id, switch)
        return pb.SwitchBackendResponse()

    async def list_tools(self, request: pb.ListToolsRequest, call: Call) -> pb.ListToolsResponse:
        """Return what the tenant's servers declare now; one that does not answer is named with why."""
        tenant_id = _admin_tenant(request.tenant_id, call)
        wanted = self._tools(tenant_id)
        if request.backend:
            wanted = {request.backend: self._keeper(tenant_id, request.backend)}
        answer = pb.ListToolsResponse()
        for name, keeper in sorted(wanted.items()):
            try:
                found = await keeper.offered(tenant_id)
            except BackendError as error:
                answer.problems.append(str(error))
                continue
            answer.tools.extend(_tool(name, one) for one in sorted(found, key=lambda one: one.tool.name))
        return answer

    async def approve_tool(self, request: pb.ApproveToolRequest, call: Call) -> pb.ApproveToolResponse:
        """Approve a tool as it is declared now. Raises FailedPrecondition when that is not what was looked at."""
        tenant_id = _admin_tenant(request.tenant_id, call)
        keeper = self._keeper(tenant_id, request.backend)
        found = await _offered(keeper, tenant_id, read_name("tool", request.tool))
        _check_suited(found)
        tool = found.tool
        if request.schema_hash and request.schema_hash != tool.schema_hash.hex():
            raise FailedPrecondition("schema_hash", "The tool's declaration is another one now; look at it again")
        async with self._writing(tenant_id) as (connection, now):
            approval = backends.Approval(request.backend, tool.name, tool.schema_hash, call.identity.subject, now)
            await backends.approve(connection, tenant_id, approval)
        return pb.ApproveToolResponse(tool=_tool(request.backend, await _offered(keeper, tenant_id, tool.name)))

    async def revoke_tool(self, request: pb.RevokeToolRequest, call: Call) -> pb.RevokeToolResponse:
        """Take a tool's approval back, also where the server no longer has it."""
        tenant_id = _admin_tenant(request.tenant_id, call)
        backend, tool = read_name("backend", request.backend), read_name("tool", request.tool)
        async with self._writing(tenant_id) as (connection, _):
            was_approved = await backends.revoke(connection, tenant_id, backend=backend, tool=tool)
        return pb.RevokeToolResponse(was_approved=was_approved)

    async def test_tool(self, request: pb.TestToolRequest, call: Call) -> pb.TestToolResponse:
        """Call a tool once. Only one that a turn could call once it is approved: a test must not write either."""
        tenant_id = _admin_tenant(request.tenant_id, call)
        keeper = self._keeper(tenant_id, request.backend)
        question = read_text("question", request.question, max_chars=MAX_QUESTION_CHARS, min_chars=1)
        found = await _offered(keeper, tenant_id, read_name("tool", request.tool))
        _check_suited(found)
        return pb.TestToolResponse(texts=await keeper.tried(found.tool.name, question))

    async def create_webhook(self, request: pb.CreateWebhookRequest, call: Call) -> pb.CreateWebhookResponse:
        """Make the owner's webhook of a backend, or return the one there is."""
        require_admin(call.identity)
        scope = resolve_scope(call.identity, request.tenant_id, read_id("owner_id", request.owner_id))
        self._place(scope.tenant_id, request.backend)
        now = self._parts.now()
        async with scoped(self._parts.pools.background, scope) as connection:
            await tenants.ensure_tenant(connection, scope.tenant_id, now=now)
            new = webhooks.Subscription(uuid4(), scope, request.backend, secrets.token_bytes(32), now)
            known = await webhooks.ensure(connection, new)
        return pb.CreateWebhookResponse(
            webhook_id=str(known.subscription_id),
            path=f"{WEBHOOK_PATH}/{known.subscription_id}",
            secret=known.secret.hex(),
        )

    async def delete_webhook(self, request: pb.DeleteWebhookRequest, call: Call) -> pb.DeleteWebhookResponse:
        """Remove the owner's webhook of a backend."""
        require_admin(call.identity)
        scope = resolve_scope(call.identity, request.tenant_id, read_id("owner_id", request.owner_id))
        async with scoped(self._parts.pools.background, scope) as connection:
            known = await webhooks.of_backend(connection, scope, read_name("backend", request.backend))
            if known is not None:
                await webhooks.unsubscribe(connection, scope, known.subscription_id)
        return pb.DeleteWebhookResponse(was_there=known is not None)

    def _place(self, tenant_id: UUID, name: str) -> object:
        place = self._parts.places.get(tenant_id, {}).get(read_name("backend", name))
        if place is None:
            raise NotFound("backend")
        return place

    def _tools(self, tenant_id: UUID) -> dict[str, ToolKeeper]:
        places = self._parts.places.get(tenant_id, {})
        return {name: place for name, place in places.items() if isinstance(place, ToolKeeper)}

    def _keeper(self, tenant_id: UUID, name: str) -> ToolKeeper:
        place = self._place(tenant_id, name)
        if not isinstance(place, ToolKeeper):
            raise InvalidArgument("backend", "has no tools", "name one that is configured under [[tools]]")
        return place

    @asynccontextmanager
    async def _writing(self, tenant_id: UUID) -> AsyncIterator[tuple[Connection, datetime]]:
        """Yield a transaction in which the tenant exists, and the time; turns see the change from the next one on."""
        now = self._parts.now()
        async with tenant_scoped(self._parts.pools.background, tenant_id) as connection:
            await tenants.ensure_tenant(connection, tenant_id, now=now)
            yield connection, now
            await templates.notify_changed(connection, tenant_id)
        self._parts.rulings.forget(tenant_id)
        self._parts.changed(tenant_id)


def _admin_tenant(requested_tenant: str, call: Call) -> UUID:
    require_admin(call.identity)
    return resolve_tenant(call.identity, requested_tenant)


async def _offered(keeper: ToolKeeper, tenant_id: UUID, name: str) -> Offered:
    found = next((tool for tool in await keeper.offered(tenant_id) if tool.tool.name == name), None)
    if found is None:
        raise NotFound("tool")
    return found


def _backend(name: str, switch: backends.Switch | None) -> pb.Backend:
    if switch is None:
        return pb.Backend(name=name)
    changed = write_time(switch.changed_at)
    return pb.Backend(name=name, is_off=switch.is_off, reason=switch.reason, author=switch.author, change_time=changed)


def _check_suited(found: Offered) -> None:
    if found.unsuited:
        raise FailedPrecondition("tool", f"The tool cannot be asked in a turn: {found.unsuited}")


def _tool(backend: str, offered: Offered) -> pb.Tool:
    tool = offered.tool
    return pb.Tool(
        backend=backend,
        name=tool.name,
        description=tool.description[:2000],
        is_read_only=tool.is_read_only,
        is_search_safe=tool.is_search_safe,
        schema_hash=tool.schema_hash.hex(),
        is_approved=offered.is_approved,
        why_not=offered.unsuited or ("" if offered.is_approved else "it is not approved as it is now"),
    )
