"""What a job does once, when its batches are done: it looks at what changed, then links its memories to the hubs of that.

Each of the two is planned upon what the whole job read, and applied as a batch of its own.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial

from compiler import aggregation, leaf
from compiler.errors import PlanSuperseded
from compiler.leaf import Planned
from compiler.plan.contract import Memory
from compiler.run import MOST_SUPERSEDED, Frozen, Run
from store import batches
from store.batches import BatchKind


async def aggregate(run: Run, *, is_linking: bool) -> None:
    """Aggregate, unless the job did, and then link the job's memories to hubs, unless a cap ended it."""
    if not run.figures["aggregation_done"]:
        await _until_done(
            run,
            lambda memories: aggregation.plan_aggregation(
                run.access, run.workshop, memories, since=run.row.aggregated_revision
            ),
        )
    if is_linking and not run.is_capped:
        await _until_done(run, partial(leaf.plan_links, run.access))


async def _until_done(run: Run, plan: Callable[[tuple[Memory, ...]], Awaitable[Planned | None]]) -> None:
    """Plan upon the job's memories and apply, anew from what is left of them when the wiki was written in between."""
    for _ in range(MOST_SUPERSEDED):
        planned = await plan(await _memories_of(run))
        run.checkpoint("aggregation_planned")
        if planned is None:
            return
        try:
            await run.commit(planned, Frozen(BatchKind.AGGREGATION, run.row.cursor, run.row.read_through))
            return
        except PlanSuperseded:
            await run.superseded()


async def _memories_of(run: Run) -> tuple[Memory, ...]:
    """Return the memories that the job's batches read, each once, those that are still there."""
    async with run.access.reading() as connection:
        read = await batches.memories_of_job(connection, run.access.scope, run.job.job_id)
    texts = await run.workshop.substrate.fetch(run.access.scope, read)
    return tuple(texts[memory_id] for memory_id in dict.fromkeys(read) if memory_id in texts)
