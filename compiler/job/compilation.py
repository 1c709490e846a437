"""One compile job from claim to outcome: first forgotten memories, then batches of new ones, then the aggregation.

A batch is read, planned and committed before the next. All state of a job is in its `Run`; a worker can run several
scopes' jobs at once. A batch whose planning fails is halved until the failing memory is alone. That memory is set
aside with its reason; if the model fails for every memory, the job fails instead, or waits for it (`quarantine.py`).
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from datetime import datetime

from compiler.errors import LeaseLost, ModelFailing, PlanSuperseded
from compiler.job import closing, metrics, quarantine, reading
from compiler.job.job_outcome import Result, is_of_aggregation, is_outage, is_poison, outcome_of
from compiler.job.quarantine import entry
from compiler.job.reading import ReadBatch
from compiler.job.run import MOST_SUPERSEDED, Frozen, JobSpending, NothingSpent, Run, mention_uuids
from compiler.passes import leaf
from compiler.passes.leaf import LeafDeps, Planned
from compiler.plan import codec, intake
from compiler.plan.contract import BatchMemory
from compiler.plan.places.gazetteer import NO_PLACES, Gazetteer
from compiler.planners.planner import Planner
from compiler.settings import CompileSettings, Flags
from compiler.state.access import Access
from compiler.state.substrates import FeedPage, MemorySubstrate
from store.compile import batches, ledger, scopes
from store.compile.batches import BatchKind
from store.compile.jobs import Ending, Job, JobStatus
from store.compile.ledger import LedgerEntry
from store.compile.scopes import ScopeRow
from store.tenancy import tenants
from store.wiki import candidates, kept_edges

log = logging.getLogger(__name__)

_GONE_AT_ONCE = 200


@dataclass(frozen=True, slots=True)
class BatchDeps:
    """A planner for one job, and its spending."""

    planner: Planner
    spending: JobSpending = field(default_factory=NothingSpent)


@dataclass(frozen=True, slots=True)
class Engine:
    """The dependencies of a compile: the source of memories, planners, limits. `checkpoint` is called with each step's name.

    With `has_models`, a job may name the model that plans it.
    """

    substrate: MemorySubstrate
    planner_for: Callable[[Access, Job], Awaitable[BatchDeps]]
    settings: CompileSettings
    now: Callable[[], datetime]
    count_tokens: Callable[[str], int]
    gazetteer: Gazetteer = NO_PLACES
    checkpoint: Callable[[str], None] = lambda place: None
    has_models: bool = True


@dataclass(frozen=True, slots=True)
class Claim:
    """A claimed job, and the scope's row with the fence of the claim."""

    job: Job
    row: ScopeRow


async def compile_job(engine: Engine, access: Access, claim: Claim) -> Result:
    """Run the job and return its outcome, after its work was committed. Raises LeaseLost; other errors become the outcome."""
    made = await engine.planner_for(access, claim.job)
    deps = LeafDeps(made.planner, engine.substrate, engine.settings, engine.count_tokens, engine.gazetteer)
    figures = metrics.merged(metrics.empty(), claim.job.metrics)
    figures.update(planner=made.planner.name, cap_hit="")
    run = Run(access, claim.job, claim.row, deps, engine.now, made.spending, engine.checkpoint, figures)
    error = await _error_of(_work(run))
    if isinstance(error, ModelFailing) and run.settings.patience.extractive_takes_over:
        quarantine.switch_to_extractive(run, error)
        error = await _error_of(_work(run))
    if error is None:
        return await _settled(run)
    if isinstance(error, LeaseLost):
        raise error
    run.figures["model_waits"] += quarantine.is_of_question(error)
    figures = metrics.merged(run.figures, run.spending.take())
    return outcome_of(error, run.job, figures, run.settings.patience, run.now())


async def _work(run: Run) -> None:
    if not await _is_on(run):
        return
    await run.read_ontology()
    await _apply_stored(run)
    quarantine.quote_outages(run)
    await _rebuild_gone(run)
    run.start_reading()
    await quarantine.check_model(run)
    while await _compile_next(run):
        pass
    if run.figures["cap_hit"] in ("", "records"):
        await _close(run)


async def _compile_next(run: Run) -> bool:
    """Read, plan and commit a batch; return False if none is left. A batch whose plan was superseded is read again."""
    try:
        batch = await reading.read(run)
        if batch is None:
            await quarantine.settle(run)
        elif batch.has_gone:
            await _rebuild_gone(run)
        else:
            await _take(run, batch)
    except PlanSuperseded:
        await _read_again(run)
        return True
    return batch is not None


