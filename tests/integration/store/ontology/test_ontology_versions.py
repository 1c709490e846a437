"""Versions of an ontology in Postgres: written and read back whole; the newest is in force; none ever changes."""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import UUID

import pytest

from store.db.postgres import Pools, tenant_scoped
from store.errors import AccessRefused, AlreadyExists
from store.ontology import reprocess_jobs, versions
from store.ontology.reprocess_jobs import ReprocessWish
from store.ontology.terms import (
    Cardinality,
    EntityType,
    ExternalMapping,
    FacetTemplate,
    Lifecycle,
    MappingKind,
    Ontology,
    RelationshipType,
    TermKind,
)
from store.ontology.versions import OntologyVersion
from store.tenancy import tenants

TENANT, OTHER = UUID(int=1), UUID(int=2)
NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
BOATS = Ontology(
    version=1,
    entity_types=(
        EntityType("ferry", "Ferry", "A boat on a line.", "vessel", ("boat", "balsa")),
        EntityType("vessel", "Vessel", lifecycle=Lifecycle.DEPRECATED),
    ),
    relationship_types=(
        RelationshipType(
            "moored_at", "moored at", "berths", ("vessel",), ("harbour",), Cardinality.MANY_TO_ONE, ("lies at",)
        ),
    ),
    facet_templates=(FacetTemplate("ferry", "timetable", "Timetable", 2, "When does it sail?", "Newest first."),),
    mappings=(
        ExternalMapping(
            TermKind.ENTITY_TYPE,
            "ferry",
            MappingKind.CLOSE,
            "schema.org",
            "https://schema.org/BoatTerminal",
            "BoatTerminal",
        ),
    ),
)


@pytest.fixture
async def tenant(pools: Pools) -> None:
    """The two tenants of these tests."""
    for tenant_id in (TENANT, OTHER):
        async with tenant_scoped(pools.background, tenant_id) as connection:
            await tenants.ensure_tenant(connection, tenant_id, now=NOW)


async def write(pools: Pools, ontology: Ontology, *, restores: int | None = None) -> None:
    made = OntologyVersion(ontology.version, "ines", NOW, restores=restores)
    async with tenant_scoped(pools.background, TENANT) as connection:
        await versions.lock(connection, TENANT)
        await versions.write(connection, TENANT, made, ontology)


@pytest.mark.usefixtures("tenant")
async def test_tenant_that_approved_nothing_has_no_ontology(pools: Pools) -> None:
    async with tenant_scoped(pools.turn, TENANT, read_only=True) as connection:
        assert await versions.ontology_in_force(connection, TENANT) is None
        assert await versions.newest(connection, TENANT) == 0


@pytest.mark.usefixtures("tenant")
async def test_newest_version_is_in_force_and_older_ones_stay(pools: Pools) -> None:
    await write(pools, BOATS)
    second = Ontology(version=2, entity_types=(EntityType("pier", "Pier"),))
    await write(pools, second)
    async with tenant_scoped(pools.turn, TENANT, read_only=True) as connection:
        assert await versions.ontology_in_force(connection, TENANT) == second
        assert await versions.at_version(connection, TENANT, 1) == BOATS
        assert await versions.at_version(connection, TENANT, 3) is None
        assert [one.version for one in await versions.history(connection, TENANT, limit=5)] == [2, 1]
    async with tenant_scoped(pools.turn, OTHER, read_only=True) as connection:
        assert await versions.ontology_in_force(connection, OTHER) is None


@pytest.mark.usefixtures("tenant")
async def test_version_is_written_once_and_never_changed(pools: Pools) -> None:
    await write(pools, BOATS)
    with pytest.raises(AlreadyExists):
        await write(pools, BOATS)
    for statement in ("UPDATE ontology_entity_types SET name = 'x'", "UPDATE ontology_versions SET version = 9"):
        with pytest.raises(AccessRefused):
            async with tenant_scoped(pools.background, TENANT) as connection:
                await connection.execute(statement)


@pytest.mark.usefixtures("tenant")
async def test_reprocess_is_queued_once_for_a_change_set_and_version(pools: Pools) -> None:
    async with tenant_scoped(pools.background, TENANT) as connection:
        wish = ReprocessWish(0, 1, UUID(int=7), {"pages": 3})
        first = await reprocess_jobs.queue_reprocess(connection, TENANT, wish, now=NOW)
        assert await reprocess_jobs.queue_reprocess(connection, TENANT, wish, now=NOW) == first
        rolled_back = ReprocessWish(1, 2)
        assert await reprocess_jobs.queue_reprocess(connection, TENANT, rolled_back, now=NOW) != first
        found = await reprocess_jobs.page(connection, TENANT, limit=5)
        assert {(one.from_version, one.to_version, one.status.value) for one in found} == {
            (0, 1, "pending"),
            (1, 2, "pending"),
        }
