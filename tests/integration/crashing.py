"""A worker in a process of its own that kills itself at its nth step: python -m tests.integration.crashing DSN TENANT OWNER N."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from dataclasses import replace
from datetime import timedelta
from uuid import UUID

from store.postgres import PoolsConfig, open_pools
from store.scope import Scope
from tests.integration.compiling import NOW, Clock, capped, engine_on, worker_on


async def main(dsn: str, scope: Scope, after: int) -> None:
    """Work on the scope until the step is reached; a worker that reaches none exits as if nothing were."""
    left = after

    def step(place: str) -> None:
        nonlocal left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    pools = await open_pools(dsn, PoolsConfig(turn_connections=1, background_connections=3))
    settings, clock = capped(record_page_size=5, max_new_pages_per_job=4), Clock(NOW + timedelta(minutes=10))
    engine = replace(engine_on(pools, settings=settings, clock=clock), checkpoint=step)
    await worker_on(pools, engine, holder="doomed").drain_scope(scope)
    await pools.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], Scope(UUID(sys.argv[2]), UUID(sys.argv[3])), int(sys.argv[4])))