async def _take(run: Run, batch: ReadBatch) -> None:
    """Plan and commit a batch. If it fails it is halved; a memory that fails alone is set aside."""
    error = await _error_of(_plan_and_commit(run, batch))
    if error is None:
        if batch.fresh:
            run.figures["model_waits"], run.is_model_proven = 0, False
        run.figures["records_skipped"] += len(batch.page.memories) - len(batch.fresh)
        run.passed(batch.page, len(batch.page.memories))
        return
    if is_outage(error):
        await quarantine.take_outage(run, error, batch)
        return
    if not is_poison(error, is_last_attempt=run.job.attempt >= run.settings.patience.max_attempts):
        raise error
    log.warning("batch_failed", extra={"error": type(error).__name__, "memories": len(batch.page.memories)})
    if len(batch.page.memories) > 1:
        run.halve(len(batch.page.memories))
        return
    await quarantine.take(run, error, batch)
    run.passed(batch.page, 1)


async def _plan_and_commit(run: Run, batch: ReadBatch) -> None:
    if batch.edited:
        await _rebuild_edited(run, batch)
    if run.is_capped:
        return
    kept, entries = _sifted(run, batch.fresh)
    frozen = Frozen(BatchKind.LEAF, batch.page.cursor, batch.page.read_through, entries)
    is_asked = bool(run.job.options.mention_ids) and not run.figures["batches"] and not batch.page.memories
    if not batch.fresh and not is_asked and batch.page.cursor <= run.row.cursor:
        await _note_read(run, batch.page)
        return
    planned = await _plan(run, kept) if batch.fresh or is_asked else Planned()
    if run.held and batch.fresh:
        # The model works, so the failed memories are at fault. Set them aside; replan this batch from cached answers.
        await quarantine.set_aside(run)
        raise PlanSuperseded
    await run.commit(planned, frozen)


async def _plan(run: Run, memories: tuple[BatchMemory, ...]) -> Planned:
    mention_ids, is_linking = mention_uuids(run.job), run.flags.deterministic_linking_enabled
    if not memories and not mention_ids:
        return Planned()
    run.checkpoint("frozen")
    planned = await leaf.plan_leaf(run.access, run.deps, memories, mention_ids=mention_ids, is_linking=is_linking)
    run.checkpoint("planned")
    return planned


def _sifted(run: Run, fresh: tuple[BatchMemory, ...]) -> tuple[tuple[BatchMemory, ...], tuple[LedgerEntry, ...]]:
    """Return the memories worth reading, and the ledger rows of all; memories that crash workers are quarantined unread."""
    kept, dropped = intake.sift(fresh)
    reasons = {one.memory_id: one.reason for one in dropped}
    if run.row.crashes >= run.settings.patience.crashes_before_quarantine:
        reasons, kept = dict.fromkeys((one.memory_id for one in fresh), "crashed_the_worker"), ()
    return kept, tuple(entry(memory, reasons.get(memory.memory_id, "")) for memory in fresh)


async def _rebuild_edited(run: Run, batch: ReadBatch) -> None:
    """Rebuild the content that came from edited memories.

    The ledger records their new texts, but as unread, so that a job after a crash does not rebuild again.
    """
    noted = (replace(entry(one), content_hash=b"") for one in batch.fresh if one.memory_id in batch.edited)
    frozen = Frozen(BatchKind.STALE, run.row.cursor, run.row.read_through, tuple(noted))
    planned = await leaf.plan_stale(run.access, run.deps, changed=batch.edited, gone=frozenset())
    await run.commit(planned, frozen)


async def _read_again(run: Run) -> None:
    """Go back to read the batch again after its plan was superseded: its memories may be forgotten by now.

    If reconciliation rewound the cursor, reading starts there, because it found missed memories.
    """
    await run.superseded()
    if run.position > run.row.cursor:
        run.position = run.deps.substrate.resume(run.access.scope, run.row.cursor)
    run.is_drained = False
    run.superseded_in_a_row += 1
    if run.superseded_in_a_row >= MOST_SUPERSEDED:
        raise PlanSuperseded


