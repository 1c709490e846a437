"""Releases to a tenant's Brain: rules, copies that follow their memories, trust, and forgetting."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from uuid import UUID

import asyncpg
import pytest

from compiler.decay.supersede import SupersessionCause
from sidecar.runtime.errors import FailedPrecondition, InvalidArgument, NotFound
from sidecar.services.brain.releases import PROMOTE, Actor, Brain
from sidecar.services.forgetting.targets import Target
from sidecar.services.ontology.scanning import Scans
from store.accounting import audit
from store.content import memories
from store.content.memories import NewMemory
from store.content.standing import StatusDecision
from store.content.supersessions import SupersessionReason
from store.content.tiers import AuthorityTier, MemoryStatus
from store.db.postgres import Pools, scoped, tenant_scoped
from store.ontology import evidence
from store.tenancy import traces
from store.tenancy.brain import ReleaseRule, RuleState
from tests.support.compiler.brain_world import ADMIN, ANN, BOB, TAG, TENANT, THERE, BrainWorld
from tests.support.rpc.service_calls import refused_field

CANARY = "Zwitscherklang"


@pytest.fixture
def world(pools: Pools) -> BrainWorld:
    return BrainWorld(pools)


async def rows_with(world: BrainWorld, word: str) -> dict[str, int]:
    """Return how many rows of the Brain hold a word, by table."""
    async with scoped(world.pools.background, THERE, read_only=True) as connection:
        return await traces.rows_holding(connection, THERE, word)


async def test_approved_rule_releases_matching_memories_only(world: BrainWorld) -> None:
    await world.say(ANN, "m1", "The office of Helios is in Lisbon.")
    await world.say(ANN, "m2", f"Ann calls her bird {CANARY}.", tags=())
    proposed = await world.brain.propose(TENANT, ReleaseRule(UUID(int=0), "shared", (TAG,)), ADMIN)
    await world.work()
    assert not await world.copies()
    await world.brain.approve(TENANT, proposed.rule_id, ADMIN)
    await world.work()
    assert await world.texts() == {"m1": "The office of Helios is in Lisbon."}
    (copy,) = (await world.copies()).values()
    assert (copy.origin_owner_id, copy.rule_id) == (ANN.owner_id, proposed.rule_id)
    assert copy.copy_id != "m1"
    await world.say(BOB, "b1", "Helios has forty people in Lisbon.")
    await world.work()
    assert set(await world.texts()) == {"m1", "b1"}
    assert not await rows_with(world, CANARY)


async def test_rule_that_would_release_everything_is_refused(world: BrainWorld) -> None:
    for rule in (ReleaseRule(UUID(int=0), "all"), ReleaseRule(UUID(int=0), "all", least_authority="user")):
        assert await refused_field(world.brain.propose(TENANT, rule, ADMIN)) == "rule"
    raised = ReleaseRule(UUID(int=0), "up", (TAG,), trust_tier=5)
    assert await refused_field(world.brain.propose(TENANT, raised, ADMIN)) == "reason"


async def test_every_owner_finds_brain_pages_that_cite_copies(world: BrainWorld, database: str) -> None:
    await world.rule()
    await world.say(ANN, "m1", "Priya Raman runs the Helios office.")
    await world.say(BOB, "b1", "Helios moved to Lisbon with Priya Raman in 2024.")
    await world.work()
    copies = {copy.copy_id for copy in (await world.copies()).values()}
    pages = await world.brain.pages(TENANT, limit=10)
    assert "Helios" in {page.title for page in pages}
    for owner in (ANN, BOB):
        found = await world.ask(owner, "Helios")
        hits = [one for one in found.hits if one.id.scope.value == "brain"]
        assert hits
        (detail,) = (await world.ask(owner, "", str(hits[0].id))).details
        assert detail.statements
        for one in detail.statements:
            assert set(one.memory_ids) <= copies
            assert detail.tier(one.memory_ids) == 4
    connection = await asyncpg.connect(database)
    for table, ends in (
        ("wiki_page_links", "from_page_id, to_page_id"),
        ("wiki_section_children", "parent_page_id, child_page_id"),
    ):
        joined = (
            "SELECT count(DISTINCT owner_id) FROM wiki_pages p WHERE p.tenant_id = l.tenant_id"
            f" AND p.page_id IN (l.{ends.replace(', ', ', l.')})"
        )
        assert not await connection.fetch(f"SELECT 1 FROM {table} l WHERE ({joined}) > 1"), "no row joins two owners"
    await connection.close()
    await world.brain.show(TENANT, is_shown=False)
    assert not [one for one in (await world.ask(BOB, "Helios")).hits if one.id.scope.value == "brain"]


async def test_forgotten_memory_removes_its_copy_and_derived_pages(world: BrainWorld, database: str) -> None:
    await world.rule()
    await world.say(ANN, "m1", f"Priya Raman owns a boat called {CANARY}.")
    await world.say(ANN, "m2", "Priya Raman runs the Helios office.")
    await world.say(BOB, "b1", "Helios moved to Lisbon with Priya Raman in 2024.")
    await world.work()
    assert await rows_with(world, CANARY)
    done = await world.memories.forgetting.forget(ANN, Target(word=CANARY), is_dry_run=False)
    assert done.hits
    await world.memories.forget(ANN, "m1")
    assert not await rows_with(world, CANARY), "nothing of it is left when the forgetting commits"
    assert set(await world.texts()) == {"m2", "b1"}
    assert THERE in world.dropped, "cached answers of every owner are dropped"
    await world.work()
    assert not await rows_with(world, CANARY)
    assert {page.title for page in await world.brain.pages(TENANT, limit=10)} >= {"Helios"}
    connection = await asyncpg.connect(database)
    assert await connection.fetchval("SELECT count(*) FROM brain_withdrawals") == 0
    await connection.close()


async def test_dry_run_of_a_forgetting_changes_nothing_in_the_brain(world: BrainWorld) -> None:
    await world.rule()
    await world.say(ANN, "m1", "Priya Raman runs the Helios office.")
    await world.work()
    await world.memories.forgetting.forget(ANN, Target(memory_id="m1"), is_dry_run=True)
    await world.tenants.forget_owner(ANN, is_dry_run=True)
    assert set(await world.texts()) == {"m1"}


async def test_forgetting_an_owner_deletes_every_copy(world: BrainWorld) -> None:
    await world.rule()
    await world.say(ANN, "m1", f"Priya Raman owns {CANARY}.")
    await world.say(BOB, "b1", "Priya Raman runs the Helios office.")
    await world.work()
    await world.tenants.forget_owner(ANN)
    assert set(await world.texts()) == {"b1"}
    assert not await rows_with(world, CANARY)


async def test_copy_follows_edits_statuses_and_supersessions(world: BrainWorld) -> None:
    await world.rule()
    await world.say(ANN, "m1", "The gate code is 4417.")
    await world.say(ANN, "m2", "The office of Helios is in Lisbon.")
    await world.work()
    first = (await world.copies())["m1"].copy_id
    await world.say(ANN, "m1", "The gate code is 9921.")
    assert set(await world.texts()) == {"m2"}, "the old text leaves in the transaction that edits"
    await world.work()
    assert (await world.texts())["m1"] == "The gate code is 9921."
    assert (await world.copies())["m1"].copy_id != first
    await world.memories.set_status(ANN, "m1", StatusDecision(MemoryStatus.REJECTED, "root", "wrong"))
    assert set(await world.texts()) == {"m2"}
    await world.memories.set_status(ANN, "m1", StatusDecision(MemoryStatus.ACCEPTED, "root", "right"))
    await world.work()
    assert set(await world.texts()) == {"m1", "m2"}
    await world.say(ANN, "m2", "The office of Helios is in Lisbon.", tags=())
    await world.work()
    assert set(await world.texts()) == {"m1"}


async def test_copy_follows_an_edit_by_a_supersession(world: BrainWorld) -> None:
    await world.rule()
    await world.say(ANN, "m1", "The gate code is 4417.")
    await world.say(ANN, "m2", "The gate has no code.")
    await world.work()
    assert set(await world.texts()) == {"m1", "m2"}
    edit = NewMemory("The gate code is 9921.", "m1", metadata={"tags": [TAG]}, authority="User")
    cause = SupersessionCause(SupersessionReason.CORRECTED, most_trusted=AuthorityTier.USER)
    await world.memories.supersessions.supersede(ANN, ["m2"], edit, cause)
    assert not await world.texts(), "the old text leaves in the transaction that edits"
    await world.work()
    assert await world.texts() == {"m1": "The gate code is 9921."}


async def test_withdrawing_a_rule_deletes_its_copies_unless_another_releases_them(world: BrainWorld) -> None:
    first, _ = await world.rule(), await world.rule("facts", memory_types=("fact",))
    await world.say(ANN, "m1", "The office of Helios is in Lisbon.")
    await world.say(ANN, "m2", "Ann likes short meetings.", memory_type="preference")
    await world.work()
    assert set(await world.texts()) == {"m1", "m2"}
    withdrawn = await world.brain.withdraw_rule(TENANT, first, ADMIN)
    assert withdrawn.state is RuleState.WITHDRAWN
    assert not await world.texts()
    await world.work()
    assert set(await world.texts()) == {"m1"}
    with pytest.raises(FailedPrecondition):
        await world.brain.approve(TENANT, first, ADMIN)


async def test_less_trusted_statement_is_held_until_an_admin_releases_it_for_a_reason(world: BrainWorld) -> None:
    await world.rule()
    await world.say(ANN, "m1", "The gate code of Helios is 4417.")
    await world.say(BOB, "b1", "The gate code of Helios is 9921.", metadata={"origin": "tool"})
    await world.work()
    (held,) = (await world.copies("held")).values()
    assert (held.origin_memory_id, held.trust_tier) == ("b1", 1)
    assert held.held_by == (await world.copies())["m1"].copy_id
    assert not await rows_with(world, "9921")
    with pytest.raises(InvalidArgument):
        await world.brain.release(TENANT, held.copy_id, " ", ADMIN)
    await world.brain.release(TENANT, held.copy_id, "checked at the gate", ADMIN)
    assert (await world.texts())["b1"] == "The gate code of Helios is 9921."
    async with tenant_scoped(world.pools.background, TENANT) as connection:
        logged = [one for one in await audit.page(connection, TENANT, limit=50) if one.method == PROMOTE]
    assert [one.object for one in logged] == [f"copy {held.copy_id} to tier 4: checked at the gate"]
    await world.work()
    assert set(await world.texts()) == {"m1", "b1"}, "a release by hand stays"


async def test_more_trusted_statement_holds_an_earlier_one_until_it_is_forgotten(world: BrainWorld) -> None:
    await world.rule()
    await world.say(BOB, "b1", "The gate code of Helios is 9921.", metadata={"origin": "tool"})
    await world.work()
    assert set(await world.texts()) == {"b1"}
    await world.say(ANN, "m1", "The gate code of Helios is 4417.")
    await world.work()
    assert set(await world.texts()) == {"m1"}
    assert set(await world.copies("held")) == {"b1"}
    assert not await rows_with(world, "9921")
    await world.memories.forget(ANN, "m1")
    await world.work()
    assert set(await world.texts()) == {"b1"}


async def test_proposer_may_not_approve_a_rule_under_four_eyes(world: BrainWorld) -> None:
    strict = Brain(world.pools.background, now=world.clock, has_four_eyes=True)
    proposed = await strict.propose(TENANT, ReleaseRule(UUID(int=0), "shared", (TAG,)), ADMIN)
    with pytest.raises(FailedPrecondition, match="another admin"):
        await strict.approve(TENANT, proposed.rule_id, ADMIN)
    two = await asyncio.gather(*(strict.approve(TENANT, proposed.rule_id, Actor(name)) for name in ("ines", "joao")))
    assert {one.approved_by for one in two} in ({"ines"}, {"joao"}), "of two at once one approves"
    assert (await world.brain.state(TENANT)).settings.rules_version == 1
    assert (await strict.approve(TENANT, proposed.rule_id, ADMIN)).state is RuleState.APPROVED, "a repeat is no error"


async def test_rule_that_trusts_more_logs_its_reason_on_one_line(world: BrainWorld) -> None:
    rule_id = await world.rule("crm", tags=(TAG,), trust_tier=5, reason="the CRM\nis the record")
    await world.say(ANN, "m1", "The gate code of Helios is 4417.", metadata={"origin": "tool"})
    await world.work()
    assert (await world.copies())["m1"].trust_tier == 5
    async with tenant_scoped(world.pools.background, TENANT) as connection:
        logged = [one.object for one in await audit.page(connection, TENANT, limit=50) if one.method == PROMOTE]
    assert logged == [f"rule {rule_id} to tier 5: the CRM is the record"]


async def test_withdrawn_copy_is_not_released_again(world: BrainWorld) -> None:
    await world.rule()
    await world.say(ANN, "m1", f"Priya Raman owns {CANARY}.")
    await world.work()
    copy = (await world.copies())["m1"]
    await world.brain.withdraw_copy(TENANT, copy.copy_id, ADMIN)
    assert not await rows_with(world, CANARY)
    await world.rule("again", memory_types=("fact",))
    await world.work()
    assert not await world.texts()
    await world.brain.release(TENANT, copy.copy_id, "it may be known", ADMIN)
    assert set(await world.texts()) == {"m1"}
    with pytest.raises(NotFound):
        await world.brain.withdraw_copy(TENANT, "nothing", ADMIN)


async def test_withdrawn_copy_without_a_rule_is_not_released_by_hand(world: BrainWorld) -> None:
    rule_id = await world.rule()
    await world.say(ANN, "m1", "Priya Raman runs the Helios office.")
    await world.work()
    copy = (await world.copies())["m1"]
    await world.brain.withdraw_copy(TENANT, copy.copy_id, ADMIN)
    await world.say(ANN, "m1", f"Priya Raman owns {CANARY}.", tags=())
    await world.work()
    with pytest.raises(FailedPrecondition, match="no approved rule"):
        await world.brain.release(TENANT, copy.copy_id, "it may be known", ADMIN)
    assert not await rows_with(world, CANARY)
    await world.say(ANN, "m1", "Priya Raman left Helios.", metadata={"origin": "tool"})
    await world.brain.withdraw_rule(TENANT, rule_id, ADMIN)
    with pytest.raises(FailedPrecondition, match="no approved rule"):
        await world.brain.release(TENANT, copy.copy_id, "it may be known", ADMIN)
    later = await world.rule("later")
    released = await world.brain.release(TENANT, copy.copy_id, "it may be known", ADMIN)
    assert (released.rule_id, released.trust_tier) == (later, 1)


async def test_scan_quotes_no_copies_and_old_quotes_go_with_their_copy(world: BrainWorld) -> None:
    await world.rule()
    await world.say(ANN, "m1", f"Casa Lola is a small {CANARY.lower()}.")
    await world.say(ANN, "m2", f"Vela Azul is a small {CANARY.lower()}.")
    await world.say(ANN, "m3", "Casa Lola met Vela Azul.")
    await world.work()
    report = await Scans(world.pools, now=world.clock).scan(TENANT)
    assert report.change_set is not None
    quoted = [one for item in report.change_set.items for one in item.evidence]
    assert {one.owner_id for one in quoted} == {ANN.owner_id}
    item_id = report.change_set.items[0].item.item_id
    copy = (await world.copies())["m1"]
    quote = replace(quoted[0], owner_id=THERE.owner_id, item_id=item_id, position=5, memory_id=copy.copy_id)
    async with scoped(world.pools.background, THERE) as connection:
        await evidence.replace(connection, THERE, [item_id], [quote])
    await world.memories.forget(ANN, "m1")
    await world.memories.forget(ANN, "m2")
    async with scoped(world.pools.background, THERE, read_only=True) as connection:
        assert not await evidence.resting_on_owner(connection, THERE)
        (held,) = await connection.fetch(
            "SELECT count(*) FROM ontology_change_set_items WHERE proposed::text ~* $1", CANARY
        )
    assert held["count"] == 0


async def test_memory_forgotten_while_it_is_released_leaves_nothing(world: BrainWorld) -> None:
    await world.rule()
    for number in range(12):
        await world.say(ANN, f"m{number}", f"{CANARY} number {number} sings in Lisbon.")
        await asyncio.gather(
            world.brain.compare(ANN), world.memories.forget(ANN, f"m{number}"), world.brain.compare(ANN)
        )
    assert not await world.texts()
    await world.work()
    assert not await rows_with(world, CANARY)
    async with scoped(world.pools.background, ANN) as connection:
        assert not await memories.page(connection, ANN, limit=10)


async def test_rule_withdrawn_while_it_releases_leaves_no_copy(world: BrainWorld) -> None:
    for number in range(5):
        await world.say(ANN, f"m{number}", f"{CANARY} number {number} sings in Lisbon.")
        await world.say(BOB, f"b{number}", f"{CANARY} number {number} rests in Porto.")
    rule_id = await world.rule()
    await asyncio.gather(
        world.brain.compare(ANN), world.brain.withdraw_rule(TENANT, rule_id, ADMIN), world.brain.compare(BOB)
    )
    assert not await world.texts()
    await world.work()
    assert not await rows_with(world, CANARY)


async def test_tags_match_letter_by_letter(world: BrainWorld) -> None:
    await world.rule()
    for number, tag in enumerate(("Shared", "sharеd", "ｓｈａｒｅｄ", "shared ", "share")):  # look-alikes
        await world.say(ANN, f"m{number}", f"Number {number} stays.", tags=(tag,))
    await world.say(ANN, "low", "A guess stays too.", authority="candidate")
    await world.work()
    assert not await world.texts()
