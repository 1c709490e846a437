"""Rows for every table of the schema, made from the catalogue, so that a new table is covered automatically.

A table whose checks reject the plain values needs its own in `SPECIAL`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from store.db.queries import Connection

INSTALLATION_TABLES = frozenset(
    {"embedders", "installation_keys", "schema_migrations", "compile_ready", "compile_served", "purge_queue"}
)

# SQL over `n`, the row's number; `tenant` and `owner` are expressions over it.
_BY_TYPE = {
    "uuid": "md5('{table}.{column}' || n)::uuid",
    "text": "'x' || n",
    "text[]": "ARRAY['x' || n]",
    "smallint": "1::smallint",
    "integer": "n::integer",
    "bigint": "n::bigint",
    "real": "1.0",
    "double precision": "1.0",
    "boolean": "true",
    "jsonb": "'{{}}'::jsonb",
    "bytea": "decode(md5('{table}.{column}' || n), 'hex')",
    "timestamp with time zone": "timestamptz '2026-01-01' + n * interval '1 minute'",
    "date": "date '2026-01-01' + n::integer",
    "halfvec": "'[0.6,0.8]'::halfvec",
    "tsvector": "search_vector('ferry common word' || n % 200)",
}
SPECIAL = {
    "audit_entries.via": "'rpc'",
    "places_to_embed.kind": "'turns'",
    "profiles.level": "'agent'",
    "workspaces.level": "'agent'",
    "knowledge_assignments.level": "'agent'",
    "turns.role": "(ARRAY['user', 'assistant'])[1 + n % 2]",
    "wiki_pages.type": "'entity'",
    "wiki_pages.status": "'active'",
    "wiki_pages.entity_type": "CASE WHEN n % 5 = 0 THEN '' ELSE 'x' END",
    "wiki_pages.held_type": "CASE WHEN n % 5 = 0 THEN 'order' ELSE '' END",
    "wiki_pages.held_reason": "CASE WHEN n % 5 = 0 THEN 'type_not_approved' ELSE '' END",
    "wiki_page_aliases.source": "'import'",
    "wiki_page_links.kind": "'reference'",
    "wiki_page_links.edge_type": "'works_at'",
    "wiki_page_links.held_reason": "CASE WHEN n % 5 = 0 THEN 'relationship_not_approved' ELSE '' END",
    "wiki_page_links.valid_until": "NULL",
    "wiki_link_evidence.origin": "'planner'",
    "wiki_unresolved_mentions.status": "'open'",
    "wiki_unresolved_mentions.suggested_type": "'entity'",
    "wiki_section_sources.subject": "'section'",
    "wiki_rulings.kind": "'title'",
    "wiki_kept_ends.page_type": "'entity'",
    "wiki_kept_edges.from_type": "'entity'",
    "wiki_kept_edges.to_type": "'entity'",
    "wiki_kept_edges.edge_type": "'works_at'",
    "wiki_kept_edges.valid_until": "NULL",
    "wiki_rulings.page_type": "'entity'",
    "wiki_compile_cursors.counted_revision": "NULL",
    "wiki_compile_jobs.status": "'succeeded'",
    "wiki_compile_jobs.trigger": "'admin'",
    "memories.status": "'accepted'",
    "memories.confidence": "1",
    "memories.source_events_json": "'[]'",
    "memories.valid_precision": "'day'",
    "memories.until_precision": "'day'",
    "decay_jobs.kind": "'candidate_compression'",
    "decay_jobs.summary_method": "'deterministic_concatenate'",
    "decay_jobs.state": "'completed'",
    "decay_jobs.failure": "''",
    "memory_supersessions.reason": "'compressed'",
    "memory_ledger.outcome": "'applied'",
    "compile_batches.kind": "'leaf'",
    "compile_batches.status": "'applied'",
    "background_jobs.status": "'succeeded'",
    "brain_rules.document_path": "''",
    "brain_rules.knowledge_base": "''",
    "brain_rules.trust_tier": "1",
    "brain_rules.state": "'approved'",
    "brain_copies.trust_tier": "1",
    "brain_copies.state": "'released'",
    "brain_withdrawals.ref_kind": "'memory'",
    "cost_budgets.covers": "'tenant'",
    "cost_budgets.period": "'day'",
    "ontology_change_sets.origin": "'operator'",
    "ontology_change_sets.status": "'approved'",
    "ontology_versions.restores": "NULL",
    "ontology_entity_types.lifecycle": "'approved'",
    "ontology_relationship_types.cardinality": "'many_to_many'",
    "ontology_relationship_types.lifecycle": "'approved'",
    "ontology_facet_templates.lifecycle": "'approved'",
    "ontology_external_mappings.subject_kind": "'entity_type'",
    "ontology_external_mappings.kind": "'exact'",
    "ontology_change_set_items.subject_kind": "'entity_type'",
    "ontology_change_set_items.action": "'create'",
    "ontology_change_set_items.decision": "'pending'",
    "ontology_change_set_items.origin": "'operator'",
    "ontology_evidence_examples.position": "1 + (n::integer - 1) % 5",
    "ontology_evidence_examples.source_kind": "'memory'",
    "ontology_reprocess_jobs.status": "'succeeded'",
}


@dataclass(frozen=True, slots=True)
class Column:
    """A column that a row has to fill."""

    name: str
    type: str


@dataclass(frozen=True, slots=True)
class Table:
    """A table and its columns, generated ones left out."""

    name: str
    columns: tuple[Column, ...]

    @property
    def has_owner(self) -> bool:
        """Return whether its rows belong to one owner of a tenant."""
        return any(column.name == "owner_id" for column in self.columns)


async def tenant_tables(connection: Connection) -> list[Table]:
    """Return every table but the installation's, by name."""
    rows = await connection.fetch(
        "SELECT c.relname, a.attname, format_type(a.atttypid, NULL) AS type FROM pg_class c"
        " JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''"
        " WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') ORDER BY c.relname, a.attnum"
    )
    columns: dict[str, list[Column]] = {}
    for row in rows:
        columns.setdefault(row["relname"], []).append(Column(row["attname"], row["type"]))
    return [Table(name, tuple(found)) for name, found in columns.items() if name not in INSTALLATION_TABLES]


def insert_of(table: Table, own: Mapping[str, str], *, count: str = "1") -> str:
    """Return the INSERT of `count` rows; `own` has expressions for a `table.column` or `column` of its own."""
    values = [_expression(table, column, own) for column in table.columns]
    names = ", ".join(column.name for column in table.columns)
    return f"INSERT INTO {table.name} ({names}) SELECT {', '.join(values)} FROM generate_series(1, {count}) AS n"


async def fill(connection: Connection, tables: list[Table], own: Mapping[str, str], *, count: str = "1") -> None:
    """Write rows into every table, foreign keys unchecked: only a superuser may."""
    async with connection.transaction():
        # The first setting, unknown to a plain Postgres, sends the second one to the other servers of a cluster.
        await connection.execute("SET LOCAL citus.propagate_set_commands = 'local'")
        await connection.execute("SET LOCAL session_replication_role = replica")
        for table in tables:
            await connection.execute(insert_of(table, own, count=count))


def _expression(table: Table, column: Column, own: Mapping[str, str]) -> str:
    name = f"{table.name}.{column.name}"
    for known in (own.get(name), own.get(column.name), SPECIAL.get(name)):
        if known is not None:
            return known
    return _BY_TYPE[column.type].format(table=table.name, column=column.name)
