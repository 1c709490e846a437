"""A worker in a process of its own that kills itself at its nth step."""

from __future__ import annotations

from dataclasses import replace

from store.db.postgres import PoolsConfig, open_pools
from store.scope import Scope
from tests.support.compiler.compiling import Clock, worker_on
from tests.support.compiler.crashes.children import Steps
from tests.support.compiler.crashes.crash_world import DOOMED, LATER, Stepping, engine, model_at


async def work(step: Steps, dsn: str, url: str, scope: Scope) -> None:
    """Work on the scope until the step is reached, or until all is done."""
    pools = await open_pools(dsn, PoolsConfig(turn_connections=1, background_connections=3))
    async with model_at(url, DOOMED) as model:
        made = replace(engine(pools, Stepping(model, step), Clock(LATER)), checkpoint=step)
        worker = worker_on(pools, made, holder=DOOMED)
        worker.on_finished = lambda job, ending: step("settled")
        await worker.drain_scope(scope)
    await pools.close()
