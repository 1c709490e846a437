"""Kills workers at one step after another, and checks that the next worker neither loses nor duplicates anything."""

from __future__ import annotations

import time
from collections import Counter
from uuid import UUID

import uvloop

from bench.databases import own_database
from bench.figures import Figure, at_least, at_most, plain
from compiler.state.snapshot import differences
from store.db.postgres import PoolsConfig, open_pools
from tests.support.compiler.crashes import crash_runs, reprocess_runs
from tests.support.compiler.crashes.crash_runs import STEPS, Other, World, scope_of
from tests.support.compiler.crashes.crash_world import model_at, model_site
from tests.support.compiler.crashes.killed_wikis import PAGE_SIZES, Campaign, drawn

PAGES = 50_000
WIKIS = 24
_UNDISTURBED, _KILLED = UUID(int=701), UUID(int=702)
_FAULTS = {
    "wiki": "wikis unlike the undisturbed one",
    "rows": "runs whose jobs tell of other rows",
    "jobs": "runs with a job left undone",
    "questions": "runs that asked something else",
    "answers": "runs that kept other answers",
    "bought twice": "runs that bought a stored answer again",
}


def run(*, scale: float) -> list[Figure]:
    """Return the figures; a scale of 1 kills compiles at 200 steps, spread evenly, compares 24 wikis that were compiled under
    random kills with their rebuilds, and reprocesses 50,000 pages."""
    compiles = uvloop.run(_measured(max(4, round(STEPS * scale))))
    wikis = uvloop.run(_rebuilt(max(2, round(WIKIS * scale))))
    return [*compiles, *wikis, *uvloop.run(_reprocessed(max(300, round(PAGES * scale))))]


async def _rebuilt(count: int) -> list[Figure]:
    """Return how wikis that state typed edges and were compiled under random kills differ from their full rebuilds."""
    killed = unlike = quarantined = edges = 0
    async with own_database() as (_, opened):
        pools = await open_pools(opened.dsn, PoolsConfig(turn_connections=1, background_connections=4))
        try:
            campaign = Campaign(pools, opened.dsn)
            for seed in range(1, count + 1):
                plan = drawn(seed, rounds=4, most=24, kills=3)
                found = await campaign.run(scope_of(seed), plan, page_size=PAGE_SIZES[seed % len(PAGE_SIZES)])
                killed += found.killed
                unlike += bool(found.unlike)
                quarantined += len(found.quarantined)
                edges += sum(" deterministic:edge:" in name for name in found.rebuilt)
        finally:
            await pools.close()
    return [
        plain("wikis compared with their rebuilds", count),
        at_least("workers killed at random over them", killed, count),
        plain("statements of typed edges in them", edges),
        at_most("wikis that say something else than their rebuilds", unlike, 0),
        at_most("memories that the kills quarantined", quarantined, 0),
    ]


async def _reprocessed(pages: int) -> list[Figure]:
    """Return the results of a reprocess job whose workers are killed at about twenty random steps."""
    at_once = max(10, pages // 500)
    async with own_database() as (_, opened):
        pools = await open_pools(opened.dsn, PoolsConfig(turn_connections=1, background_connections=4))
        try:
            for tenant_id in (_UNDISTURBED, _KILLED):
                await reprocess_runs.prepare(pools, opened.dsn, tenant_id, pages)
            began = time.perf_counter()
            whole = await reprocess_runs.run(pools, opened.dsn, _UNDISTURBED, pages_at_once=at_once)
            took_s = time.perf_counter() - began
            longest = max(10, 3 * pages // at_once // 10)
            killed = await reprocess_runs.run(pools, opened.dsn, _KILLED, pages_at_once=at_once, longest=longest)
        finally:
            await pools.close()
    pairs = zip(whole.wikis, killed.wikis, strict=True)
    unlike = sum(len(differences(one, other)) for one, other in pairs)
    return [
        plain("pages reprocessed", pages),
        at_least("workers killed while reprocessing", len(killed.killed_at), 5),
        at_most("rows unlike the undisturbed reprocess", unlike, 0),
        at_most("counters of the job unlike the undisturbed one's", int(killed.job.metrics != whole.job.metrics), 0),
        plain("pages reprocessed a second", pages / took_s),
    ]


async def _measured(points: int) -> list[Figure]:
    died = again = 0
    faults: Counter[str] = Counter()
    others: list[Figure] = []
    began = time.perf_counter()
    with model_site() as site:
        async with own_database() as (_, opened), model_at(site.url) as model:
            pools = await open_pools(opened.dsn, PoolsConfig(turn_connections=1, background_connections=4))
            world = World(pools, opened.dsn, site, model)
            try:
                undisturbed = await crash_runs.run(world, scope_of(0), killed_at=0)
                there = await crash_runs.steps(world, scope_of(1))
                for number in range(points):
                    at = 1 + number * (there - 1) // points
                    left = await crash_runs.run(world, scope_of(2 + number), killed_at=at)
                    died += bool(left.died_at)
                    again += left.bought_again
                    faults.update(left.unlike(undisturbed))
                    others += [_other(at, left.died_at, one) for one in left.other_rows(undisturbed)]
            finally:
                await pools.close()
    return [
        at_least("workers killed", died, points),
        *(at_most(name, faults[fault], 0) for fault, name in _FAULTS.items()),
        *others,
        plain("steps of a worker that is not killed", there),
        plain("calls in flight bought again", again),
        plain("time", time.perf_counter() - began, unit=" s"),
    ]


def _other(at: int, step: str, one: Other) -> Figure:
    """Return a counter that a kill changed, with the undisturbed value as its target; for text, that it differs."""
    name = f"step {at} ({step}), job {one.job}: {one.counter}"
    if isinstance(one.value, int | float):
        return Figure(name, one.value, "", f"= {one.undisturbed}", False)
    return Figure(name, 1, "", "= 0", False, f"{one.value!r} instead of {one.undisturbed!r}")
