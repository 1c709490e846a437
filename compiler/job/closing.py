"""The end of a job, once its batches are done: aggregate the changed pages, then link memories to their hubs.

Both are planned over the memories read since the last aggregation; each is applied as a batch of its own.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from uuid import UUID

from compiler.errors import LeaseLost, PlanSuperseded
from compiler.job import quarantine
from compiler.job.job_outcome import is_poison
from compiler.job.run import MOST_SUPERSEDED, Frozen, Run
from compiler.passes import aggregation, edge_restoration, leaf, rejudging
from compiler.passes.leaf import Planned
from compiler.passes.rejudging import NamesToJudge
from compiler.plan.contract import BatchMemory, ScoreHubs
from compiler.state.views import Look
from models.errors import ModelUnavailable, ProviderError
from store.compile import batches, jobs, scopes
from store.compile.batches import BatchKind
from store.wiki import kept_edges
from store.wiki.candidates import Place

log = logging.getLogger(__name__)

MOST_MEMORIES = 2_000
MOST_REJUDGED = 3


async def aggregate(run: Run, *, is_linking: bool) -> None:
    """Aggregate, then link the memories to hubs; the job does each only once.

    Linking is skipped if a cap ended the job, including the cap of aggregated pages.
    """
    async with run.access.reading() as connection:
        since = await batches.aggregated_before(connection, run.access.scope, run.job.job_id)
    while not run.figures["aggregation_done"] and await _look(run, since, is_linking=is_linking):
        pass
    while (
        run.deps.is_extractive and run.figures["aggregation_done"] and not run.is_capped and await _promote(run, since)
    ):
        pass
    job_id, reached, _ = await _reached(run)
    if reached is not None and job_id == run.job.job_id and not _is_cut(run):
        run.cap("aggregation_pages")
    if is_linking and not run.is_capped and not run.figures["links_done"]:
        await _until_done(run, since, partial(leaf.plan_links, run.access, run.deps))


async def rejudge(run: Run, *, is_linking: bool) -> None:
    """Judge related names again until nothing changes, so that pages do not depend on the order of the memories."""
    async with run.access.reading() as connection:
        since = await batches.aggregated_before(connection, run.access.scope, run.job.job_id)

    async def plan(memories: tuple[BatchMemory, ...]) -> Planned | None:
        async with run.access.reading() as connection:
            affected = NamesToJudge(*await batches.judged_since(connection, run.access.scope, since))
        return await rejudging.plan_rejudging(run.access, run.deps, memories, affected, is_linking=is_linking)

    for _ in range(MOST_REJUDGED):
        if _is_cut(run) or not await _until_done(run, since, plan, BatchKind.LEAF):
            return


async def put_back_edges(run: Run) -> None:
    """Put back the edges that operators stated before a rebuild and whose pages exist again.

    Not while the rest of a plan that a cap cut is waiting: it would be superseded.
    """
    if _is_cut(run):
        return
    async with run.access.reading() as connection:
        if not await kept_edges.count(connection, run.access.scope):
            return
    async with run.access.writing() as connection:
        if await scopes.hold(connection, run.access.scope, run.row.fence) is None:
            raise LeaseLost
        count = await edge_restoration.put_back(connection, run.access.scope, now=run.now())
        figures = {**run.figures, "edges_put_back": run.figures.get("edges_put_back", 0) + count}
        await jobs.record(connection, run.access.scope, run.job.job_id, figures)
        run.checkpoint("edges_put_back")
    run.figures = figures


async def _look(run: Run, since: int, *, is_linking: bool) -> bool:
    """Aggregate the next window of changed pages; return False if nothing was done or a cap cut the plan."""
    _, reached, is_failed = await _reached(run)
    behind = reached or (run.row.aggregated_revision, "", "")
    look = replace(_window(run, behind), is_linking=is_linking, is_for_change=is_failed)
    return await _until_done(run, since, partial(_planned, run, look)) and not _is_cut(run)


async def _promote(run: Run, since: int) -> bool:
    """Promote the sections that the last aggregation found ready; return False once nothing changes any more.

    Without this, the time of a section's promotion would depend on the number of jobs.
    """
    look = _window(run, (run.row.aggregated_revision, "", ""))

    async def plan(memories: tuple[BatchMemory, ...]) -> Planned | None:
        planned = await _planned(run, look, memories)
        is_change = planned is not None and any(not isinstance(item, ScoreHubs) for item in planned.items)
        return planned if is_change else None

    return await _until_done(run, since, plan) and not _is_cut(run)


def _window(run: Run, since: Place) -> Look:
    deps = run.deps
    return Look(
        since, run.most_aggregated, is_linking=False, is_by_rules=deps.is_extractive, is_whole=deps.is_shown_whole
    )


async def _planned(run: Run, look: Look, memories: tuple[BatchMemory, ...]) -> Planned | None:
    """Plan the aggregation of a window. If that fails because of its pages, return a plan that passes over them.

    Otherwise each later job would pay for the same failure again and never reach the pages after them.
    """
    try:
        return await aggregation.plan_aggregation(run.access, run.deps, memories, look)
    except ProviderError as error:
        if not is_poison(error) and not (isinstance(error, ModelUnavailable) and quarantine.is_at_fault(run, error)):
            raise
        reason = type(error).__name__
    log.warning("aggregation_failed", extra={"error": reason})
    run.figures["aggregation_error"] = reason
    return await aggregation.pass_over(run.access, look, reason)


async def _reached(run: Run) -> tuple[UUID | None, Place | None, bool]:
    async with run.access.reading() as connection:
        return await batches.aggregated_to(connection, run.access.scope)


def _is_cut(run: Run) -> bool:
    """Return whether a cap cut a plan, whose rest must be applied before anything else. The cap of records cuts none."""
    return run.figures["cap_hit"] not in ("", "records")


async def _until_done(
    run: Run,
    since: int,
    plan: Callable[[tuple[BatchMemory, ...]], Awaitable[Planned | None]],
    kind: BatchKind = BatchKind.AGGREGATION,
) -> bool:
    """Plan and apply; if the wiki changed in between, plan again from the remaining memories.

    Return False if there was nothing to do, or the plan was superseded every time.
    """
    for _ in range(MOST_SUPERSEDED):
        planned = await plan(await _memories_since(run, since))
        run.checkpoint("aggregation_planned")
        if planned is None:
            return False
        planned = replace(planned, options={**planned.options, "since": since})
        try:
            await run.commit(planned, Frozen(kind, run.row.cursor, run.row.read_through))
            return True
        except PlanSuperseded:
            await run.superseded()
    return False


async def _memories_since(run: Run, since: int) -> tuple[BatchMemory, ...]:
    """Return the memories that batches read after `since`, each once, without deleted ones."""
    async with run.access.reading() as connection:
        read = await batches.memories_since(connection, run.access.scope, since, limit=MOST_MEMORIES)
    texts = await run.deps.substrate.fetch(run.access.scope, read)
    return tuple(texts[memory_id] for memory_id in dict.fromkeys(read) if memory_id in texts)
