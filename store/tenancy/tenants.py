"""Tenants, their agents and spaces, and the locations of their workspaces.

Every function takes a connection inside a tenant transaction. Knobs are in `templates`.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from store.db import queries
from store.db.queries import Connection

DEFAULT_TEMPLATE = "default"

_sql = queries.load(__file__)


@dataclass(frozen=True, slots=True)
class Tenant:
    """A tenant. Tokens issued before `tokens_not_before` are rejected; None rejects none."""

    tenant_id: UUID
    created_at: datetime
    tokens_not_before: datetime | None
    is_wiki_compiled: bool


@dataclass(frozen=True, slots=True)
class CompileFlags:
    """The tenant's own compile flags; None means the environment's value."""

    is_compiled: bool
    aggregation: bool | None
    linking: bool | None
    unread_pause_s: int | None = None


@dataclass(frozen=True, slots=True)
class Workspace:
    """A folder of files: `level` is tenant, template or agent, `ref` its id, `location` a folder of the tenant's."""

    level: str
    ref: str
    location: str


async def ensure_tenant(connection: Connection, tenant_id: UUID, *, now: datetime) -> None:
    """Create the tenant if missing. Rows of a tenant can only be written after that."""
    await _sql.ensure_tenant(connection, tenant_id=tenant_id, now=now)


async def get(connection: Connection, tenant_id: UUID) -> Tenant | None:
    """Return the tenant, or None before its first write."""
    row = await _sql.get_tenant(connection, tenant_id=tenant_id)
    return row and Tenant(row["tenant_id"], row["created_at"], row["tokens_not_before"], row["wiki_compile_enabled"])


async def compile_flags(connection: Connection, tenant_id: UUID) -> CompileFlags | None:
    """Return the tenant's compile flags, or None before its first write."""
    row = await _sql.compile_flags(connection, tenant_id=tenant_id)
    return row and CompileFlags(
        row["wiki_compile_enabled"],
        row["wiki_aggregation_pass_enabled"],
        row["wiki_deterministic_linking_enabled"],
        row["wiki_unread_pause_s"],
    )


async def revoke_tokens(connection: Connection, tenant_id: UUID, *, not_before: datetime) -> datetime | None:
    """Reject the tenant's tokens issued before the instant, and return the instant in force, which never moves back.

    Returns None if there is no such tenant.
    """
    in_force: datetime | None = await _sql.revoke_tokens(connection, tenant_id=tenant_id, not_before=not_before)
    return in_force


async def put_agent(
    connection: Connection, tenant_id: UUID, agent_id: str, *, template_id: str = DEFAULT_TEMPLATE, now: datetime
) -> None:
    """Create the agent, or change its template."""
    await _sql.put_agent(connection, tenant_id=tenant_id, agent_id=agent_id, template_id=template_id, now=now)


async def put_space(connection: Connection, tenant_id: UUID, space_id: str, *, name: str, now: datetime) -> None:
    """Create the space, or change its name."""
    await _sql.put_space(connection, tenant_id=tenant_id, space_id=space_id, name=name, now=now)


async def put_workspace(connection: Connection, tenant_id: UUID, workspace: Workspace) -> None:
    """Set the location of the files of a level and ref."""
    await _sql.put_workspace(
        connection, tenant_id=tenant_id, level=workspace.level, ref=workspace.ref, location=workspace.location
    )


async def remove_workspace(connection: Connection, tenant_id: UUID, *, level: str, ref: str) -> None:
    """Delete the workspace of a level and ref, if there is one."""
    await _sql.remove_workspace(connection, tenant_id=tenant_id, level=level, ref=ref)


async def workspaces(
    connection: Connection, tenant_id: UUID, *, template_id: str, agent_id: str
) -> tuple[Workspace, ...]:
    """Return the workspaces an agent sees, in order of precedence: agent, template, tenant."""
    rows = await _sql.workspaces_of_agent(connection, tenant_id=tenant_id, template_id=template_id, agent_id=agent_id)
    return tuple(Workspace(row["level"], row["ref"], row["location"]) for row in rows)
