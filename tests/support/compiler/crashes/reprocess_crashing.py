"""A worker in a process of its own that runs a tenant's reprocess jobs and kills itself at its nth step.

python -m tests.support.compiler.crashes.reprocess_crashing DSN TENANT MINUTES PAGES_AT_ONCE N
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from datetime import timedelta
from uuid import UUID

from compiler.job import reprocess
from compiler.job.reprocess import ReprocessDeps
from store.db.postgres import PoolsConfig, open_pools, tenant_scoped
from store.ontology import reprocess_jobs
from tests.support.compiler.compiling import NOW, Clock


async def main(dsn: str, tenant_id: UUID, minutes: int, pages_at_once: int, after: int) -> None:
    """Work until the step is reached, which is named on standard output, or until no job is left."""
    left = after

    def step(place: str) -> None:
        nonlocal left
        left -= 1
        if left == 0:
            print(place, flush=True)
            os.kill(os.getpid(), signal.SIGKILL)

    clock = Clock(NOW + timedelta(minutes=minutes))
    pools = await open_pools(dsn, PoolsConfig(turn_connections=1, background_connections=2))
    deps = ReprocessDeps(pools.background, clock, f"at-{minutes}", pages_at_once=pages_at_once, checkpoint=step)
    while True:
        await reprocess.run_due_jobs(deps, tenant_id)
        async with tenant_scoped(pools.background, tenant_id, read_only=True) as connection:
            if await reprocess_jobs.next_due(connection, tenant_id) is None:
                break
    await pools.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], UUID(sys.argv[2]), *map(int, sys.argv[3:6])))
