"""The admin service: a tenant's agents, spaces and workspaces, its state, the revocation of its tokens, forgetting of owners,
deletion of the tenant, and the audit log.

Every call needs the admin role. Converts between messages and values; the use cases are in `sidecar.services.tenants`.
"""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import UUID

from sidecar.rpc.messages.elsewhere import write_elsewhere
from sidecar.rpc.transport.call import Call
from sidecar.rpc.transport.paging import ListCall
from sidecar.rpc.transport.validation import names_of, read_time, write_time
from sidecar.runtime.errors import InvalidArgument
from sidecar.services.tenants import Tenants
from sidecar.v1 import admin_pb2 as pb
from store.accounting.audit import Entry

SERVICE = pb.DESCRIPTOR.services_by_name["AdminService"]

_LEVELS = names_of(pb.WorkspaceLevel)
LONG_CALLS = frozenset({"DeleteTenant", "ForgetOwner"})
_FIRST = datetime.min.replace(tzinfo=UTC)


class AdminService:
    """Sets up a tenant."""

    def __init__(self, tenants: Tenants) -> None:
        self._tenants = tenants

    async def put_agent(self, request: pb.PutAgentRequest, call: Call) -> pb.PutAgentResponse:
        """Create an agent or change its template, in force from its next turn."""
        await self._tenants.put_agent(call.admin_tenant(request), request.agent_id, request.template_id)
        return pb.PutAgentResponse()

    async def put_space(self, request: pb.PutSpaceRequest, call: Call) -> pb.PutSpaceResponse:
        """Create a space or change its name."""
        await self._tenants.put_space(call.admin_tenant(request), request.space_id, request.name)
        return pb.PutSpaceResponse()

    async def put_workspace(self, request: pb.PutWorkspaceRequest, call: Call) -> pb.PutWorkspaceResponse:
        """Set the location of a workspace's files, or remove the workspace."""
        tenant_id = call.admin_tenant(request)
        level = _LEVELS.get(request.level)
        if level is None:
            raise InvalidArgument("level", "has no workspace", "send TENANT, TEMPLATE or AGENT")
        await self._tenants.put_workspace(tenant_id, level, request.ref, request.location)
        return pb.PutWorkspaceResponse()

    async def get_tenant(self, request: pb.GetTenantRequest, call: Call) -> pb.GetTenantResponse:
        """Return the tenant's state. Raises NotFound before its first write."""
        tenant = await self._tenants.get(call.admin_tenant(request))
        return pb.GetTenantResponse(
            tenant_id=str(tenant.tenant_id),
            create_time=write_time(tenant.created_at),
            tokens_not_before_time=write_time(tenant.tokens_not_before),
            wiki_compile_enabled=tenant.is_wiki_compiled,
        )

    async def revoke_tokens(self, request: pb.RevokeTokensRequest, call: Call) -> pb.RevokeTokensResponse:
        """Refuse the tenant's tokens issued before an instant, and return the instant in force."""
        tenant_id = call.admin_tenant(request)
        is_given = request.HasField("not_before_time")
        not_before = read_time("not_before_time", request.not_before_time) if is_given else None
        in_force = await self._tenants.revoke_tokens(tenant_id, not_before)
        return pb.RevokeTokensResponse(not_before_time=write_time(in_force))

    async def forget_owner(self, request: pb.ForgetOwnerRequest, call: Call) -> pb.ForgetOwnerResponse:
        """Delete all data of an owner, and return the number of rows by table; none for an owner without rows."""
        scope = call.admin_scope(request)
        done = await self._tenants.forget_owner(scope, is_dry_run=request.dry_run)
        return pb.ForgetOwnerResponse(row_counts=done.row_counts, elsewhere=map(write_elsewhere, done.elsewhere))

    async def delete_tenant(self, request: pb.DeleteTenantRequest, call: Call) -> pb.DeleteTenantResponse:
        """Delete data of the tenant that the request names, and return whether none is left."""
        if not request.tenant_id:
            raise InvalidArgument("tenant_id", "is empty", "name the tenant to delete")
        done = await self._tenants.deletion.delete(call.admin_tenant(request))
        return pb.DeleteTenantResponse(
            row_counts=done.row_counts, complete=done.is_complete, elsewhere=map(write_elsewhere, done.elsewhere)
        )

    async def list_audit_entries(self, request: pb.ListAuditEntriesRequest, call: Call) -> pb.ListAuditEntriesResponse:
        """Return a page of the tenant's audit entries, newest first."""
        tenant_id = call.admin_tenant(request)
        owner_id = call.scope(request).owner_id if request.owner_id else None
        since = read_time("since_time", request.since_time) if request.HasField("since_time") else _FIRST
        listing = ListCall("ListAuditEntries", (str(tenant_id), str(owner_id), since.isoformat()), (datetime, UUID))
        page = listing.read(request.page_size, request.page_token)
        entries = await self._tenants.audit_entries(
            tenant_id, about_owner=owner_id, since=since, limit=page.limit, **page.starting("before")
        )
        written, token = listing.cut(entries, page, lambda entry: (entry.called_at, entry.entry_id), _write_entry)
        return pb.ListAuditEntriesResponse(entries=written, next_page_token=token)


def _write_entry(entry: Entry) -> pb.AuditEntry:
    return pb.AuditEntry(
        call_time=write_time(entry.called_at),
        role=entry.role,
        subject=entry.subject,
        token_id=entry.token_id,
        via=entry.via,
        method=entry.method,
        owner_id=str(entry.about_owner) if entry.about_owner else "",
        object=entry.object,
        outcome=entry.outcome,
    )
