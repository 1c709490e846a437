"""Workers killed at one step after another, and what the next one makes of what they leave: whether the wikis are the same."""

from __future__ import annotations

import time
from uuid import UUID

import uvloop

from bench.databases import own_database
from bench.figures import Figure, at_least, at_most, plain
from store.jobs import JobStatus
from store.postgres import PoolsConfig, open_pools
from store.scope import Scope
from tests.integration import test_compile_crash as crashes
from tests.integration.compiling import all_jobs, wiki_of


def run(*, scale: float) -> list[Figure]:
    """Return the figures; a scale of 1 kills at 200 steps."""
    return uvloop.run(_measured(max(4, round(200 * scale))))


async def _measured(points: int) -> list[Figure]:
    died = differing = unfinished = 0
    began = time.perf_counter()
    async with own_database() as (_, opened):
        pools = await open_pools(opened.dsn, PoolsConfig(turn_connections=1, background_connections=4))
        try:
            expected = None
            for after in range(points + 1):
                scope = Scope(UUID(int=5000 + after), UUID(int=1))
                await crashes.prepare(pools, scope)
                died += after > 0 and await crashes.die(opened.dsn, scope, after)
                await crashes.finish(pools, scope)
                found = await wiki_of(pools, scope=scope)
                expected = expected or found
                differing += found != expected
                unfinished += any(job.status is not JobStatus.SUCCEEDED for job in await all_jobs(pools, scope=scope))
        finally:
            await pools.close()
    return [
        at_least("workers killed", died, min(points, 60)),
        at_most("wikis unlike the undisturbed one", differing, 0),
        at_most("jobs left undone", unfinished, 0),
        plain("time", time.perf_counter() - began, unit=" s"),
    ]
