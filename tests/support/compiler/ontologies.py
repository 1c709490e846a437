"""Ontologies for tests of the compile, put in force without a review."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

from store.db.postgres import Pools, tenant_scoped
from store.ontology import versions
from store.ontology.terms import EntityType, FacetTemplate, Lifecycle, Ontology, RelationshipType
from store.ontology.versions import OntologyVersion
from store.tenancy import tenants
from tests.support.compiler.compiling import NOW, SCOPE

TYPES = (
    EntityType("organisation", "Organisation", aliases=("company", "organization")),
    EntityType("person", "Person"),
    EntityType("place", "Place", aliases=("venue",)),
    EntityType("restaurant", "Restaurant", broad_type="place", aliases=("cafe", "bar")),
)
RELATIONS = (
    RelationshipType("located_in", "is in", source_types=("place",)),
    RelationshipType("married_to", "is married to", source_types=("person",), target_types=("person",)),
    RelationshipType("works_at", "works at", "employs", ("person",), ("organisation",)),
)
FACETS = (
    FacetTemplate("person", "preferences", "Likes and dislikes", 0, "What does this person prefer?", "Newest first."),
    FacetTemplate("person", "relations", "Family and friends", 1),
    FacetTemplate("place", "overview", "At a glance", 3),
)
WORLD = Ontology(1, TYPES, RELATIONS, FACETS)
# Types of which the rules' edges fit none, and no type of a place or a person.
STRICT = Ontology(
    1,
    (EntityType("vessel", "Vessel"), EntityType("person", "Person", lifecycle=Lifecycle.DEPRECATED)),
    (
        RelationshipType("located_in", "is in", lifecycle=Lifecycle.DEPRECATED),
        RelationshipType("works_at", "works at", lifecycle=Lifecycle.DEPRECATED),
    ),
)


async def put_in_force(pools: Pools, ontology: Ontology, *, tenant_id: UUID = SCOPE.tenant_id) -> Ontology:
    """Make the ontology the tenant's next version, and return it with its number."""
    async with tenant_scoped(pools.background, tenant_id) as connection:
        await tenants.ensure_tenant(connection, tenant_id, now=NOW)
        made = replace(ontology, version=await versions.newest(connection, tenant_id) + 1)
        await versions.write(connection, tenant_id, OntologyVersion(made.version, "ada", NOW), made)
    return made
