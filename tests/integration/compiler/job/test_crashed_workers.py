"""A worker killed at any step, then another: the wiki of an undisturbed run, nothing lost, counted or bought twice."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from compiler.operations import lint
from store.db.postgres import Pools, scoped
from tests.support.compiler.crashes.crash_runs import STEPS, World, run, scope_of, steps
from tests.support.compiler.crashes.crash_world import LAST, model_at, model_site

SAMPLE = 3


@pytest.fixture
async def world(pools: Pools, database: str) -> AsyncIterator[World]:
    """Serve the model for one test."""
    with model_site() as site:
        async with model_at(site.url) as model:
            yield World(pools, database, site, model)


async def test_worker_killed_at_any_step_leaves_the_wiki_of_an_undisturbed_run(world: World, is_soak: bool) -> None:
    """The steps are spread evenly from the first to the last."""
    undisturbed = await run(world, scope_of(0), killed_at=0)
    (first, *rest) = undisturbed.written
    assert sum(figures["records_read"] for figures in (first, *rest)) == 58
    assert len(rest) >= 5, "jobs go on where a cap stopped them"
    assert sum(figures["sections_promoted"] for figures in undisturbed.written) == 1
    assert sum(figures["mentions_promoted"] for figures in undisturbed.written) == 1
    async with scoped(world.pools.background, scope_of(0), read_only=True) as connection:
        assert "unsourced_section" not in (await lint.look(connection, scope_of(0), now=LAST)).counts
    last, points = await steps(world, scope_of(1)), STEPS if is_soak else SAMPLE
    for number in range(points):
        killed_at = 1 + number * (last - 1) // (points - 1)
        left = await run(world, scope_of(2 + number), killed_at=killed_at)
        assert left.died_at, f"step {killed_at} is never reached"
        assert left.other_rows(undisturbed) == (), f"killed at step {killed_at}: {left.died_at}"
        assert left.unlike(undisturbed) == (), f"killed at step {killed_at}: {left.died_at}"
