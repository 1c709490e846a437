"""The audit log deletes its expired entries, tenant by tenant."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from uuid import UUID

from sidecar.services.audit import AuditLog
from store.accounting import audit
from store.accounting.audit import Entry
from store.db.postgres import Pools, tenant_scoped
from store.tenancy import tenants
from tests.support.compiler.compiling import NOW, Clock, fetch
from tests.support.waiting import until_equal

FIELDS = ("admin", "ann", "token", "rpc", "AdminService/GetTenant", None, "", "OK")
OLD = NOW - timedelta(days=91)


async def write(pools: Pools, tenant_id: UUID, *, count: int) -> None:
    """Write entries of 91 days ago."""
    async with tenant_scoped(pools.background, tenant_id) as connection:
        await tenants.ensure_tenant(connection, tenant_id, now=NOW)
        await audit.insert(connection, tenant_id, [Entry(tenant_id, OLD, *FIELDS) for _ in range(count)])


async def test_every_tenant_is_swept_without_a_pause_between_pages(pools: Pools, database: str) -> None:
    for number in (1, 2, 3):
        await write(pools, UUID(int=number), count=1)
    log = AuditLog(pools.background, keep_days=90, clock=Clock(NOW))
    sweeping = asyncio.create_task(log.sweep(every_s=3600, at_once=1))
    await until_equal(lambda: fetch(database, "SELECT count(*) FROM audit_entries"), [(0,)])
    sweeping.cancel()
    await asyncio.wait([sweeping])


async def test_many_entries_of_a_tenant_go_in_pieces_without_a_pause(pools: Pools, database: str) -> None:
    tenant_id = UUID(int=1)
    await write(pools, tenant_id, count=1_700)
    async with tenant_scoped(pools.background, tenant_id) as connection:
        assert await audit.delete_old(connection, tenant_id, before=NOW) == 500
    log = AuditLog(pools.background, keep_days=90, clock=Clock(NOW))
    sweeping = asyncio.create_task(log.sweep(every_s=3600))
    await until_equal(lambda: fetch(database, "SELECT count(*) FROM audit_entries"), [(0,)])
    sweeping.cancel()
    await asyncio.wait([sweeping])
