"""Deletion of the rows that turns and background work leave behind, once they are older than they are kept.

`store/db/bounds.py` has the bound of every table.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from store.db import queries
from store.db.queries import Connection, utc_day
from store.db.server_checks import server_time
from store.scope import Scope

_sql = queries.load(__file__)
_AT_ONCE = 500
_FIRST = UUID(int=0)


@dataclass(frozen=True, slots=True)
class KeptSince:
    """The instants before which rows are deleted; None keeps a kind for good.

    Receipts are deleted with the usage reported for them. Accounts are the narrow rows that costs are summed from, of turns and
    of compiles, and the alerts of budgets. The log is the input of a replay: batches, and the answers of models. Jobs are ended
    jobs of every kind, and rejected change sets.
    """

    receipts: datetime | None
    accounts: datetime | None
    log: datetime | None
    jobs: datetime | None


async def deletion_time(connection: Connection, now: datetime) -> datetime:
    """Return the earlier of `now` and the server's time: a process whose clock is ahead then deletes nothing too early."""
    return min(now, await server_time(connection))


async def owners_to_prune(connection: Connection, since: KeptSince, *, after: Scope | None, limit: int) -> list[Scope]:
    """Return at most `limit` owners after the given one that have older rows, in the order of their ids."""
    key = (after or Scope(_FIRST, _FIRST)).key
    parameters = {"receipts": since.receipts, "accounts": since.accounts, "log": since.log, "jobs": since.jobs}
    rows = await _sql.owners_to_prune(connection, **parameters, **key, limit=limit)
    return [Scope(row["tenant_id"], row["owner_id"]) for row in rows]


async def tenants_to_prune(connection: Connection, since: KeptSince, *, after: UUID | None, limit: int) -> list[UUID]:
    """Return at most `limit` tenants after the given one that have older rows of their own, in the order of their ids."""
    parameters = {"accounts": since.accounts, "jobs": since.jobs, "tenant_id": after or _FIRST}
    return [row["tenant_id"] for row in await _sql.tenants_to_prune(connection, **parameters, limit=limit)]


async def delete_old(connection: Connection, scope: Scope, since: KeptSince) -> int:
    """Delete some of the owner's older rows, at most 500 of a kind, and return how many; 0 when none is left."""
    count = 0
    if since.receipts is not None:
        count += await _sql.delete_old_receipts(connection, **scope.key, before=since.receipts, limit=_AT_ONCE)
    if since.accounts is not None:
        count += await _sql.delete_old_accounts(connection, **scope.key, before=since.accounts, limit=_AT_ONCE)
        count += await _sql.delete_old_compile_accounts(connection, **scope.key, before_day=utc_day(since.accounts))
    if since.log is not None:
        count += await _delete_old_log(connection, scope, since.log)
    if since.jobs is not None:
        parameters = {**scope.key, "before": since.jobs, "limit": _AT_ONCE}
        for delete in (_sql.delete_old_compile_jobs, _sql.delete_old_background_jobs, _sql.delete_old_decay_jobs):
            count += await delete(connection, **parameters)
    return count


async def delete_old_of_tenant(connection: Connection, tenant_id: UUID, since: KeptSince) -> int:
    """Delete some of the older rows that belong to the tenant itself, and return how many; 0 when none is left."""
    count = 0
    if since.accounts is not None:
        count += await _sql.delete_old_spend(connection, tenant_id=tenant_id, before_day=utc_day(since.accounts))
        count += await _sql.delete_old_alerts(connection, tenant_id=tenant_id, before=since.accounts)
    if since.jobs is not None:
        parameters = {"tenant_id": tenant_id, "before": since.jobs, "limit": _AT_ONCE}
        for delete in (_sql.delete_rejected_change_sets, _sql.delete_old_reprocess_jobs):
            count += await delete(connection, **parameters)
    return count


async def _delete_old_log(connection: Connection, scope: Scope, before: datetime) -> int:
    """Delete old batches and the answers that they were planned with, and mark the first remaining batch."""
    parameters = {**scope.key, "before": before, "limit": _AT_ONCE}
    batches = int(await _sql.delete_old_batches(connection, **parameters))
    if batches:
        await _sql.mark_pruned(connection, **scope.key)
    return batches + int(await _sql.delete_old_answers(connection, **parameters))
