"""The audit log: the calls by which admins read and changed a tenant. It holds ids, never texts, except the reason
that an admin gave for trusting a statement more than its sources.

Every function takes a connection inside a tenant transaction, unless its docstring says otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from uuid import UUID, uuid4

from store.db import queries
from store.db.queries import Connection
from store.scope import Scope

_sql = queries.load(__file__)
_FIRST, _LAST = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)
_AT_ONCE = 500
_LAST_ID = UUID(int=2**128 - 1)


@dataclass(frozen=True, slots=True)
class Entry:
    """One call. `via` is rpc or console, `object` holds the ids of its subject, `outcome` is its final status code."""

    tenant_id: UUID
    called_at: datetime
    role: str
    subject: str
    token_id: str
    via: str
    method: str
    about_owner: UUID | None
    object: str
    outcome: str
    entry_id: UUID = field(default_factory=uuid4)


async def insert(connection: Connection, tenant_id: UUID, entries: Sequence[Entry]) -> None:
    """Insert entries of one tenant. An entry that already exists is left unchanged."""
    await _sql.insert_entries(
        connection,
        tenant_id=tenant_id,
        entry_ids=[one.entry_id for one in entries],
        called_at=[one.called_at for one in entries],
        roles=[one.role for one in entries],
        subjects=[one.subject for one in entries],
        token_ids=[one.token_id for one in entries],
        vias=[one.via for one in entries],
        methods=[one.method for one in entries],
        owners=[one.about_owner for one in entries],
        objects=[one.object for one in entries],
        outcomes=[one.outcome for one in entries],
    )


async def page(
    connection: Connection,
    tenant_id: UUID,
    *,
    about_owner: UUID | None = None,
    since: datetime = _FIRST,
    limit: int,
    before: tuple[datetime, UUID] | None = None,
) -> list[Entry]:
    """Return a page of the tenant's entries since `since`, newest first; with `about_owner`, only those about that owner."""
    before_at, before_id = before or (_LAST, _LAST_ID)
    place = {"tenant_id": tenant_id, "since": since, "before": before_at, "before_id": before_id, "limit": limit}
    if about_owner is None:
        rows = await _sql.list_entries(connection, **place)
    else:
        rows = await _sql.list_entries_about(connection, **place, owner_id=about_owner)
    return [Entry(tenant_id=tenant_id, **dict(row)) for row in rows]


async def blank(connection: Connection, scope: Scope) -> None:
    """Blank the ids in the entries about an owner; the record that a call was made stays."""
    await _sql.blank_objects(connection, **scope.key)


async def tenants_with_old(connection: Connection, *, before: datetime, limit: int) -> list[UUID]:
    """Return tenants with entries older than `before`. Needs an installation transaction, without a tenant."""
    return [row["tenant_id"] for row in await _sql.tenants_with_old_audit(connection, before=before, limit=limit)]


async def delete_old(connection: Connection, tenant_id: UUID, *, before: datetime) -> int:
    """Delete some of the tenant's entries older than `before`, at most 500, and return how many; 0 when none is left."""
    return int(await _sql.delete_old(connection, tenant_id=tenant_id, before=before, limit=_AT_ONCE))
