"""A worker killed while a plan ends a memory: the end is written once, and the next worker does the rest."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from store.db.postgres import Pools
from store.scope import Scope
from tests.integration.compiler.planners.test_planned_ends import MOVED, three, told
from tests.support.compiler.compiling import all_jobs, fetch, wiki_of, wish, write
from tests.support.compiler.crashes.crash_runs import World, die, finish, scope_of
from tests.support.compiler.crashes.crash_world import model_at, model_site
from tests.support.store.held_words import holders

STEPS = {5: "stored", 8: "ended", 9: "before_commit", 10: "applied"}
ENDS = """SELECT s.memory_id, s.superseded_id, s.evidence, o.valid_until = n.occurred_at FROM memory_supersessions s
    JOIN memories n ON n.tenant_id = s.tenant_id AND n.memory_id = s.memory_id
    JOIN memories o ON o.tenant_id = s.tenant_id AND o.memory_id = s.superseded_id WHERE s.tenant_id = $1"""


@pytest.fixture
async def world(pools: Pools, database: str) -> AsyncIterator[World]:
    """Serve a model whose plan ends a memory."""
    with model_site() as site:
        site.by_request = MOVED
        async with model_at(site.url) as model:
            yield World(pools, database, site, model)


async def left_by(world: World, scope: Scope, *, killed_at: int) -> tuple[object, ...]:
    await write(world.pools, three(), scope=scope)
    await wish(world.pools, scope=scope)
    if killed_at:
        assert await die(world, scope, killed_at) == STEPS[killed_at]
    await finish(world, scope)
    ended = sum(job.metrics["memories_ended"] for job in await all_jobs(world.pools, scope=scope))
    edges = [tuple(row) for row in await fetch(world.dsn, ENDS, scope.tenant_id)]
    return await wiki_of(world.pools, scope=scope), edges, ended


async def test_killed_worker_ends_a_memory_once(world: World) -> None:
    undisturbed = await left_by(world, scope_of(0), killed_at=0)
    assert undisturbed[1:] == ([("forest", "harbour", "moved away and lives in a house", True)], 1)
    for killed_at, step in STEPS.items():
        assert await left_by(world, scope_of(killed_at), killed_at=killed_at) == undisturbed, step


async def test_memory_edited_between_the_plan_and_its_end_ends_nothing(world: World) -> None:
    scope = scope_of(1)
    await write(world.pools, three(), scope=scope)
    await wish(world.pools, scope=scope)
    assert await die(world, scope, 5) == "stored"
    await write(world.pools, [told("forest", "Dale Whitaker is fond of port wine.", 3)], scope=scope)
    await finish(world, scope)
    assert await fetch(world.dsn, ENDS, scope.tenant_id) == []
    jobs = await all_jobs(world.pools, scope=scope)
    assert sum(job.metrics["rejections"].get("supersession_of_edited", 0) for job in jobs) == 1
    left = await holders(world.dsn, {"word": "moved away and lives in a house"})
    assert left.get("word", []) == ["model_answers.answer"], "no edge and no plan quotes the old text"
