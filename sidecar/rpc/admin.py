"""The admin service: a tenant's agents, spaces and workspaces, its state, the revocation of its tokens, forgetting owners, and
the list of what admins read and changed.

Every call needs the admin role. Only the way between messages and values stands here.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import PurePosixPath
from uuid import UUID

from google.protobuf.timestamp_pb2 import Timestamp

from sidecar.rpc.auth.identity import require_admin, resolve_scope, resolve_tenant
from sidecar.rpc.transport.call import Behaviour, Call
from sidecar.rpc.transport.paging import ListCall
from sidecar.rpc.transport.validation import read_time, write_time
from sidecar.runtime.errors import InvalidArgument, NotFound
from sidecar.services.validation import read_id, read_text
from sidecar.v1 import admin_pb2 as pb
from store.accounting import audit
from store.accounting.audit import Entry
from store.db.postgres import Pools, scoped, tenant_scoped
from store.db.queries import Connection
from store.scope import Scope
from store.tenancy import forgotten, owners, templates, tenants
from store.tenancy.tenants import DEFAULT_TEMPLATE, Workspace

MAX_NAME_CHARS = 300
MAX_LOCATION_CHARS = 400

SERVICE = pb.DESCRIPTOR.services_by_name["AdminService"]

_LEVELS: Mapping[int, str] = {
    pb.WORKSPACE_LEVEL_TENANT: "tenant",
    pb.WORKSPACE_LEVEL_TEMPLATE: "template",
    pb.WORKSPACE_LEVEL_AGENT: "agent",
}
LONG_CALLS = frozenset({"ForgetOwner"})
_CLOCK_SKEW = timedelta(minutes=1)
_FIRST = datetime.min.replace(tzinfo=UTC)


class AdminService:
    """Sets a tenant up; `now` tells the time of a write.

    `changed` hears which tenant's state changed, and `forgot` which owner was forgotten, ahead of the notice.
    """

    def __init__(
        self,
        pools: Pools,
        *,
        now: Callable[[], datetime],
        changed: Callable[[UUID], None] = lambda _: None,
        forgot: Callable[[Scope], None] = lambda _: None,
    ) -> None:
        self._pools = pools
        self._now = now
        self._changed = changed
        self._forgot = forgot

    @property
    def behaviours(self) -> Mapping[str, Behaviour]:
        """Return the service's methods by their names in the contract."""
        return {
            "PutAgent": self.put_agent,
            "PutSpace": self.put_space,
            "PutWorkspace": self.put_workspace,
            "GetTenant": self.get_tenant,
            "RevokeTokens": self.revoke_tokens,
            "ForgetOwner": self.forget_owner,
            "ListAuditEntries": self.list_audit_entries,
        }

    async def put_agent(self, request: pb.PutAgentRequest, call: Call) -> pb.PutAgentResponse:
        """Make an agent or give it another template, in force from its next turn."""
        tenant_id = _admin_tenant(request.tenant_id, call)
        agent_id = read_id("agent_id", request.agent_id)
        template_id = read_id("template_id", request.template_id, is_optional=True) or DEFAULT_TEMPLATE
        async with self._writing(tenant_id) as (connection, now):
            await tenants.put_agent(connection, tenant_id, agent_id, template_id=template_id, now=now)
        return pb.PutAgentResponse()

    async def put_space(self, request: pb.PutSpaceRequest, call: Call) -> pb.PutSpaceResponse:
        """Make a space or give it another name."""
        tenant_id = _admin_tenant(request.tenant_id, call)
        space_id = read_id("space_id", request.space_id)
        name = read_text("name", request.name, max_chars=MAX_NAME_CHARS)
        async with self._writing(tenant_id) as (connection, now):
            await tenants.put_space(connection, tenant_id, space_id, name=name, now=now)
        return pb.PutSpaceResponse()

    async def put_workspace(self, request: pb.PutWorkspaceRequest, call: Call) -> pb.PutWorkspaceResponse:
        """Say where a workspace's files are, or take the workspace away."""
        tenant_id = _admin_tenant(request.tenant_id, call)
        workspace = _read_workspace(request)
        async with self._writing(tenant_id) as (connection, _):
            if workspace.location:
                await tenants.put_workspace(connection, tenant_id, workspace)
            else:
                await tenants.remove_workspace(connection, tenant_id, level=workspace.level, ref=workspace.ref)
        return pb.PutWorkspaceResponse()

    async def get_tenant(self, request: pb.GetTenantRequest, call: Call) -> pb.GetTenantResponse:
        """Return the tenant's state. Raises NotFound before its first write."""
        tenant_id = _admin_tenant(request.tenant_id, call)
        async with tenant_scoped(self._pools.background, tenant_id, read_only=True) as connection:
            tenant = await tenants.get(connection, tenant_id)
        if tenant is None:
            raise NotFound("tenant")
        return pb.GetTenantResponse(
            tenant_id=str(tenant.tenant_id),
            create_time=write_time(tenant.created_at),
            tokens_not_before_time=_write_optional(tenant.tokens_not_before),
            wiki_compile_enabled=tenant.is_wiki_compiled,
        )

    async def revoke_tokens(self, request: pb.RevokeTokensRequest, call: Call) -> pb.RevokeTokensResponse:
        """Refuse the tenant's tokens issued before an instant, and return the one in force."""
        tenant_id = _admin_tenant(request.tenant_id, call)
        not_before = _read_not_before(request, self._now())
        async with self._writing(tenant_id) as (connection, _):
            in_force = await tenants.revoke_tokens(connection, tenant_id, not_before=not_before)
        return pb.RevokeTokensResponse(not_before_time=_write_optional(in_force))

    async def forget_owner(self, request: pb.ForgetOwnerRequest, call: Call) -> pb.ForgetOwnerResponse:
        """Delete everything of an owner's, and return how many rows of each table: none of one whom nobody knows."""
        require_admin(call.identity)
        scope = resolve_scope(call.identity, request.tenant_id, request.owner_id)
        async with scoped(self._pools.background, scope) as connection:
            is_known = await tenants.get(connection, scope.tenant_id) is not None
            counts = await owners.forget(connection, scope) if is_known else {}
        if is_known:
            self._forgot(scope)
            async with scoped(self._pools.background, scope) as connection:
                await forgotten.date_owner(connection, scope, clock=self._now)
        return pb.ForgetOwnerResponse(row_counts=counts)

    async def list_audit_entries(self, request: pb.ListAuditEntriesRequest, call: Call) -> pb.ListAuditEntriesResponse:
        """Return a page of what admins of the tenant read and changed, newest first."""
        tenant_id = _admin_tenant(request.tenant_id, call)
        owner_id = (
            resolve_scope(call.identity, request.tenant_id, request.owner_id).owner_id if request.owner_id else None
        )
        since = read_time("since_time", request.since_time) if request.HasField("since_time") else _FIRST
        listing = ListCall("ListAuditEntries", (str(tenant_id), str(owner_id), since.isoformat()), (datetime, UUID))
        page = listing.read(request.page_size, request.page_token)
        async with tenant_scoped(self._pools.background, tenant_id, read_only=True) as connection:
            entries = await audit.page(
                connection, tenant_id, about_owner=owner_id, since=since, limit=page.limit, **page.starting("before")
            )
        written, token = listing.cut(entries, page, lambda entry: (entry.called_at, entry.entry_id), _write_entry)
        return pb.ListAuditEntriesResponse(entries=written, next_page_token=token)

    @asynccontextmanager
    async def _writing(self, tenant_id: UUID) -> AsyncIterator[tuple[Connection, datetime]]:
        """Yield a transaction in which the tenant exists, and the time; turns see the change from the next one on."""
        now = self._now()
        async with tenant_scoped(self._pools.background, tenant_id) as connection:
            await tenants.ensure_tenant(connection, tenant_id, now=now)
            yield connection, now
            await templates.notify_changed(connection, tenant_id)
        self._changed(tenant_id)


