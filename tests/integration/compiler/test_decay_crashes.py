"""A process that is killed while it runs a decay job loses nothing and compresses nothing twice."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from datetime import timedelta
from functools import partial
from uuid import UUID

import pytest

from compiler.decay.compress import ModelWords
from compiler.decay.runner import LEASE, DecayDeps, run_decay_job
from compiler.decay.summary import DecaySource
from compiler.errors import CompressionRefused, LeaseLost
from store.compile import decay_jobs
from store.compile.decay_jobs import DecayJob, SummaryMethod
from store.content import memories
from store.content.memories import NewMemory
from store.content.tiers import MemoryStatus
from store.db.postgres import Pools, scoped
from store.scope import Scope
from store.tenancy import tenants
from tests.support.compiler.compiling import fetch
from tests.support.rpc.service_calls import NOW, an_agent

OWNER = an_agent().identity
SCOPE = Scope(OWNER.tenant_id, next(iter(OWNER.owner_ids or ())))
JOB = UUID(int=7)

_PROGRAM = """
import asyncio, os, signal, sys
from datetime import datetime
from uuid import UUID
from compiler.decay.runner import DecayDeps, run_decay_job
from store.db.postgres import PoolsConfig, open_pools
from store.scope import Scope

async def main(dsn, tenant, owner, now, killed_at):
    pools = await open_pools(dsn, PoolsConfig(turn_connections=1, background_connections=1))
    def checkpoint(name):
        if name == killed_at:
            os.kill(os.getpid(), signal.SIGKILL)
    deps = DecayDeps(pools.background, lambda: datetime.fromisoformat(now), lambda: "killed", checkpoint=checkpoint)
    await run_decay_job(deps, Scope(UUID(tenant), UUID(owner)))

asyncio.run(main(*sys.argv[1:]))
"""


@pytest.mark.parametrize("killed_at", ["claimed", "written", "ended", "committed"])
async def test_killed_run_is_finished_by_the_next_and_compresses_once(
    pools: Pools, database: str, killed_at: str
) -> None:
    async with scoped(pools.background, SCOPE) as connection:
        await tenants.ensure_tenant(connection, SCOPE.tenant_id, now=NOW)
        new = [NewMemory(f"It was {one}.", one, NOW, status=MemoryStatus.CANDIDATE) for one in "abc"]
        await memories.retain(connection, SCOPE, new, now=NOW)
        await decay_jobs.insert(connection, SCOPE, DecayJob(JOB, ("a", "b", "c"), NOW, NOW))
    arguments = [database, str(SCOPE.tenant_id), str(SCOPE.owner_id), NOW.isoformat(), killed_at]
    killed = await asyncio.to_thread(
        partial(subprocess.run, [sys.executable, "-c", _PROGRAM, *arguments], check=False, timeout=60)
    )
    assert killed.returncode == -signal.SIGKILL
    is_done = killed_at == "committed"
    made = await fetch(database, "SELECT count(*) FROM memories WHERE memory_type = 'summary'")
    assert made == [(int(is_done),)]
    deps = DecayDeps(pools.background, lambda: NOW + timedelta(seconds=1), lambda: "next")
    assert await run_decay_job(deps, SCOPE) is None, "its lease has not ended"
    later = DecayDeps(pools.background, lambda: NOW + LEASE, lambda: "next")
    job = await run_decay_job(later, SCOPE)
    assert (job is None) == is_done
    assert await run_decay_job(later, SCOPE) is None
    summary_id = "killed" if is_done else "next"
    assert await fetch(database, "SELECT state, result_id FROM decay_jobs") == [("completed", summary_id)]
    assert await fetch(database, "SELECT memory_id FROM memories ORDER BY 1") == sorted(
        [(one,) for one in ("a", "b", "c", summary_id)]
    )
    edges = "SELECT memory_id, superseded_id FROM memory_supersessions ORDER BY place"
    assert await fetch(database, edges) == [(summary_id, one) for one in "abc"]


async def test_failure_of_a_run_that_lost_its_job_is_not_recorded(pools: Pools, database: str) -> None:
    async with scoped(pools.background, SCOPE) as connection:
        await tenants.ensure_tenant(connection, SCOPE.tenant_id, now=NOW)
        new = [NewMemory(f"It was {one}.", one, NOW, status=MemoryStatus.CANDIDATE) for one in "abc"]
        await memories.retain(connection, SCOPE, new, now=NOW)
        job = DecayJob(JOB, ("a", "b", "c"), NOW, NOW, summary_method=SummaryMethod.LLM)
        await decay_jobs.insert(connection, SCOPE, job)
    ended: list[DecayJob] = []
    methods = frozenset(SummaryMethod)

    async def taken_over(scope: Scope, sources: list[DecaySource]) -> ModelWords:
        later = NOW + LEASE
        async with scoped(pools.background, scope) as connection:
            assert await decay_jobs.claim(connection, scope, methods, now=later, lease_until=later + LEASE)
        raise CompressionRefused("the model is away")

    deps = DecayDeps(
        pools.background, lambda: NOW, lambda: "s", methods=methods, written=taken_over, on_end=ended.append
    )
    with pytest.raises(LeaseLost):
        await run_decay_job(deps, SCOPE)
    assert ended == []
    assert await fetch(database, "SELECT state, failure FROM decay_jobs") == [("in_progress", "")]
