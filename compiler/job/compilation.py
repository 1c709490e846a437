"""One compile job from claim to outcome: first forgotten memories, then batches of new ones, then the aggregation.

A batch that cannot be planned is halved until the failing memory is alone. That memory is set aside with its reason,
unless the model fails for any memory: then the job fails (`quarantine.py`).
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from typing import Any

from compiler.errors import LeaseLost, ModelFailing, PlanSuperseded
from compiler.job import closing, metrics, quarantine, reread_queue
from compiler.job.job_outcome import Result, is_of_aggregation, is_poison, outcome_of
from compiler.job.quarantine import Quarantine, entry
from compiler.job.run import MOST_SUPERSEDED, Frozen, JobSpending, NothingSpent, Run, mention_uuids
from compiler.passes import leaf
from compiler.passes.leaf import LeafDeps, Planned
from compiler.plan import codec, intake
from compiler.plan.contract import BatchMemory
from compiler.plan.places.gazetteer import NO_PLACES, Gazetteer
from compiler.planners.planner import Planner
from compiler.settings import CompileSettings, Flags
from compiler.state.access import Access
from compiler.state.substrates import FeedPage, MemorySubstrate, content_hash
from store.compile import batches, ledger, scopes
from store.compile.batches import BatchKind
from store.compile.jobs import Ending, Job, JobStatus
from store.compile.ledger import LedgerEntry, MemoryOutcome
from store.compile.scopes import ScopeRow
from store.tenancy import tenants
from store.wiki import candidates

log = logging.getLogger(__name__)

_GONE_AT_ONCE = 200


@dataclass(frozen=True, slots=True)
class BatchDeps:
    """A planner for one job, and what it spends."""

    planner: Planner
    spending: JobSpending = field(default_factory=NothingSpent)


@dataclass(frozen=True, slots=True)
class Engine:
    """What a compile depends on: the source of memories, planners, limits. `checkpoint` is called at each step.

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
    """A job that a worker claimed, and the scope's row with the fence that the claim raised."""

    job: Job
    row: ScopeRow


async def compile_job(engine: Engine, access: Access, claim: Claim) -> Result:
    """Run the job and return its outcome; its work is committed. Raises LeaseLost; other errors become the outcome."""
    made = await engine.planner_for(access, claim.job)
    deps = LeafDeps(made.planner, engine.substrate, engine.settings, engine.count_tokens, engine.gazetteer)
    figures = metrics.merged(metrics.empty(), claim.job.metrics)
    figures.update(planner=made.planner.name, cap_hit="")
    run = Run(access, claim.job, claim.row, deps, engine.now, made.spending, engine.checkpoint, figures)
    return await _Compilation(run, Quarantine(run)).result()


