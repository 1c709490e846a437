"""Jobs that reconcile first, because an operator confirmed archiving many pages."""

from __future__ import annotations

from dataclasses import replace

import pytest

from compiler.errors import MemoriesUnavailable
from compiler.settings import CompileSettings, Patience
from compiler.state.substrates import MemoryListing, PostgresSubstrate
from store.compile.jobs import JobOptions, JobStatus, Trigger
from store.db.postgres import Pools
from store.errors import QueryTimeout
from store.scope import Scope
from tests.support.compiler.compiling import SCOPE, Clock, all_jobs, engine_on, journal, wish, worker_on, write


class BrokenListing(PostgresSubstrate):
    """The built-in memories, whose listing fails."""

    error: Exception

    async def listing(self, scope: Scope) -> MemoryListing:
        raise self.error


@pytest.mark.parametrize(
    ("error", "status", "attempts"),
    [(QueryTimeout(), JobStatus.FAILED, 2), (MemoriesUnavailable(), JobStatus.PENDING, 0)],
)
async def test_confirmed_sweep_that_fails_is_tried_like_any_job(
    pools: Pools, error: Exception, status: JobStatus, attempts: int
) -> None:
    clock, substrate = Clock(), BrokenListing(pools.background)
    substrate.error = error
    few = replace(CompileSettings(), patience=Patience(max_attempts=2))
    worker = worker_on(pools, engine_on(pools, substrate=substrate, clock=clock, settings=few))
    await write(pools, journal(3))
    await wish(pools, trigger=Trigger.ADMIN, options=JobOptions(may_archive_many=True))
    for _ in range(4):
        await worker.drain_scope(SCOPE)
        clock.move(minutes=6)
    (job,) = await all_jobs(pools)
    assert (job.status, job.attempt) == (status, attempts)
    assert job.error.startswith(type(error).__name__)
