"""A tenant's backend settings, made by its admins: which backends are switched off, and which tool schemas are approved.

The backends themselves are defined in the process's configuration; here they are names. Webhooks are in `webhooks`.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import datetime
from uuid import UUID

from store.db import queries
from store.db.queries import Connection, value_of

_sql = queries.load(__file__)


@dataclass(frozen=True, slots=True)
class Switch:
    """A backend's switch as last set, with its author and reason."""

    backend: str
    is_off: bool
    reason: str
    author: str
    changed_at: datetime


@dataclass(frozen=True, slots=True)
class Approval:
    """Approval of a tool as long as its schema has this hash."""

    backend: str
    tool: str
    schema_hash: bytes
    author: str
    approved_at: datetime


async def put_switch(connection: Connection, tenant_id: UUID, switch: Switch) -> None:
    """Set a backend's switch."""
    await _sql.put_switch(connection, tenant_id=tenant_id, **asdict(switch))


async def switches(connection: Connection, tenant_id: UUID) -> tuple[Switch, ...]:
    """Return the tenant's switches that were ever set, in order of backend."""
    rows = await _sql.list_switches(connection, tenant_id=tenant_id)
    return tuple(value_of(Switch, row) for row in rows)


async def approve(connection: Connection, tenant_id: UUID, approval: Approval) -> None:
    """Approve a tool with its present schema, replacing an earlier approval."""
    await _sql.put_approval(connection, tenant_id=tenant_id, **asdict(approval))


async def revoke(connection: Connection, tenant_id: UUID, *, backend: str, tool: str) -> bool:
    """Revoke a tool's approval, and return whether it had one."""
    return bool(await _sql.delete_approval(connection, tenant_id=tenant_id, backend=backend, tool=tool))


async def approvals(connection: Connection, tenant_id: UUID) -> tuple[Approval, ...]:
    """Return the tenant's approvals, in order of backend and tool."""
    rows = await _sql.list_approvals(connection, tenant_id=tenant_id)
    return tuple(value_of(Approval, row) for row in rows)
