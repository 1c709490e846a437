"""Memory and wiki recall over two owners: items of the Brain, their marks, and a failing Brain."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

import pytest

from sidecar.context.ports import ContextSource, SourceAnswer, SourceLimits, SourceQuery
from sidecar.sources.brain import MARK, BrainSwitch, WithBrain
from sidecar.sources.memory import MemorySource
from sidecar.sources.wiki import WikiSource
from sidecar.turn.message.reading import read
from sidecar.turn.ranking.rank import rank
from store.content import memories
from store.content.memories import NewMemory
from store.db.postgres import Pools, scoped
from store.errors import QueryTimeout
from store.scope import Scope, is_brain
from tests.support.compiler.brain_world import ANN, BOB, TENANT, BrainWorld
from tests.support.compiler.compiling import NOW

LIMITS = SourceLimits(top_k=20, lead_lines=3, deadline_s=30.0)
CANARY = "Zwitscherklang"


@dataclass(slots=True)
class Broken:
    """A source that answers for an owner, and for the Brain fails or never ends."""

    source: ContextSource
    hangs: bool = False
    asked: list[Scope] = field(default_factory=list)

    async def find(self, query: SourceQuery, scope: Scope, limits: SourceLimits) -> SourceAnswer:
        self.asked.append(scope)
        if not is_brain(scope.owner_id):
            return await self.source.find(query, scope, limits)
        if self.hangs:
            await asyncio.Event().wait()
        raise QueryTimeout("the Brain is broken")


@pytest.fixture
async def world(pools: Pools) -> BrainWorld:
    world = BrainWorld(pools)
    await world.rule()
    await world.say(ANN, "m1", "Priya Raman runs the Helios office in Lisbon.")
    await world.say(ANN, "m2", "Helios moved to Lisbon in 2024.")
    await world.say(ANN, "own", f"Helios gave Ann a bird called {CANARY}.", tags=())
    await world.say(BOB, "b1", "Bob met Priya Raman of Helios once.", tags=())
    await world.work()
    return world


def switch_of(pools: Pools) -> BrainSwitch:
    return BrainSwitch(pools.turn, clock=lambda: 0.0)


def asking(message: str) -> SourceQuery:
    reading = read(message, today=NOW.date())
    return SourceQuery(message, reading.words, "", "", "", "", "", NOW, reading)


async def found(source: ContextSource, pools: Pools, scope: Scope, limits: SourceLimits = LIMITS) -> SourceAnswer:
    return await WithBrain(source, switch_of(pools)).find(asking("Who runs Helios?"), scope, limits)


async def test_turn_of_another_owner_sees_released_memories_marked_as_shared(world: BrainWorld, pools: Pools) -> None:
    async with scoped(pools.background, BOB) as connection:
        await memories.retain(connection, BOB, [NewMemory("Bob read about Helios.", "b2", NOW)], now=NOW)
    copies = {copy.copy_id for copy in (await world.copies()).values()}
    of_memory = await found(MemorySource(pools.turn), pools, BOB)
    shared = {item.provenance[0].ref for item in of_memory.items if item.header.startswith(MARK)}
    assert shared == copies
    assert {"b1", "b2"} <= {item.provenance[0].ref for item in of_memory.items}
    of_wiki = await found(WikiSource(pools.turn), pools, BOB)
    assert of_wiki.items
    assert all(item.header.startswith(f"{MARK}: ") for item in of_wiki.items)
    for answer in (of_memory, of_wiki):
        assert CANARY not in str(answer.items)
        assert answer.candidates is not None
        assert set(answer.candidates.ids) == {item.id for item in answer.items}
        ranked = rank(read("Who runs Helios?", today=NOW.date()), [answer.candidates])
        assert len(ranked.relevances) == len(answer.items)


async def test_brain_without_rules_or_switched_off_is_not_queried(world: BrainWorld, pools: Pools) -> None:
    source = Broken(MemorySource(pools.turn))
    await world.brain.show(TENANT, is_shown=False)
    answer = await found(source, pools, BOB)
    assert (source.asked, answer.failures) == ([BOB], ())
    stranger = Scope(ANN.owner_id, ANN.owner_id)
    await found(source, pools, stranger)
    assert source.asked == [BOB, stranger]


@pytest.mark.parametrize("hangs", [False, True])
async def test_broken_brain_leaves_the_owners_answer_unchanged(world: BrainWorld, pools: Pools, hangs: bool) -> None:
    own = await MemorySource(pools.turn).find(asking("Who runs Helios?"), BOB, LIMITS)
    limits = SourceLimits(top_k=20, lead_lines=3, deadline_s=0.2 if hangs else 30.0)
    answer = await found(Broken(MemorySource(pools.turn), hangs), pools, BOB, limits)
    assert [item.text for item in answer.items] == [item.text for item in own.items]
    why = "it took too long" if hangs else "it failed with QueryTimeout"
    assert answer.failures == (f"brain: {why}",)


async def test_forgotten_memory_is_gone_from_the_next_turn_of_every_owner(world: BrainWorld, pools: Pools) -> None:
    await world.memories.forget(ANN, "m1")
    for source in (MemorySource(pools.turn), WikiSource(pools.turn)):
        assert "Priya Raman runs" not in str((await found(source, pools, BOB)).items)
