"""A worker in a process of its own that runs a tenant's reprocess jobs and kills itself at its nth step."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

from compiler.job import reprocess
from compiler.job.reprocess import ReprocessDeps
from store.db.postgres import PoolsConfig, open_pools, tenant_scoped
from store.ontology import reprocess_jobs
from tests.support.compiler.compiling import NOW, Clock
from tests.support.compiler.crashes.children import Steps


async def work(step: Steps, dsn: str, tenant_id: UUID, minutes: int, pages_at_once: int) -> None:
    """Work until the step is reached, or until no job is left."""
    clock = Clock(NOW + timedelta(minutes=minutes))
    pools = await open_pools(dsn, PoolsConfig(turn_connections=1, background_connections=2))
    deps = ReprocessDeps(pools.background, clock, f"at-{minutes}", pages_at_once=pages_at_once, checkpoint=step)
    while True:
        await reprocess.run_due_jobs(deps, tenant_id)
        async with tenant_scoped(pools.background, tenant_id, read_only=True) as connection:
            if await reprocess_jobs.next_due(connection, tenant_id) is None:
                break
    await pools.close()
