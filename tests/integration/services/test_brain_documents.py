"""Documents in a tenant's Brain: which are compiled, their trust, and their withdrawal."""

from __future__ import annotations

import asyncio
from uuid import UUID, uuid4

import pytest

from sidecar.runtime.errors import FailedPrecondition, NotFound
from sidecar.services.brain.releases import PROMOTE
from store.accounting import audit
from store.content import memories
from store.db.postgres import Pools, scoped, tenant_scoped
from store.tenancy import traces
from store.tenancy.brain import ReleaseRule
from tests.support.compiler.brain_world import ADMIN, ANN, BOB, TAG, TENANT, THERE, BrainWorld
from tests.support.rpc.service_calls import refused_field

CANARY = "Zwitscherklang"
OFFICE = "# Offices\n\nPriya Raman runs the Helios office. The Helios office is in Lisbon.\n"
PEOPLE = "# People\n\nPriya Raman moved the Helios office to Lisbon in 2024.\n"


@pytest.fixture
def world(pools: Pools) -> BrainWorld:
    return BrainWorld(pools)


async def held(world: BrainWorld, word: str) -> dict[str, int]:
    async with scoped(world.pools.background, THERE, read_only=True) as connection:
        return await traces.rows_holding(connection, THERE, word)


async def test_base_is_compiled_once_a_rule_that_names_it_is_approved(world: BrainWorld) -> None:
    await world.write("offices.md", OFFICE)
    await world.write("people.md", PEOPLE)
    await world.write("secret.md", f"Priya Raman calls the Helios boat {CANARY}.", base="private")
    proposed = await world.brain.propose(TENANT, ReleaseRule(UUID(int=0), "docs", knowledge_base="handbook"), ADMIN)
    await world.work()
    assert not await world.texts()
    await world.brain.approve(TENANT, proposed.rule_id, ADMIN)
    await world.work()
    texts = (await world.texts()).values()
    assert any("runs the Helios office" in one for one in texts)
    assert not await held(world, CANARY)
    copies = list((await world.copies()).values())
    assert {one.trust_tier for one in copies} == {2}
    there = await world.brain.documents_of(TENANT, copies)
    assert {(one.knowledge_base, one.path) for one in there.values()} == {
        ("handbook", "offices.md"),
        ("handbook", "people.md"),
    }
    hits = [one for one in (await world.ask(BOB, "Helios")).hits if one.id.scope.value == "brain"]
    (detail,) = (await world.ask(BOB, "", str(hits[0].id))).details
    assert detail.statements
    for one in detail.statements:
        assert set(one.memory_ids) <= {copy.copy_id for copy in copies}
        assert detail.tier(one.memory_ids) == 2
    async with scoped(world.pools.background, THERE, read_only=True) as connection:
        found = await memories.by_ids(connection, THERE, [copy.copy_id for copy in copies])
    assert {UUID(one.document_id) for one in found} == set(there), "each copy names its document"


async def test_one_document_is_chosen_by_its_path_and_later_ones_of_a_base_follow(world: BrainWorld) -> None:
    await world.write("offices.md", OFFICE)
    await world.write("people.md", f"Priya Raman owns {CANARY}.")
    rule = await world.rule("one", knowledge_base="handbook", document_path="offices.md")
    await world.work()
    assert await world.texts()
    assert not await held(world, CANARY)
    await world.rule("all", knowledge_base="handbook")
    await world.work()
    assert await held(world, CANARY)
    await world.write("later.md", "Priya Raman wrote the Helios manual.")
    await world.work()
    assert any("wrote the Helios manual" in one for one in (await world.texts()).values())
    before = await world.texts()
    await world.brain.withdraw_rule(TENANT, rule, ADMIN)
    await world.work()
    assert await world.texts() == before, "the other rule releases it too"


async def test_removed_text_of_a_document_leaves_in_the_same_transaction(world: BrainWorld, pools: Pools) -> None:
    await world.write("offices.md", OFFICE)
    await world.write("people.md", f"Priya Raman runs the Helios boat {CANARY} in Lisbon.")
    await world.rule("docs", knowledge_base="handbook")
    await world.work()
    kept = {one.origin_memory_id: one.copy_id for one in (await world.copies()).values()}
    assert await held(world, CANARY)
    await world.write("people.md", "Priya Raman runs the Helios boat in Porto.")
    assert not await held(world, CANARY), "before any worker was asked"
    assert THERE in world.dropped
    await world.work()
    assert any("in Porto" in one for one in (await world.texts()).values())
    now = {one.origin_memory_id: one.copy_id for one in (await world.copies()).values()}
    assert {key: value for key, value in kept.items() if key in now} == {
        key: value for key, value in now.items() if key in kept
    }, "what stayed keeps its copy"
    await world.knowledge.delete_document(TENANT, "handbook", "people.md")
    assert not await held(world, "Porto")
    await world.work()
    assert len(await world.copies()) == len([key for key in kept if key in now])
    async with scoped(pools.background, THERE, read_only=True) as connection:
        assert not await traces.rows_holding(connection, THERE, "Porto")


