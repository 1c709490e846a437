"""Deletion of the rows that every turn leaves behind, once they are older than they are kept."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from store.db import queries
from store.db.queries import Connection
from store.scope import Scope

_sql = queries.load(__file__)
_AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class KeptSince:
    """The instants before which rows are deleted; None keeps a kind for good.

    Receipts go with what callers reported about them; accounts are the narrow rows that costs are summed from.
    """

    receipts: datetime | None
    accounts: datetime | None


async def owners_with_old_rows(connection: Connection, since: KeptSince, *, limit: int) -> list[Scope]:
    """Return at most `limit` owners that have older rows."""
    given = {"receipts": since.receipts, "accounts": since.accounts}
    rows = await _sql.owners_with_old_rows(connection, **given, limit=limit)
    return [Scope(row["tenant_id"], row["owner_id"]) for row in rows]


async def delete_old(connection: Connection, scope: Scope, since: KeptSince) -> int:
    """Delete some of the owner's older rows, at most 500 of a kind, and return how many; 0 when none is left."""
    count = 0
    if since.receipts is not None:
        count += await _sql.delete_old_receipts(connection, **scope.key, before=since.receipts, limit=_AT_ONCE)
    if since.accounts is not None:
        count += await _sql.delete_old_accounts(connection, **scope.key, before=since.accounts, limit=_AT_ONCE)
    return count
