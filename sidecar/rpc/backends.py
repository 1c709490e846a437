"""The backend service: a tenant's switches, approved tools and webhooks. Every call needs the admin role.

Converts between messages and values; the use cases are in `sidecar.services.backends`.
"""

from __future__ import annotations

from sidecar.backends.tools import Offered
from sidecar.rpc.transport.call import Call
from sidecar.rpc.transport.validation import write_time
from sidecar.services.backends import Backends
from sidecar.v1 import backends_pb2 as pb
from store.tenancy.backends import Switch

WEBHOOK_PATH = "/webhooks/hindsight"

SERVICE = pb.DESCRIPTOR.services_by_name["BackendService"]


class BackendService:
    """Switches backends and approves tools; the next turn sees the change."""

    def __init__(self, backends: Backends) -> None:
        self._backends = backends

    async def list_backends(self, request: pb.ListBackendsRequest, call: Call) -> pb.ListBackendsResponse:
        """Return the tenant's backends with their switches."""
        switches = await self._backends.switches(call.admin_tenant(request))
        return pb.ListBackendsResponse(backends=[_backend(name, switch) for name, switch in switches])

    async def switch_backend(self, request: pb.SwitchBackendRequest, call: Call) -> pb.SwitchBackendResponse:
        """Set a backend's switch."""
        tenant_id = call.admin_tenant(request)
        await self._backends.switch(
            tenant_id, request.backend, is_off=request.is_off, reason=request.reason, author=call.identity.subject
        )
        return pb.SwitchBackendResponse()

    async def list_tools(self, request: pb.ListToolsRequest, call: Call) -> pb.ListToolsResponse:
        """Return the tools that the tenant's servers declare now, and the servers that do not answer, with reasons."""
        tools, problems = await self._backends.tools(call.admin_tenant(request), request.backend)
        return pb.ListToolsResponse(tools=[_tool(backend, one) for backend, one in tools], problems=problems)

    async def approve_tool(self, request: pb.ApproveToolRequest, call: Call) -> pb.ApproveToolResponse:
        """Approve a tool as declared now. Raises FailedPrecondition if its declaration has another hash than the given one."""
        tenant_id = call.admin_tenant(request)
        approved = await self._backends.approve_tool(
            tenant_id, request.backend, request.tool, schema_hash=request.schema_hash, author=call.identity.subject
        )
        return pb.ApproveToolResponse(tool=_tool(request.backend, approved))

    async def revoke_tool(self, request: pb.RevokeToolRequest, call: Call) -> pb.RevokeToolResponse:
        """Revoke a tool's approval, even if the server no longer declares the tool."""
        tenant_id = call.admin_tenant(request)
        was_approved = await self._backends.revoke_tool(tenant_id, request.backend, request.tool)
        return pb.RevokeToolResponse(was_approved=was_approved)

    async def test_tool(self, request: pb.TestToolRequest, call: Call) -> pb.TestToolResponse:
        """Call a tool once. Only tools that a turn could call if approved are allowed, so that a test writes nothing."""
        tenant_id = call.admin_tenant(request)
        texts = await self._backends.test_tool(tenant_id, request.backend, request.tool, request.question)
        return pb.TestToolResponse(texts=texts)

    async def create_webhook(self, request: pb.CreateWebhookRequest, call: Call) -> pb.CreateWebhookResponse:
        """Create the owner's webhook of a backend, or return the existing one."""
        subscription = await self._backends.create_webhook(call.admin_scope(request), request.backend)
        return pb.CreateWebhookResponse(
            webhook_id=str(subscription.subscription_id),
            path=f"{WEBHOOK_PATH}/{subscription.subscription_id}",
            secret=subscription.secret.hex(),
        )

    async def delete_webhook(self, request: pb.DeleteWebhookRequest, call: Call) -> pb.DeleteWebhookResponse:
        """Delete the owner's webhook of a backend."""
        was_there = await self._backends.delete_webhook(call.admin_scope(request), request.backend)
        return pb.DeleteWebhookResponse(was_there=was_there)


def _backend(name: str, switch: Switch | None) -> pb.Backend:
    if switch is None:
        return pb.Backend(name=name)
    changed = write_time(switch.changed_at)
    return pb.Backend(name=name, is_off=switch.is_off, reason=switch.reason, author=switch.author, change_time=changed)


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
        why_not=offered.unsuited or ("" if offered.is_approved else "its present declaration is not approved"),
    )
