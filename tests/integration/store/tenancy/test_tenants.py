"""Tenants, agents, spaces and workspaces in Postgres."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from store.db.postgres import Pools, tenant_scoped
from store.errors import ReferenceMissing
from store.tenancy import tenants
from store.tenancy.tenants import Workspace

TENANT, OTHER = UUID(int=1), UUID(int=2)
NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


async def test_tenant_is_created_once_and_keeps_its_first_day(pools: Pools) -> None:
    async with tenant_scoped(pools.background, TENANT) as connection:
        assert await tenants.get(connection, TENANT) is None
        await tenants.ensure_tenant(connection, TENANT, now=NOW)
        await tenants.ensure_tenant(connection, TENANT, now=NOW + timedelta(days=1))
        assert await tenants.get(connection, TENANT) == tenants.Tenant(TENANT, NOW, None, is_wiki_compiled=True)


async def test_revocation_only_moves_forward(pools: Pools) -> None:
    async with tenant_scoped(pools.background, TENANT) as connection:
        assert await tenants.revoke_tokens(connection, TENANT, not_before=NOW) is None
        await tenants.ensure_tenant(connection, TENANT, now=NOW)
        for asked, in_force in [(0, 0), (-1, 0), (1, 1), (0, 1)]:
            moment = NOW + timedelta(hours=asked)
            assert await tenants.revoke_tokens(connection, TENANT, not_before=moment) == NOW + timedelta(hours=in_force)
        tenant = await tenants.get(connection, TENANT)
    assert tenant is not None
    assert tenant.tokens_not_before == NOW + timedelta(hours=1)


async def test_a_tenant_cannot_revoke_the_tokens_of_another(pools: Pools) -> None:
    for tenant_id in (TENANT, OTHER):
        async with tenant_scoped(pools.background, tenant_id) as connection:
            await tenants.ensure_tenant(connection, tenant_id, now=NOW)
    async with tenant_scoped(pools.background, TENANT) as connection:
        assert await tenants.revoke_tokens(connection, OTHER, not_before=NOW) is None
    async with tenant_scoped(pools.background, OTHER) as connection:
        tenant = await tenants.get(connection, OTHER)
    assert tenant is not None
    assert tenant.tokens_not_before is None


async def test_agent_has_its_latest_template(pools: Pools) -> None:
    async with tenant_scoped(pools.background, TENANT) as connection:
        await tenants.ensure_tenant(connection, TENANT, now=NOW)
        for template_id in ("travel", "travel", "home"):
            await tenants.put_agent(connection, TENANT, "mara", template_id=template_id, now=NOW)
            rows = await connection.fetch("SELECT agent_id, template_id FROM agents")
            assert [tuple(row) for row in rows] == [("mara", template_id)]


async def test_space_has_its_latest_name(pools: Pools) -> None:
    async with tenant_scoped(pools.background, TENANT) as connection:
        await tenants.ensure_tenant(connection, TENANT, now=NOW)
        for name in ("Family", "", "Familie"):
            await tenants.put_space(connection, TENANT, "s", name=name, now=NOW)
            assert [row["name"] for row in await connection.fetch("SELECT name FROM spaces")] == [name]


async def test_writes_to_an_unknown_tenant_are_refused(pools: Pools) -> None:
    with pytest.raises(ReferenceMissing):
        async with tenant_scoped(pools.background, TENANT) as connection:
            await tenants.put_agent(connection, TENANT, "mara", now=NOW)


async def test_agent_sees_its_workspaces_with_the_nearest_first(pools: Pools) -> None:
    mine, template, default = (
        Workspace("agent", "mara", "agents/mara"),
        Workspace("template", "travel", "templates/travel"),
        Workspace("tenant", "", "shared"),
    )
    others = (Workspace("agent", "travel", "wrong"), Workspace("template", "mara", "wrong"))
    async with tenant_scoped(pools.background, TENANT) as connection:
        await tenants.ensure_tenant(connection, TENANT, now=NOW)
        for workspace in (default, *others, template, mine):
            await tenants.put_workspace(connection, TENANT, workspace)

        async def seen() -> tuple[Workspace, ...]:
            return await tenants.workspaces(connection, TENANT, template_id="travel", agent_id="mara")

        assert await seen() == (mine, template, default)
        await tenants.put_workspace(connection, TENANT, Workspace("agent", "mara", "agents/new"))
        assert (await seen())[0].location == "agents/new"
        await tenants.remove_workspace(connection, TENANT, level="template", ref="travel")
        await tenants.remove_workspace(connection, TENANT, level="template", ref="travel")
        assert [one.level for one in await seen()] == ["agent", "tenant"]
