"""Suggestions from compiled pages: kinds of places, held types, and sections that pages of a type share."""

from __future__ import annotations

from dataclasses import replace

from compiler.job import reprocess
from compiler.job.reprocess import ReprocessDeps
from sidecar.demo import corpus
from sidecar.services.ontology.governance import Governance
from sidecar.services.ontology.scanning import Scans
from sidecar.services.ontology.views import ChangeSetView
from store.content.memories import NewMemory
from store.db.postgres import Pools
from store.ontology.change_sets import ChangeItem
from store.ontology.terms import TermKind
from tests.support.compiler.compiling import SCOPE, Clock, compiled, engine_on, forget, wish, write
from tests.support.compiler.ontologies import put_in_force

TENANT = SCOPE.tenant_id


def journal() -> list[NewMemory]:
    return [
        NewMemory(one.text, one.id, one.occurred_at, metadata=one.metadata)
        for one in corpus.memories()
        if one.occurred_at is not None
    ]


def templates_of(view: ChangeSetView) -> dict[tuple[str, str], ChangeItem]:
    """Return the proposed templates, by entity type and slug."""
    items = (one.item for one in view.items if one.item.subject_kind is TermKind.FACET_TEMPLATE)
    return {(one.value["entity_type"], one.value["slug"]): one for one in items}


async def test_scan_of_the_demo_proposes_place_kinds_and_sections_with_quotes(pools: Pools) -> None:
    texts = {one.memory_id: one.text for one in journal()}
    await write(pools, journal())
    await wish(pools)
    await compiled(pools, engine_on(pools))
    scans, governance = Scans(pools, now=Clock()), Governance(pools, now=Clock())
    first = (await scans.scan(TENANT)).change_set
    assert first is not None
    assert {"cafe", "park", "restaurant"} <= {one.item.value["slug"] for one in first.items}
    assert not [one for one in first.items if one.item.value.get("name") == "and his wife"], "no list of two names"
    seed = await governance.draft_seed(TENANT)
    await governance.approve(TENANT, seed.change_set.change_set_id, author="ada")
    await reprocess.run_due_jobs(ReprocessDeps(pools.background, Clock(), "one"), TENANT)

    second = (await scans.scan(TENANT)).change_set
    assert second is not None
    assert second.problem == ""
    kinds = {one.item.value["slug"]: one for one in second.items if one.item.subject_kind is TermKind.ENTITY_TYPE}
    assert kinds["restaurant"].item.value["broad_type"] == "place"
    assert not templates_of(second), "the seed has a template for every section that is common"
    there = await governance.ontology(TENANT)
    await put_in_force(pools, replace(there, facet_templates=(), mappings=()))
    third = (await scans.scan(TENANT)).change_set
    assert third is not None
    found = templates_of(third)
    assert {("place", "overview"), ("place", "visits")} & set(found)
    assert all(one.frequency >= 3 for one in found.values())
    positions = [one.value["position"] for key, one in found.items() if key[0] == "place"]
    assert len({*positions}) == len(positions)
    for one in third.items:
        assert 1 <= len(one.evidence) <= 5
        for quoted in one.evidence:
            assert quoted.quote in texts[quoted.memory_id]
            assert len(quoted.quote) <= 280
    assert await scans.scan(TENANT) == await scans.scan(TENANT), "the same pages, the same proposals"

    about = kinds["park"]
    for example in about.evidence:
        await forget(pools, example.memory_id)
    last = (await scans.scan(TENANT)).change_set
    assert last is not None
    left = {quoted.memory_id for one in last.items for quoted in one.evidence}
    assert not left & {example.memory_id for example in about.evidence}