async def flags_in_force(access: Access, defaults: Flags) -> Flags | None:
    """Return the flags with the tenant's own; None if compile is off for the tenant."""
    async with access.reading() as connection:
        own = await tenants.compile_flags(connection, access.scope.tenant_id)
    if own is None or not own.is_compiled:
        return None
    return Flags(
        defaults.aggregation_pass_enabled if own.aggregation is None else own.aggregation,
        defaults.deterministic_linking_enabled if own.linking is None else own.linking,
        defaults.unread_pause_s if own.unread_pause_s is None else own.unread_pause_s,
    )


async def _is_on(run: Run) -> bool:
    """Read the flags in force; return False if compile is off for the tenant."""
    flags = await flags_in_force(run.access, run.settings.flags)
    if flags is None:
        run.figures["flags"] = {"wiki_compile_enabled": False}
        return False
    run.flags = flags
    run.figures["flags"] = {
        "wiki_compile_enabled": True,
        "wiki_aggregation_pass_enabled": flags.aggregation_pass_enabled,
        "wiki_deterministic_linking_enabled": flags.deterministic_linking_enabled,
        "wiki_unread_pause_s": flags.unread_pause_s,
    }
    run.figures["deterministic_linking_flag_suppressed"] = not flags.deterministic_linking_enabled
    return True


async def _apply_stored(run: Run) -> None:
    """Apply a plan that an earlier job or a crashed worker stored; this makes no model call."""
    async with run.access.reading() as connection:
        batch = await batches.planned(connection, run.access.scope)
    if batch is None:
        return
    try:
        await run.apply(batch, codec.load((batch.items or ())[batch.items_applied :]))
    except PlanSuperseded:
        await run.superseded()


async def _rebuild_gone(run: Run) -> None:
    """Rebuild the content that came from forgotten memories."""
    while not run.is_capped:
        async with run.access.reading() as connection:
            gone = await ledger.gone(connection, run.access.scope, limit=_GONE_AT_ONCE)
            known = await ledger.read(connection, run.access.scope, gone)
        if not gone:
            return
        await _rebuild(run, frozenset(gone), tuple(known[one] for one in gone))


async def _rebuild(run: Run, gone: frozenset[str], entries: tuple[LedgerEntry, ...]) -> None:
    """Plan and apply without moving the cursor; plan again if the wiki changed in between."""
    for _ in range(MOST_SUPERSEDED):
        planned = await leaf.plan_stale(run.access, run.deps, changed=frozenset(), gone=gone)
        try:
            await run.commit(planned, Frozen(BatchKind.STALE, run.row.cursor, run.row.read_through, entries))
            return
        except PlanSuperseded:
            await run.superseded()
    raise PlanSuperseded


async def _note_read(run: Run, page: FeedPage) -> None:
    async with run.access.writing() as connection:
        await scopes.read_up_to(
            connection, run.access.scope, fence=run.row.fence, read_through=page.read_through, now=run.now()
        )


async def _close(run: Run) -> None:
    if run.deps.is_extractive:
        await closing.rejudge(run, is_linking=run.flags.deterministic_linking_enabled)
    if run.figures["cap_hit"] in ("", "records"):
        await _aggregate(run)
    await closing.put_back_edges(run)


async def _aggregate(run: Run) -> None:
    if not run.flags.aggregation_pass_enabled:
        return
    error = await _error_of(closing.aggregate(run, is_linking=run.flags.deterministic_linking_enabled))
    if error is None:
        return
    if not is_of_aggregation(error):
        raise error
    log.warning("aggregation_failed", extra={"error": type(error).__name__})
    run.figures["aggregation_error"] = type(error).__name__


async def _settled(run: Run) -> Result:
    async with run.access.reading() as connection:
        count = await candidates.duplicate_titles(connection, run.access.scope)
        waiting = await kept_edges.count(connection, run.access.scope)
    counted = {"duplicate_candidates_count": count, "edges_waiting": waiting}
    figures = {**metrics.merged(run.figures, run.spending.take()), **counted}
    if not figures["flags"].get("wiki_compile_enabled", False):
        return Result(Ending(JobStatus.SKIPPED, "the tenant's compile is off", figures))
    return Result(Ending(JobStatus.SUCCEEDED, "", figures), continues=run.is_capped)


async def _error_of(work: Awaitable[None]) -> Exception | None:
    """Await the work and return the error that ended it, if any, so that a job's failure becomes its outcome."""
    try:
        await work
    except Exception as error:  # noqa: BLE001  # see the docstring
        while isinstance(error, ExceptionGroup):
            error = error.exceptions[0]
        return error
    return None
