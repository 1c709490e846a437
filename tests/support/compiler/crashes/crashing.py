"""A worker in a process of its own that names its nth step and kills itself there.

python -m tests.support.compiler.crashes.crashing DSN MODEL_URL TENANT OWNER N
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from dataclasses import replace
from uuid import UUID

from store.db.postgres import PoolsConfig, open_pools
from store.scope import Scope
from tests.support.compiler.compiling import Clock, worker_on
from tests.support.compiler.crashes.crash_world import DOOMED, LATER, Stepping, engine, model_at


async def main(dsn: str, url: str, scope: Scope, after: int) -> None:
    """Work on the scope until the step is reached; a worker that reaches none exits as if nothing were."""
    left = after

    def step(place: str) -> None:
        nonlocal left
        left -= 1
        if left == 0:
            print(place, flush=True)
            os.kill(os.getpid(), signal.SIGKILL)

    pools = await open_pools(dsn, PoolsConfig(turn_connections=1, background_connections=3))
    async with model_at(url, DOOMED) as model:
        made = replace(engine(pools, Stepping(model, step), Clock(LATER)), checkpoint=step)
        worker = worker_on(pools, made, holder=DOOMED)
        worker.on_finished = lambda job, ending: step("settled")
        await worker.drain_scope(scope)
    await pools.close()
    print(after - left)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], Scope(UUID(sys.argv[3]), UUID(sys.argv[4])), int(sys.argv[5])))
