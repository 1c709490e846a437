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


async def test_every_tenant_is_swept_without_a_pause_between_pages(pools: Pools, database: str) -> None:
    for number in (1, 2, 3):
        tenant_id = UUID(int=number)
        fields = ("admin", "ann", "token", "rpc", "AdminService/GetTenant", None, "", "OK")
        async with tenant_scoped(pools.background, tenant_id) as connection:
            await tenants.ensure_tenant(connection, tenant_id, now=NOW)
            await audit.insert(connection, tenant_id, [Entry(tenant_id, NOW - timedelta(days=91), *fields)])
    log = AuditLog(pools.background, keep_days=90, clock=Clock(NOW))
    sweeping = asyncio.create_task(log.sweep(every_s=3600, at_once=1))
    await until_equal(lambda: fetch(database, "SELECT count(*) FROM audit_entries"), [(0,)])
    sweeping.cancel()
    await asyncio.wait([sweeping])
