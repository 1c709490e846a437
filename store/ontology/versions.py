"""The versions of a tenant's ontology. Versions count from 1 without gaps, the newest is in force, and none is ever changed.

Every function takes a connection inside a transaction of the tenant.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from store.db import queries
from store.db.queries import Connection, value_of
from store.ontology.terms import (
    Cardinality,
    EntityType,
    ExternalMapping,
    FacetTemplate,
    Lifecycle,
    MappingKind,
    Ontology,
    RelationshipType,
    Term,
    TermKind,
)

_sql = queries.load(__file__)
_AFTER_ALL_VERSIONS = 2**31 - 1


@dataclass(frozen=True, slots=True)
class OntologyVersion:
    """The time and the author of a version, made from a change set or with the content of an older version (`restores`)."""

    version: int
    author: str
    created_at: datetime
    change_set_id: UUID | None = None
    restores: int | None = None


async def lock(connection: Connection, tenant_id: UUID) -> None:
    """Lock the tenant's ontology and its change sets against other writers until the transaction ends."""
    await _sql.lock_ontology(connection, tenant_id=tenant_id)


async def newest(connection: Connection, tenant_id: UUID) -> int:
    """Return the number of the version in force; 0 if the tenant has approved none."""
    return int(await _sql.newest_version(connection, tenant_id=tenant_id) or 0)


async def ontology_in_force(connection: Connection, tenant_id: UUID) -> Ontology | None:
    """Return the ontology in force, in one round trip; None if the tenant has approved none, or rolled back to none."""
    row = await _sql.terms_of_version(connection, tenant_id=tenant_id, version=None)
    found = row and _ontology(row)
    return found if found and found.terms else None


async def newest_ontology(connection: Connection, tenant_id: UUID) -> Ontology | None:
    """Return the newest version with its terms, even if it has none; None if the tenant has no version."""
    row = await _sql.terms_of_version(connection, tenant_id=tenant_id, version=None)
    return row and _ontology(row)


async def at_version(connection: Connection, tenant_id: UUID, version: int) -> Ontology | None:
    """Return the ontology of a version; None if there is no such version."""
    row = await _sql.terms_of_version(connection, tenant_id=tenant_id, version=version)
    return row and _ontology(row)


async def write(connection: Connection, tenant_id: UUID, made: OntologyVersion, ontology: Ontology) -> None:
    """Write a version with its terms; the caller holds `lock` and has numbered it. Raises AlreadyExists."""
    key = {"tenant_id": tenant_id, "version": made.version}
    about = {"change_set_id": made.change_set_id, "restores": made.restores, "author": made.author}
    await _sql.insert_version(connection, **key, **about, now=made.created_at)
    await _sql.insert_entity_types(connection, _rows(key, ontology.entity_types))
    await _sql.insert_relationship_types(connection, _rows(key, ontology.relationship_types))
    await _sql.insert_facet_templates(connection, _rows(key, ontology.facet_templates))
    await _sql.insert_mappings(connection, _rows(key, ontology.mappings))


async def get(connection: Connection, tenant_id: UUID, version: int) -> OntologyVersion | None:
    """Return a version without its terms, or None."""
    row = await _sql.get_version(connection, tenant_id=tenant_id, version=version)
    return row and value_of(OntologyVersion, row)


async def history(
    connection: Connection, tenant_id: UUID, *, limit: int, before: int = _AFTER_ALL_VERSIONS
) -> list[OntologyVersion]:
    """Return a page of the versions below `before`, newest first."""
    rows = await _sql.list_versions(connection, tenant_id=tenant_id, before=before, limit=limit)
    return [value_of(OntologyVersion, row) for row in rows]


async def owners_with_wikis(
    connection: Connection, tenant_id: UUID, *, limit: int, after: UUID | None = None
) -> list[UUID]:
    """Return a page of the tenant's owners that have a wiki, in order of their ids."""
    rows = await _sql.owners_with_wikis(connection, tenant_id=tenant_id, after=after, limit=limit)
    return [row["owner_id"] for row in rows]


def _rows(key: Mapping[str, object], terms: Sequence[Term]) -> list[dict[str, object]]:
    return [{**key, **{name: _plain(value) for name, value in asdict(term).items()}} for term in terms]


def _plain(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value


def _ontology(row: Any) -> Ontology:
    return Ontology(
        version=row["version"],
        entity_types=_sorted(EntityType(**_listed(one, "aliases")) for one in row["entity_types"]),
        relationship_types=_sorted(
            RelationshipType(
                **{
                    **_listed(one, "aliases", "source_types", "target_types"),
                    "cardinality": Cardinality(one["cardinality"]),
                }
            )
            for one in row["relationship_types"]
        ),
        facet_templates=_sorted(FacetTemplate(**_listed(one)) for one in row["facet_templates"]),
        mappings=_sorted(
            ExternalMapping(**{**one, "subject_kind": TermKind(one["subject_kind"]), "kind": MappingKind(one["kind"])})
            for one in row["mappings"]
        ),
    )


def _listed(one: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {**one, "lifecycle": Lifecycle(one["lifecycle"]), **{name: tuple(one[name]) for name in names}}


def _sorted(terms: Any) -> tuple[Any, ...]:
    return tuple(sorted(terms, key=lambda term: term.key))
