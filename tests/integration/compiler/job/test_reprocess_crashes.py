"""Workers that are killed with SIGKILL amid a reprocess job: the wikis of an undisturbed run, ids and times aside."""

from __future__ import annotations

import asyncio
import random
import signal
import sys
from uuid import UUID

from store.db.postgres import Pools, tenant_scoped
from store.ontology import reprocess_jobs
from store.ontology.reprocess_jobs import ReprocessJob, ReprocessStatus
from tests.support.compiler.compiling import wiki_of
from tests.support.compiler.governed_world import fill, owners, queue
from tests.support.compiler.ontologies import WORLD, put_in_force
from tests.support.places import ROOT

UNDISTURBED, KILLED = UUID(int=701), UUID(int=702)
NEVER = 10**9


async def died(database: str, tenant_id: UUID, minutes: int, pages_at_once: int, step: int) -> str:
    """Run a worker that dies at a step, and return the step's name; empty if it ended before."""
    child = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.support.compiler.reprocess_crashing", database, str(tenant_id)),
        *map(str, (minutes, pages_at_once, step)),
        cwd=ROOT,
        stdout=asyncio.subprocess.PIPE,
    )
    told, _ = await child.communicate()
    assert child.returncode in (0, -signal.SIGKILL)
    return told.decode().strip() if child.returncode else ""


async def only_job(pools: Pools, tenant_id: UUID) -> ReprocessJob:
    async with tenant_scoped(pools.background, tenant_id, read_only=True) as connection:
        (job,) = await reprocess_jobs.page(connection, tenant_id, limit=5)
    return job


async def test_worker_killed_at_random_steps_leaves_the_pages_of_an_undisturbed_one(
    pools: Pools, database: str, is_soak: bool
) -> None:
    pages, at_once, longest = (50_000, 100, 150) if is_soak else (300, 10, 25)
    for tenant_id in (UNDISTURBED, KILLED):
        await fill(pools.background, database, tenant_id, pages)
        made = await put_in_force(pools, WORLD, tenant_id=tenant_id)
        await queue(pools.background, tenant_id, made.version)
    assert await died(database, UNDISTURBED, 0, at_once, NEVER) == ""
    chance, places, minutes = random.Random(18), [], 0
    while place := await died(database, KILLED, minutes, at_once, chance.randint(2, longest)):
        places.append(place)
        minutes += 5
    assert len(places) >= 5, "it was killed, again and again"
    assert {"governed", "committed"} & set(places)
    job, undisturbed = await only_job(pools, KILLED), await only_job(pools, UNDISTURBED)
    assert (job.status, job.continuation_offset) == (ReprocessStatus.SUCCEEDED, pages)
    assert job.metrics == undisturbed.metrics
    assert job.metrics["pages_typed"] > pages / 2
    assert job.metrics["edges_held_source_type_not_allowed"] > 0
    for killed, other in zip(owners(KILLED), owners(UNDISTURBED), strict=True):
        assert await wiki_of(pools, scope=killed) == await wiki_of(pools, scope=other)
