"""Workers that are killed with SIGKILL amid a reprocess job: the wikis of an undisturbed run, ids and times aside."""

from __future__ import annotations

from uuid import UUID

from store.db.postgres import Pools
from store.ontology.reprocess_jobs import ReprocessStatus
from tests.support.compiler.crashes import reprocess_runs

UNDISTURBED, KILLED = UUID(int=701), UUID(int=702)


async def test_worker_killed_at_random_steps_leaves_the_pages_of_an_undisturbed_one(
    pools: Pools, database: str, is_soak: bool
) -> None:
    pages, at_once, longest = (50_000, 100, 150) if is_soak else (300, 10, 25)
    for tenant_id in (UNDISTURBED, KILLED):
        await reprocess_runs.prepare(pools, database, tenant_id, pages)
    undisturbed = await reprocess_runs.run(pools, database, UNDISTURBED, pages_at_once=at_once)
    killed = await reprocess_runs.run(pools, database, KILLED, pages_at_once=at_once, longest=longest)
    assert undisturbed.killed_at == ()
    assert len(killed.killed_at) >= 5, "it was killed, again and again"
    assert {"governed", "committed"} & set(killed.killed_at)
    job = killed.job
    assert (job.status, job.continuation_offset) == (ReprocessStatus.SUCCEEDED, pages)
    assert job.metrics == undisturbed.job.metrics
    assert job.metrics["pages_typed"] > pages / 2
    assert job.metrics["edges_held_source_type_not_allowed"] > 0
    assert killed.wikis == undisturbed.wikis
