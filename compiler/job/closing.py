"""What a job does once, when its batches are done: it looks at what changed, then links its memories to the hubs of that.

Each of the two is planned upon what was read since hubs were looked at last, and applied as a batch of its own.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from uuid import UUID

from compiler.errors import PlanSuperseded
from compiler.job.job_outcome import is_poison
from compiler.job.run import MOST_SUPERSEDED, Frozen, Run
from compiler.passes import aggregation, leaf
from compiler.passes.leaf import Planned
from compiler.plan.contract import BatchMemory
from compiler.state.views import Look
from models.errors import ProviderError
from store.compile import batches
from store.compile.batches import BatchKind
from store.wiki.candidates import Place

log = logging.getLogger(__name__)

MOST_MEMORIES = 2_000


async def aggregate(run: Run, *, is_linking: bool) -> None:
    """Aggregate, unless the job did, and then link the memories to hubs, unless it did or a cap ended it: that of pages too."""
    async with run.access.reading() as connection:
        since = await batches.aggregated_before(connection, run.access.scope, run.job.job_id)
    while not run.figures["aggregation_done"] and await _look(run, since, is_linking=is_linking):
        pass
    job_id, reached, _ = await _reached(run)
    if reached is not None and job_id == run.job.job_id and not _is_cut(run):
        run.cap("aggregation_pages")
    if is_linking and not run.is_capped and not run.figures["links_done"]:
        await _until_done(run, since, partial(leaf.plan_links, run.access))


async def _look(run: Run, since: int, *, is_linking: bool) -> bool:
    """Aggregate as many pages as one look may see, behind those that were looked at; False where that was not done whole."""
    _, reached, is_failed = await _reached(run)
    behind = reached or (run.row.aggregated_revision, "", "")
    look = Look(behind, run.most_aggregated, is_linking, is_for_change=is_failed)
    return await _until_done(run, since, partial(_planned, run, look)) and not _is_cut(run)


async def _planned(run: Run, look: Look, memories: tuple[BatchMemory, ...]) -> Planned | None:
    """Return what to do with the pages looked at: nothing where they are the cause that they cannot be planned.

    They are passed, or each later job would ask about them again, and pay, and never come to those behind them.
    """
    try:
        return await aggregation.plan_aggregation(run.access, run.workshop, memories, look)
    except ProviderError as error:
        if not is_poison(error):
            raise
        reason = type(error).__name__
    log.warning("aggregation_failed", extra={"error": reason})
    run.figures["aggregation_error"] = reason
    return await aggregation.pass_over(run.access, look, reason)


async def _reached(run: Run) -> tuple[UUID | None, Place | None, bool]:
    async with run.access.reading() as connection:
        return await batches.aggregated_to(connection, run.access.scope)


def _is_cut(run: Run) -> bool:
    """Return whether a cap left some of a plan, which goes before all else; the cap of memories leaves none."""
    return run.figures["cap_hit"] not in ("", "records")


async def _until_done(
    run: Run, since: int, plan: Callable[[tuple[BatchMemory, ...]], Awaitable[Planned | None]]
) -> bool:
    """Plan upon the memories and apply, anew from what is left of them when the wiki was written in between.

    False when there was nothing to do, or always somebody who wrote.
    """
    for _ in range(MOST_SUPERSEDED):
        planned = await plan(await _memories_since(run, since))
        run.checkpoint("aggregation_planned")
        if planned is None:
            return False
        planned = replace(planned, options={**planned.options, "since": since})
        try:
            await run.commit(planned, Frozen(BatchKind.AGGREGATION, run.row.cursor, run.row.read_through))
            return True
        except PlanSuperseded:
            await run.superseded()
    return False


async def _memories_since(run: Run, since: int) -> tuple[BatchMemory, ...]:
    """Return the memories that batches read after this one, each once, those that are still there."""
    async with run.access.reading() as connection:
        read = await batches.memories_since(connection, run.access.scope, since, limit=MOST_MEMORIES)
    texts = await run.workshop.substrate.fetch(run.access.scope, read)
    return tuple(texts[memory_id] for memory_id in dict.fromkeys(read) if memory_id in texts)