@dataclass(slots=True)
class _Compilation:
    run: Run
    quarantine: Quarantine
    flags: Flags = field(default_factory=Flags)
    position: str = ""
    suspects: int = 0
    limit: int = 0
    superseded: int = 0
    has_rereads: bool = True
    is_drained: bool = False

    async def result(self) -> Result:
        """Run the job and return its outcome."""
        error = await _error_of(self._work())
        if isinstance(error, ModelFailing) and self.run.settings.patience.extractive_takes_over:
            quarantine.go_on_without_model(self.run, error)
            self.suspects = self.limit = 0
            error = await _error_of(self._work())
        if error is None:
            return await self._settled()
        if isinstance(error, LeaseLost):
            raise error
        return outcome_of(error, self.run)

    async def _work(self) -> None:
        if not await self._prepare():
            return
        await self._apply_stored()
        if not self.run.is_capped:
            await self._rebuild_gone()
        self.position = self.run.deps.substrate.resume(self.run.access.scope, self.run.row.cursor)
        while await self._next_batches():
            pass
        if not self.run.is_capped or self.run.figures["cap_hit"] == "records":
            await self._aggregate()

    async def _prepare(self) -> bool:
        """Read the flags in force; False if compile is off for the tenant."""
        async with self.run.access.reading() as connection:
            own = await tenants.compile_flags(connection, self.run.access.scope.tenant_id)
        if own is None or not own.is_compiled:
            self.run.figures["flags"] = {"wiki_compile_enabled": False}
            return False
        given = self.run.settings.flags
        self.flags = Flags(
            given.aggregation_pass_enabled if own.aggregation is None else own.aggregation,
            given.deterministic_linking_enabled if own.linking is None else own.linking,
            given.unread_pause_s if own.unread_pause_s is None else own.unread_pause_s,
        )
        self.run.figures["flags"] = {
            "wiki_compile_enabled": True,
            "wiki_aggregation_pass_enabled": self.flags.aggregation_pass_enabled,
            "wiki_deterministic_linking_enabled": self.flags.deterministic_linking_enabled,
            "wiki_unread_pause_s": self.flags.unread_pause_s,
        }
        self.run.figures["deterministic_linking_flag_suppressed"] = not self.flags.deterministic_linking_enabled
        return True

    async def _apply_stored(self) -> None:
        """Apply a plan that an earlier job or a crashed worker stored; this makes no model call."""
        async with self.run.access.reading() as connection:
            batch = await batches.planned(connection, self.run.access.scope)
        if batch is None:
            return
        try:
            await self.run.apply(batch, codec.load((batch.items or ())[batch.items_applied :]))
        except PlanSuperseded:
            await self.run.superseded()

    async def _rebuild_gone(self) -> None:
        """Rebuild what forgotten memories fed."""
        while not self.run.is_capped:
            async with self.run.access.reading() as connection:
                gone = await ledger.gone(connection, self.run.access.scope, limit=_GONE_AT_ONCE)
                known = await ledger.read(connection, self.run.access.scope, gone)
            if not gone:
                return
            plan = partial(self._plan_stale, frozenset(), frozenset(gone))
            await self._until_taken(plan, tuple(known[one] for one in gone))

    async def _plan_stale(self, changed: frozenset[str], gone: frozenset[str]) -> Planned:
        return await leaf.plan_stale(self.run.access, self.run.deps, changed=changed, gone=gone)

    async def _next_batches(self) -> bool:
        """Do all remaining batches; True if memories held for quarantine have to be read again."""
        while not self.run.is_capped and await self._next_batch():
            pass
        try:
            await self.quarantine.settle()
        except PlanSuperseded:
            return await self._again()
        return False

    async def _next_batch(self) -> bool:
        """Read, plan and apply one batch; False when nothing is left to read or the job's cap of records is reached."""
        left = self.run.records_left()
        if not left:
            self.run.cap("records")
            return False
        size = min(self.run.settings.caps.record_page_size, left, self._crash_limit(), self.limit or left)
        reading = await self._reading(size)
        known, fresh = await self._seen(reading)
        if any(one.outcome is MemoryOutcome.GONE for one in known.values()):
            # Forgotten and written again during this job: its old words must go first.
            await self._rebuild_gone()
            return True
        is_asked = bool(self.run.job.options.mention_ids) and not self.run.figures["batches"]
        if fresh or (is_asked and not reading.memories):
            error = await _error_of(self._take(reading, fresh, known))
            if isinstance(error, PlanSuperseded):
                return await self._again()
            if error is not None:
                return await self._halve(error, reading, fresh)
        elif reading.cursor > self.run.row.cursor:
            try:
                await self.run.commit(Planned(), Frozen(BatchKind.LEAF, reading.cursor, reading.read_through))
            except PlanSuperseded:
                return await self._again()
        else:
            await self._note_read(reading)
        self.superseded = 0
        self.run.figures["records_skipped"] += len(reading.memories) - len(fresh)
        self._passed(len(reading.memories))
        self.position = max(reading.cursor, self.position)
        self.is_drained = reading.is_drained
        return not reading.is_drained

    async def _reading(self, size: int) -> FeedPage:
        """Return the next memories: first those queued to be read again, then those of the feed."""
        if self.has_rereads:
            found = await reread_queue.reading(self.run, self.position, limit=size)
            if found is not None:
                return found
            self.has_rereads = False
        return await self.run.deps.substrate.changed_after(self.run.access.scope, self.position, limit=size)

    async def _again(self) -> bool:
        """Read the batch again after its plan was superseded, because its memories may be forgotten by now.

        If a sweep rewound the cursor, reading starts there: the sweep found missed memories.
        """
        await self.run.superseded()
        if self.position > self.run.row.cursor:
            self.position = self.run.deps.substrate.resume(self.run.access.scope, self.run.row.cursor)
        self.superseded += 1
        if self.superseded >= MOST_SUPERSEDED:
            raise PlanSuperseded
        return True

    def _crash_limit(self) -> int:
        """Return the most memories in a batch, given how many workers crashed over it."""
        crashes, page = self.run.row.crashes, self.run.settings.caps.record_page_size
        return page if crashes < self.run.settings.patience.crashes_before_halving else 1

    async def _seen(self, reading: FeedPage) -> tuple[dict[str, LedgerEntry], tuple[BatchMemory, ...]]:
        """Return the ledger rows of the memories read, and those that are new or changed since."""
        async with self.run.access.reading() as connection:
            known = await ledger.read(
                connection, self.run.access.scope, [memory.memory_id for memory in reading.memories]
            )
        last = {memory.memory_id: memory for memory in reading.memories}
        fresh = tuple(
            memory
            for memory in last.values()
            if memory.memory_id not in known or known[memory.memory_id].content_hash != content_hash(memory)
        )
        return known, fresh

    async def _take(self, reading: FeedPage, fresh: tuple[BatchMemory, ...], known: dict[str, LedgerEntry]) -> None:
        edited = frozenset(
            memory.memory_id
            for memory in fresh
            if memory.memory_id in known and known[memory.memory_id].text_hash != memory.text_hash
        )
        row = self.run.row
        if edited:
            # Recorded with their new texts but unread, so that a job after a crash does not rebuild again.
            noted = (replace(entry(one), content_hash=b"") for one in fresh if one.memory_id in edited)
            standing = Frozen(BatchKind.STALE, row.cursor, row.read_through, tuple(noted))
            await self.run.commit(await self._plan_stale(edited, frozenset()), standing)
        if self.run.is_capped:
            return
        kept, dropped = intake.sift(fresh)
        reasons = {one.memory_id: one.reason for one in dropped}
        if self.run.row.crashes >= self.run.settings.patience.crashes_before_halving + 2:
            reasons, kept = dict.fromkeys((one.memory_id for one in fresh), "crashed_the_worker"), ()
        entries = tuple(entry(memory, reasons.get(memory.memory_id, "")) for memory in fresh)
        frozen = Frozen(BatchKind.LEAF, reading.cursor, reading.read_through, entries)
        planned = await self._plan_leaf(kept)
        if self.quarantine.held:
            # The model works, so the failed memories are at fault. Set them aside; replan this batch from cached answers.
            await self.quarantine.set_aside()
            raise PlanSuperseded
        await self.run.commit(planned, frozen)

    async def _plan_leaf(self, memories: tuple[BatchMemory, ...]) -> Planned:
        if not memories and not mention_uuids(self.run.job):
            return Planned()
        self.run.checkpoint("frozen")
        is_linking, asked = self.flags.deterministic_linking_enabled, mention_uuids(self.run.job)
        planned = await leaf.plan_leaf(
            self.run.access, self.run.deps, memories, mention_ids=asked, is_linking=is_linking
        )
        self.run.checkpoint("planned")
        return planned

    async def _until_taken(self, plan: Callable[[], Awaitable[Planned]], entries: tuple[LedgerEntry, ...]) -> None:
        """Plan and apply without moving the cursor; plan anew when the wiki changed in between."""
        for _ in range(MOST_SUPERSEDED):
            planned = await plan()
            row = self.run.row
            try:
                await self.run.commit(planned, Frozen(BatchKind.STALE, row.cursor, row.read_through, entries))
                return
            except PlanSuperseded:
                await self.run.superseded()
        raise PlanSuperseded

    async def _halve(self, error: Exception, reading: FeedPage, fresh: tuple[BatchMemory, ...]) -> bool:
        """Halve the batch after one that could not be planned; quarantine a single memory."""
        if not is_poison(error):
            raise error
        log.warning("batch_failed", extra={"error": type(error).__name__, "memories": len(reading.memories)})
        if len(reading.memories) > 1:
            self.suspects = len(reading.memories)
            self.limit = self.suspects // 2
            return True
        try:
            await self.quarantine.take(error, reading, fresh, is_reread=self.has_rereads)
        except PlanSuperseded:
            return await self._again()
        self._passed(1)
        self.position = max(reading.cursor, self.position)
        return not reading.is_drained

    def _passed(self, count: int) -> None:
        self.suspects = max(0, self.suspects - count)
        self.limit = self.suspects

    async def _note_read(self, reading: FeedPage) -> None:
        async with self.run.access.writing() as connection:
            await scopes.read_up_to(
                connection,
                self.run.access.scope,
                fence=self.run.row.fence,
                read_through=reading.read_through,
                now=self.run.now(),
            )

    async def _aggregate(self) -> None:
        if not self.flags.aggregation_pass_enabled:
            return
        error = await _error_of(closing.aggregate(self.run, is_linking=self.flags.deterministic_linking_enabled))
        if error is None:
            return
        if not is_of_aggregation(error):
            raise error
        log.warning("aggregation_failed", extra={"error": type(error).__name__})
        self.run.figures["aggregation_error"] = type(error).__name__

    async def _settled(self) -> Result:
        figures = await self._last_figures()
        if not figures["flags"].get("wiki_compile_enabled", False):
            return Result(Ending(JobStatus.SKIPPED, "the tenant's compile is off", figures))
        return Result(Ending(JobStatus.SUCCEEDED, "", figures), continues=self.run.is_capped)

    async def _last_figures(self) -> dict[str, Any]:
        async with self.run.access.reading() as connection:
            count = await candidates.duplicate_titles(connection, self.run.access.scope)
        spent = self.run.spending.take()
        return {**metrics.merged(self.run.figures, spent), "duplicate_candidates_count": count}


async def _error_of(work: Awaitable[None]) -> Exception | None:
    """Do the work and return the error that ended it, if any, so that the job's failure becomes its outcome."""
    try:
        await work
    except Exception as error:  # noqa: BLE001  # see the docstring
        while isinstance(error, ExceptionGroup):
            error = error.exceptions[0]
        return error
    return None