async def test_withdrawing_a_rule_deletes_the_documents_with_their_pages(world: BrainWorld) -> None:
    await world.write("offices.md", OFFICE)
    await world.write("people.md", PEOPLE)
    rule = await world.rule("docs", knowledge_base="handbook")
    await world.work()
    assert await world.brain.pages(TENANT, limit=10)
    await world.brain.withdraw_rule(TENANT, rule, ADMIN)
    assert not await world.texts()
    await world.work()
    assert not await world.texts()
    assert not await world.brain.pages(TENANT, limit=10)


async def test_document_that_contradicts_a_user_is_held_until_released_for_a_reason(world: BrainWorld) -> None:
    await world.write("gate.md", "The gate code of the Helios office is 4417.")
    await world.rule()
    await world.say(ANN, "m1", "The gate code of the Helios office is 9921.")
    await world.rule("docs", knowledge_base="handbook")
    await world.work()
    assert set((await world.texts()).values()) == {"The gate code of the Helios office is 9921."}
    (waiting,) = (await world.copies("held")).values()
    released = await world.brain.release(TENANT, waiting.copy_id, "the plate on the gate", ADMIN)
    assert (released.trust_tier, released.reason) == (4, "the plate on the gate")
    assert len(await world.texts()) == 2
    async with tenant_scoped(world.pools.background, TENANT, read_only=True) as connection:
        entries = [one for one in await audit.page(connection, TENANT, limit=10) if one.method == PROMOTE]
    assert "the plate on the gate" in entries[0].object
    await world.brain.withdraw_copy(TENANT, waiting.copy_id, ADMIN)
    await world.work()
    assert set((await world.texts()).values()) == {"The gate code of the Helios office is 9921."}, "for good"


async def test_higher_tier_of_a_rule_for_documents_needs_a_reason_and_is_logged(world: BrainWorld) -> None:
    await world.write("offices.md", OFFICE)
    raised = ReleaseRule(UUID(int=0), "docs", knowledge_base="handbook", trust_tier=5)
    assert await refused_field(world.brain.propose(TENANT, raised, ADMIN)) == "reason"
    await world.rule("docs", knowledge_base="handbook")
    await world.work()
    await world.rule("up", knowledge_base="handbook", trust_tier=5, reason="the board signed it")
    await world.work()
    assert {one.trust_tier for one in (await world.copies()).values()} == {5}


async def test_rules_that_mix_or_name_nothing_are_refused(world: BrainWorld) -> None:
    await world.write("offices.md", OFFICE)
    mixed = ReleaseRule(UUID(int=0), "docs", (TAG,), knowledge_base="handbook")
    assert await refused_field(world.brain.propose(TENANT, mixed, ADMIN)) == "knowledge_base"
    alone = ReleaseRule(UUID(int=0), "docs", (TAG,), document_path="offices.md")
    assert await refused_field(world.brain.propose(TENANT, alone, ADMIN)) == "document_path"
    with pytest.raises(NotFound):
        await world.brain.propose(TENANT, ReleaseRule(UUID(int=0), "docs", knowledge_base="nowhere"), ADMIN)


async def test_document_deleted_while_it_is_released_leaves_nothing(world: BrainWorld) -> None:
    for turn in range(3):
        await world.write("people.md", f"Priya Raman calls the Helios boat {CANARY} {turn}.")
        if not turn:
            await world.rule("docs", knowledge_base="handbook")
        await asyncio.gather(
            world.brain.share(TENANT), world.knowledge.delete_document(TENANT, "handbook", "people.md")
        )
        await world.work()
        assert not await held(world, CANARY)


async def test_copy_of_a_document_that_is_gone_is_not_released_by_hand(world: BrainWorld) -> None:
    await world.write("offices.md", OFFICE)
    rule = await world.rule("docs", knowledge_base="handbook")
    await world.work()
    copy = next(iter((await world.copies()).values()))
    await world.brain.withdraw_copy(TENANT, copy.copy_id, ADMIN)
    await world.brain.withdraw_rule(TENANT, rule, ADMIN)
    with pytest.raises((NotFound, FailedPrecondition)):
        await world.brain.release(TENANT, copy.copy_id, "why not", ADMIN)
    with pytest.raises(NotFound):
        await world.brain.release(TENANT, str(uuid4()), "why not", ADMIN)
