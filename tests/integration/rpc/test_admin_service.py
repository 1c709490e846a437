"""The admin service on Postgres: agents, spaces, workspaces, the tenant's state, revocation."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from google.protobuf.timestamp_pb2 import Timestamp

from sidecar.rpc.admin import SERVICE, AdminService
from sidecar.rpc.transport.call import Call, behaviours_of
from sidecar.rpc.transport.validation import write_time
from sidecar.runtime.errors import AdminRequired, NotFound, ScopeForbidden
from sidecar.services.tenants import Tenants
from sidecar.v1 import admin_pb2 as pb
from store.db.postgres import Pools, tenant_scoped
from store.scope import tenant_uuid
from store.tenancy import tenants
from tests.support.rpc.service_calls import NOW, an_admin, an_agent, now, refused, refused_field

ACME = tenant_uuid("acme")


@pytest.fixture
def service(pools: Pools) -> AdminService:
    return AdminService(Tenants(pools, now=now))


def a_workspace(level: pb.WorkspaceLevel.ValueType, ref: str, location: str) -> pb.PutWorkspaceRequest:
    return pb.PutWorkspaceRequest(level=level, ref=ref, location=location)


def test_admin_service_has_every_method_of_the_contract(service: AdminService) -> None:
    assert set(behaviours_of(SERVICE, service)) == set(SERVICE.methods_by_name)


async def test_agent_gets_the_template_it_is_put_with(service: AdminService, pools: Pools) -> None:
    for given, template_id in (("travel", "travel"), ("", "default")):
        await service.put_agent(pb.PutAgentRequest(agent_id="mara", template_id=given), an_admin())
        async with tenant_scoped(pools.background, ACME) as connection:
            assert await connection.fetchval("SELECT template_id FROM agents WHERE agent_id = 'mara'") == template_id


async def test_forgetting_an_owner_of_an_unknown_tenant_creates_neither(service: AdminService, pools: Pools) -> None:
    answer = await service.forget_owner(pb.ForgetOwnerRequest(owner_id="nobody"), an_admin())
    assert not answer.row_counts
    async with tenant_scoped(pools.background, ACME) as connection:
        assert await tenants.get(connection, ACME) is None


async def test_a_space_gets_its_name(service: AdminService, pools: Pools) -> None:
    await service.put_space(pb.PutSpaceRequest(space_id="home", name="Zuhause 🏠"), an_admin())
    async with tenant_scoped(pools.background, ACME) as connection:
        assert await connection.fetchval("SELECT name FROM spaces WHERE space_id = 'home'") == "Zuhause 🏠"


async def test_workspace_is_put_and_removed(service: AdminService, pools: Pools) -> None:
    async def seen() -> list[str]:
        async with tenant_scoped(pools.background, ACME) as connection:
            found = await tenants.workspaces(connection, ACME, template_id="default", agent_id="mara")
            return [one.location for one in found]

    await service.put_workspace(a_workspace(pb.WORKSPACE_LEVEL_TENANT, "", "shared//notes/./all/"), an_admin())
    await service.put_workspace(a_workspace(pb.WORKSPACE_LEVEL_AGENT, "mara", "agents/mara"), an_admin())
    assert await seen() == ["agents/mara", "shared/notes/all"]
    for _ in range(2):
        await service.put_workspace(a_workspace(pb.WORKSPACE_LEVEL_AGENT, "mara", ""), an_admin())
    assert await seen() == ["shared/notes/all"]


@pytest.mark.parametrize("location", ["/etc", "..", "a/../../b", "a\\..\\b", "a\0", "a\nb", "\ud800", "x" * 401, "//a"])
async def test_location_never_leaves_the_tenants_folder(pools: Pools, location: str) -> None:
    class Request:
        tenant_id, level, ref = "", pb.WORKSPACE_LEVEL_TENANT, ""

    request: Any = Request()
    request.location = location
    assert await refused_field(AdminService(Tenants(pools, now=now)).put_workspace(request, an_admin())) == "location"


async def test_tenant_exists_from_its_first_write(service: AdminService) -> None:
    assert isinstance(await refused(service.get_tenant(pb.GetTenantRequest(), an_admin())), NotFound)
    await service.put_agent(pb.PutAgentRequest(agent_id="mara"), an_admin())
    expected = pb.GetTenantResponse(tenant_id=str(ACME), create_time=write_time(NOW), wiki_compile_enabled=True)
    assert await service.get_tenant(pb.GetTenantRequest(), an_admin()) == expected
    assert await service.get_tenant(pb.GetTenantRequest(tenant_id=str(ACME)), an_admin()) == expected


async def test_revocation_defaults_to_now_and_never_moves_back(service: AdminService) -> None:
    async def revoke(hours: int | None) -> Timestamp:
        moment = None if hours is None else write_time(NOW + timedelta(hours=hours))
        answer = await service.revoke_tokens(pb.RevokeTokensRequest(not_before_time=moment), an_admin())
        return answer.not_before_time

    assert await revoke(-2) == write_time(NOW - timedelta(hours=2))
    assert await revoke(None) == write_time(NOW)
    assert await revoke(-1) == write_time(NOW)
    state = await service.get_tenant(pb.GetTenantRequest(), an_admin())
    assert state.tokens_not_before_time == write_time(NOW)
    assert await refused_field(revoke(1)) == "not_before_time"


async def test_admin_methods_are_refused_without_an_admin_of_the_tenant(service: AdminService) -> None:
    for work in _every_call(service, an_agent()):
        assert isinstance(await refused(work), AdminRequired)
    for work in _every_call(service, an_admin("globex"), tenant_id="acme"):
        assert isinstance(await refused(work), ScopeForbidden)


async def test_unusable_admin_request_is_refused_by_field(service: AdminService) -> None:
    admin = an_admin()
    for field, work in (
        ("agent_id", service.put_agent(pb.PutAgentRequest(), admin)),
        ("template_id", service.put_agent(pb.PutAgentRequest(agent_id="a", template_id=" "), admin)),
        ("space_id", service.put_space(pb.PutSpaceRequest(space_id="x" * 201), admin)),
        ("name", service.put_space(pb.PutSpaceRequest(space_id="s", name="\0"), admin)),
        ("level", service.put_workspace(a_workspace(pb.WORKSPACE_LEVEL_UNSPECIFIED, "", "a"), admin)),
        ("ref", service.put_workspace(a_workspace(pb.WORKSPACE_LEVEL_TENANT, "x", "a"), admin)),
        ("ref", service.put_workspace(a_workspace(pb.WORKSPACE_LEVEL_AGENT, "", "a"), admin)),
        ("tenant_id", service.get_tenant(pb.GetTenantRequest(tenant_id=" "), admin)),
    ):
        assert await refused_field(work) == field


def _every_call(service: AdminService, call: Call, **scope: Any) -> list[Any]:
    workspace = pb.PutWorkspaceRequest(level=pb.WORKSPACE_LEVEL_TENANT, location="a", **scope)
    return [
        service.put_agent(pb.PutAgentRequest(agent_id="a", **scope), call),
        service.put_space(pb.PutSpaceRequest(space_id="s", **scope), call),
        service.put_workspace(workspace, call),
        service.get_tenant(pb.GetTenantRequest(**scope), call),
        service.revoke_tokens(pb.RevokeTokensRequest(**scope), call),
    ]
