"""What a suggestion scan finds in compiled pages: kinds of places, types that wait, and sections that pages of a type share."""

from __future__ import annotations

from compiler.job import reprocess
from compiler.job.reprocess import ReprocessDeps
from sidecar.demo import corpus
from sidecar.services.ontology.governance import Governance
from sidecar.services.ontology.scanning import Scans
from store.content.memories import NewMemory
from store.db.postgres import Pools
from store.ontology.terms import TermKind
from tests.support.compiler.compiling import SCOPE, Clock, compiled, engine_on, forget, wish, write

TENANT = SCOPE.tenant_id


def journal() -> list[NewMemory]:
    return [
        NewMemory(one.text, one.id, one.occurred_at, metadata=one.metadata)
        for one in corpus.memories()
        if one.occurred_at is not None
    ]


async def test_demo_is_proposed_kinds_of_places_and_sections_with_sentences_of_its_memories(pools: Pools) -> None:
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
    templates = [one for one in second.items if one.item.subject_kind is TermKind.FACET_TEMPLATE]
    assert templates, "sections that the seed has no template for"
    known = {(one.entity_type, one.slug) for one in (await governance.ontology(TENANT)).facet_templates}
    for one in templates:
        value = one.item.value
        assert (value["entity_type"], value["slug"]) not in known
        assert one.item.frequency >= 3
        assert value["position"] > 0
    for one in second.items:
        assert 1 <= len(one.evidence) <= 5
        for quoted in one.evidence:
            assert quoted.quote in texts[quoted.memory_id]
            assert len(quoted.quote) <= 280
    assert await scans.scan(TENANT) == await scans.scan(TENANT), "the same pages, the same proposals"

    about = kinds["park"]
    for example in about.evidence:
        await forget(pools, example.memory_id)
    third = (await scans.scan(TENANT)).change_set
    assert third is not None
    left = {quoted.memory_id for one in third.items for quoted in one.evidence}
    assert not left & {example.memory_id for example in about.evidence}
