"""Removes withdrawn copies of a tenant's Brain, and deleted documents, from other owners' receipts and from cached answers."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from uuid import UUID

from store.accounting import receipts
from store.db.postgres import DatabaseRole, Pool, scoped, tenant_scoped
from store.scope import Scope, brain_of
from store.tenancy import brain, forgotten, traces

_AT_ONCE = 500


async def settle(
    pool: Pool,
    tenant_id: UUID,
    *,
    now: Callable[[], datetime],
    on_forgotten: Callable[[Scope], None],
    role: DatabaseRole = DatabaseRole.APP,
) -> None:
    """Remove withdrawn copies and deleted documents from every owner's receipts; `on_forgotten` drops cached answers. A worker
    does the rest.
    """
    brain_scope = brain_of(tenant_id)
    while True:
        async with scoped(pool, brain_scope, role=role) as connection:
            refs = await brain.withdrawals(connection, brain_scope, limit=_AT_ONCE)
        if not refs:
            return
        async with tenant_scoped(pool, tenant_id, role=role, read_only=True) as connection:
            owner_ids = await traces.owners_with_receipts(connection, tenant_id)
        on_forgotten(brain_scope)
        for owner_id in owner_ids:
            scope = Scope(tenant_id, owner_id)
            async with scoped(pool, scope, role=role) as connection:
                await receipts.forget_texts(connection, scope, (), refs)
        async with scoped(pool, brain_scope, role=role) as connection:
            await brain.settle_withdrawals(connection, brain_scope, refs)
            await forgotten.date(connection, brain_scope, forgotten.notes_of(brain_scope, refs), clock=now)
