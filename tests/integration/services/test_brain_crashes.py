"""A process killed amid a release, a forgetting or a withdrawal: a step is whole or not there, and the next process ends it."""

from __future__ import annotations

import pytest

from store.content import memories
from store.db.postgres import Pools, scoped
from tests.support.compiler.brain_world import ADMIN, ANN, BOB, TENANT, THERE, BrainWorld
from tests.support.compiler.crashes import brain_crashing, children

CANARY = "Zwitscherklang"
STEPS = (6, 19, 45)


async def stands(world: BrainWorld) -> set[str]:
    """Return the memories whose copies stand; a copy is whole: its row and its memory are there together."""
    copies = await world.copies()
    async with scoped(world.pools.background, THERE, read_only=True) as connection:
        there = {one.memory_id for one in await memories.page(connection, THERE, limit=100)}
    assert there == {copy.copy_id for copy in copies.values()}
    return set(copies)


@pytest.mark.parametrize("act", ["release", "forget", "withdraw"])
async def test_killed_process_leaves_a_whole_brain_that_the_next_one_finishes(
    pools: Pools, database: str, act: str
) -> None:
    world = BrainWorld(pools)
    everything = {"m1", "m2", "b1"}
    deaths = 0
    for step in STEPS:
        rule_id = await world.rule(f"rule-{step}")
        await world.say(ANN, "m1", f"Priya Raman heard {CANARY} at the Helios office.")
        await world.say(ANN, "m2", "Priya Raman moved Helios to Lisbon in 2024.")
        await world.say(BOB, "b1", "Helios has forty people.")
        if act != "release":
            await world.work()
            assert await stands(world) == everything
        deaths += (await children.run(brain_crashing.act, database, act, killed_at=step)).is_killed
        left = await stands(world)
        assert left <= everything
        if act == "forget":
            await world.memories.forget(ANN, "m1")
            assert await stands(world) == {"m2", "b1"}
        await world.work()
        if act == "release":
            assert await stands(world) == everything
        await world.brain.withdraw_rule(TENANT, rule_id, ADMIN)
        await world.work()
        assert await stands(world) == set()
    assert deaths >= 2, "the steps are too late to be met"