def _admin_tenant(requested_tenant: str, call: Call) -> UUID:
    require_admin(call.identity)
    return resolve_tenant(call.identity, requested_tenant)


def _read_workspace(request: pb.PutWorkspaceRequest) -> Workspace:
    level = _LEVELS.get(request.level)
    if level is None:
        raise InvalidArgument("level", "is not one that has a workspace", "send TENANT, TEMPLATE or AGENT")
    if level == "tenant" and request.ref:
        raise InvalidArgument("ref", "names something inside the tenant's own level", "leave it empty")
    ref = request.ref if level == "tenant" else read_id("ref", request.ref)
    return Workspace(level, ref, _read_location(request.location))


def _read_location(location: str) -> str:
    """Return the directory in its shortest form. Where it leads once links are followed is for the reader to check."""
    read_text("location", location, max_chars=MAX_LOCATION_CHARS)
    path = PurePosixPath(location)
    if path.is_absolute() or ".." in path.parts or "\\" in location or (location and not location.isprintable()):
        raise InvalidArgument("location", "leads out of the tenant's folder", "send a relative directory without ..")
    return str(path) if location else ""


def _read_not_before(request: pb.RevokeTokensRequest, now: datetime) -> datetime:
    """Return the instant. One to come would lock everyone out until then, since it never moves back."""
    if not request.HasField("not_before_time"):
        return now
    not_before = read_time("not_before_time", request.not_before_time)
    if not_before > now + _CLOCK_SKEW:
        raise InvalidArgument("not_before_time", "lies in the future", "send an instant up to now, or none")
    return not_before


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


def _write_optional(moment: datetime | None) -> Timestamp | None:
    return None if moment is None else write_time(moment)
