"""Deletion of a tenant: finds its owners, and deletes the rows that belong to no owner.

Every function takes a connection inside a tenant transaction. The owners' rows are deleted by `owners`.
"""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from store.db import queries
from store.db.queries import Connection
from store.tenancy import forgotten

_sql = queries.load(__file__)

_FIRST = UUID(int=0)

# A table comes before the tables it references. Chunks go with their documents, vectors with their chunks, items with their sets.
_TABLES = (
    "brain_rules",
    "brain_settings",
    "backend_switches",
    "tool_approvals",
    "cost_alerts",
    "cost_budgets",
    "compile_spend",
    "decay_attestations",
    "model_calibrations",
    "knowledge_assignments",
    "bases_to_embed",
    "documents",
    "knowledge_bases",
    "ontology_rejections",
    "ontology_reprocess_jobs",
    "ontology_external_mappings",
    "ontology_facet_templates",
    "ontology_relationship_types",
    "ontology_entity_types",
    "ontology_versions",
    "ontology_change_sets",
    "profiles",
    "workspaces",
    "agents",
    "spaces",
    "compile_served",
    "forgotten_refs",
    "audit_entries",
)
_AT_ONCE = {"documents": 20, "forgotten_refs": 5_000, "audit_entries": 5_000}
"""Rows per call, of tables that may have many."""


async def owners_after(connection: Connection, tenant_id: UUID, after: UUID | None, *, limit: int) -> list[UUID]:
    """Return at most `limit` owners with rows after the given one, in the order of their ids."""
    rows = await _sql.owners_of_tenant(connection, tenant_id=tenant_id, after=after or _FIRST, limit=limit)
    return [row["owner_id"] for row in rows]


async def delete_some(connection: Connection, tenant_id: UUID, *, now: datetime) -> dict[str, int]:
    """Delete a bounded number of the rows that belong to no owner, and return how many per table; empty when none is left.

    Notes of what was forgotten in the last hour stay: they stop turns and compiles in progress from storing it again.
    """
    counts: dict[str, int] = {}
    for table in _TABLES:
        at_once = _AT_ONCE.get(table)
        bounds: dict[str, object] = {} if at_once is None else {"limit": at_once}
        if table == "forgotten_refs":
            bounds["before"] = now - forgotten.LONGEST_TURN
        count = int(await getattr(_sql, f"delete_{table}")(connection, tenant_id=tenant_id, **bounds))
        if count:
            counts[table] = count
        if count == at_once:  # later tables may refer to the rest
            break
    return counts


async def lock(connection: Connection, tenant_id: UUID) -> None:
    """Wait for transactions that write rows of the tenant, and block others until this one ends."""
    await _sql.lock_tenant(connection, tenant_id=tenant_id)


async def reset(connection: Connection, tenant_id: UUID, *, now: datetime) -> None:
    """Reset the settings of a tenant without other rows, and date its notes, so that a later deletion finds them old.

    What stays is its id, its age, the revocation of its tokens, and the notes.
    """
    await _sql.date_notes_of_tenant(connection, tenant_id=tenant_id, now=now)
    await _sql.reset_tenant(connection, tenant_id=tenant_id)
