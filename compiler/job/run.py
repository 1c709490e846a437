"""The state of a running job. It stores a plan, and applies it with the cursor in one transaction.

A plan is stored before it is applied, and applied only at the revision it was made for.
Metrics are committed together with the rows that they count.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Protocol
from uuid import UUID

from compiler.errors import JobCancelled, LeaseLost, PlanSuperseded
from compiler.job import endings, metrics
from compiler.passes import forgetting
from compiler.passes.leaf import LeafDeps, Planned
from compiler.plan import codec
from compiler.plan.contract import BatchMemory, Item, Rejection
from compiler.plan.prompting import prompt
from compiler.plan.version import RULES
from compiler.plan.vocabulary import Vocabulary, vocabulary
from compiler.settings import CompileSettings, Flags
from compiler.state import apply
from compiler.state.access import Access
from compiler.state.apply import ApplyOptions
from compiler.state.reducer import RemainingCaps
from compiler.state.substrates import FeedPage
from store.compile import batches, jobs, ledger, scopes
from store.compile.batches import Batch, BatchKind
from store.compile.jobs import Job, Trigger
from store.compile.ledger import LedgerEntry, MemoryOutcome
from store.compile.scopes import ExpectedState, ScopeRow
from store.content import feed
from store.db.queries import Connection
from store.ontology import versions
from store.tenancy import forgotten
from store.tenancy.forgotten import Notes
from store.wiki import edge_ends

MOST_SUPERSEDED = 20


class JobSpending(Protocol):
    """The cost of a job's calls so far, as figures to add to its metrics; each is taken once."""

    def take(self) -> dict[str, Any]:
        """Return the figures since the last call."""


class NothingSpent:
    """The spending of a planner without costs."""

    def take(self) -> dict[str, Any]:
        """Return no figures."""
        return {}


@dataclass(frozen=True, slots=True)
class Frozen:
    """The part of a batch that is fixed before planning: the cursor's new position and the ledger rows to write."""

    kind: BatchKind
    cursor_to: str
    read_through: int
    entries: tuple[LedgerEntry, ...] = ()


@dataclass(frozen=True, slots=True)
class Held:
    """A memory that failed alone, with the reason and the feed page in which it was read."""

    reason: str
    reading: FeedPage
    memories: tuple[BatchMemory, ...]


@dataclass(slots=True)
class Run:
    """One claim of one job, with all state that changes while it runs.

    `row` is the scope's row as this worker last read it, `figures` the job's metrics. `position` is the feed position up
    to which memories were read. Of a batch that failed, `suspects` memories remain to be read again, `limit` at a time.
    `held` are those that failed alone. `is_model_proven` means that the model answered a probe in this claim, and no batch
    since. `has_ended` means that a plan ended memories, which must be read again. A replay (`is_replay`) applies each plan
    under the ontology that it was made for, and ends no memory.
    """

    access: Access
    job: Job
    row: ScopeRow
    deps: LeafDeps
    now: Callable[[], datetime]
    spending: JobSpending = field(default_factory=NothingSpent)
    checkpoint: Callable[[str], None] = lambda place: None
    figures: dict[str, Any] = field(default_factory=metrics.empty)
    is_capped: bool = False
    flags: Flags = field(default_factory=Flags)
    position: str = ""
    has_rereads: bool = True
    is_drained: bool = False
    suspects: int = 0
    limit: int = 0
    superseded_in_a_row: int = 0
    held: list[Held] = field(default_factory=list)
    is_model_proven: bool = False
    is_replay: bool = False
    has_ended: bool = False

    @property
    def settings(self) -> CompileSettings:
        """The limits of this job."""
        return self.deps.settings

    @property
    def stand(self) -> ExpectedState:
        """The fence, cursor and revision that a plan made now is based on."""
        return ExpectedState(self.row.fence, self.row.cursor, self.row.wiki_revision)

    @property
    def most_aggregated(self) -> int:
        """The most changed pages in one aggregation: fewer when a model is paid for reading them."""
        caps = self.settings.caps
        return caps.max_free_aggregation_pages if self.deps.is_extractive else caps.max_aggregation_pages

    def records_left(self) -> int:
        """Return how many more memories the job may read."""
        caps = self.settings.caps
        is_import = self.job.trigger is Trigger.BOOTSTRAP_IMPORT
        most = caps.max_records_per_bootstrap_job if is_import else caps.max_records_per_job
        return max(0, most - int(self.figures["records_read"]))

    def start_reading(self) -> None:
        """Read the feed from the scope's cursor on."""
        self.position = self.deps.substrate.resume(self.access.scope, self.row.cursor)
        self.is_drained, self.suspects, self.limit = False, 0, 0

    def passed(self, reading: FeedPage, count: int) -> None:
        """Move the position past the `count` memories of a feed page."""
        self.superseded_in_a_row = 0
        self.suspects = self.limit = max(0, self.suspects - count)
        self.position = max(reading.cursor, self.position)
        self.is_drained = reading.is_drained and not self.has_ended
        self.has_ended = False

    def halve(self, count: int) -> None:
        """Arrange to read the `count` memories of the last batch again, the first half first."""
        self.suspects, self.limit = count, count // 2

    def cap(self, name: str) -> None:
        """Record the cap that ends the job."""
        self.is_capped = True
        self.figures["cap_hit"] = name

    async def commit(self, planned: Planned, frozen: Frozen) -> None:
        """Store a plan, then apply it. Raises LeaseLost, PlanSuperseded, JobCancelled."""
        batch = await self._store(planned, frozen)
        self.checkpoint("stored")
        await self.apply(batch, planned.items)

    async def _store(self, planned: Planned, frozen: Frozen) -> Batch:
        stand, plan = self.stand, codec.dump_json(planned.items)
        self._take_spending()
        async with self.access.writing() as connection:
            row = await scopes.hold(connection, self.access.scope, stand.fence)
            if row is None:
                raise LeaseLost
            if (row.cursor, row.wiki_revision) != (stand.cursor, stand.revision):
                self.row = row
                raise PlanSuperseded
            sequence = await scopes.next_batch_seq(connection, self.access.scope, now=self.now())
            batch = self._batch(sequence, planned, frozen)
            await batches.store(connection, self.access.scope, batch, plan, now=self.now())
            await self._record(connection, self.figures)
        return batch

    def _batch(self, sequence: int, planned: Planned, frozen: Frozen) -> Batch:
        return Batch(
            sequence,
            frozen.kind,
            self.job.job_id,
            self.row.wiki_revision,
            self.row.cursor,
            max(frozen.cursor_to, self.row.cursor),
            frozen.read_through,
            tuple(entry.memory_id for entry in frozen.entries),
            tuple(entry.content_hash.hex() for entry in frozen.entries),
            tuple(sorted(planned.seen)),
            entries=frozen.entries,
            counters=figures_of(planned, frozen.entries if frozen.kind is not BatchKind.STALE else ()),
            options={
                "model_id": self.job.options.model_id,
                "revision": self.row.wiki_revision,
                "rules": RULES,
                "planner": self.deps.planner.name,
                "prompts": [] if self.deps.is_extractive else list(prompt.VERSIONS),
                **self._governing,
                **planned.options,
            },
        )

    async def apply(self, batch: Batch, items: Sequence[Item]) -> None:
        """Apply a stored plan's remaining items as far as the caps allow, with cursor, ledger and counters, all or nothing.

        Raises LeaseLost, PlanSuperseded if the wiki changed since, JobCancelled after a commit.
        """
        scope, now = self.access.scope, self.now()
        async with self.access.writing() as connection:
            if endings.ends_of(items) and not self._endless:
                await feed.hold(connection, scope)  # before the scope, as every write of memories does
            row = await self._open(connection, batch)
            await self._check_ontology(connection, batch)
            self.checkpoint("opened")
            gone = [entry.memory_id for entry in batch.entries if entry.outcome is MemoryOutcome.GONE]
            # A hub ends with its lists, not with what was forgotten: the log of acts keeps its name.
            naming = () if batch.kind is BatchKind.AGGREGATION else items
            notes = await forgetting.settle(connection, scope, gone, naming, now=now)
            if batch.kind is BatchKind.STALE:
                await forgetting.forget_edited_quotes(connection, scope, [one.memory_id for one in batch.entries])
            await ledger.write(connection, scope, batch.entries, now=now)
            await ledger.queue_reread(connection, scope, batch.options.get("again", ()), now=now)
            applied = await apply.write(connection, scope, items, self._apply_options(batch))
            await edge_ends.settle_stated_by(connection, scope, batch.memory_ids)
            self.checkpoint("written")
            ended, refused = await self._end(connection, batch, items[: applied.taken])
            if applied.taken == len(items):
                row = await self._finish(connection, batch)
            else:
                await self._keep_rest(connection, batch, row, applied.taken)
            # If a cap stopped even the first item, nothing is counted: the next job starts the batch.
            is_begun = bool(applied.taken) or not items
            counters = {**applied.counters, "memories_ended": ended}
            figures = self._with(batch, counters) if is_begun else dict(self.figures)
            figures = metrics.merged(figures, {"rejections": refused})
            asked_to_stop = await self._record(connection, figures)
            self.checkpoint("before_commit")
        self.row, self.figures = row, figures
        self.has_ended = self.has_ended or bool(ended)
        self.checkpoint("applied")
        await self._date(notes)
        if applied.cap:
            self.cap(applied.cap)
        if asked_to_stop:
            raise JobCancelled

    async def _end(self, connection: Connection, batch: Batch, items: Sequence[Item]) -> tuple[int, Counter[str]]:
        """Apply the ends of memories among the items."""
        ends = endings.ends_of(items)
        if not ends or self._endless:
            return 0, Counter({f"supersession_in_{self._endless}": len(ends)} if ends else {})
        ended = await endings.apply(connection, self.access.scope, ends, job_id=batch.job_id, now=self.now())
        self.checkpoint("ended")
        return ended

    @property
    def _endless(self) -> str:
        """Why this job ends no memories: `replay` or the reason of `endings.barred`; empty if it may end them."""
        return "replay" if self.is_replay else endings.barred(self.access.scope, self.deps.substrate)

    async def _date(self, notes: Notes) -> None:
        """Date the notes of forgotten memories at their commit."""
        if notes:
            async with self.access.writing() as connection:
                await forgotten.date(connection, self.access.scope, notes, clock=self.now)

    async def _open(self, connection: Connection, batch: Batch) -> ScopeRow:
        """Lock the scope's row, raise its revision and return it."""
        scope, stand = self.access.scope, ExpectedState(self.row.fence, batch.cursor_from, batch.revision)
        row = await scopes.open_apply(connection, scope, stand, now=self.now())
        if row is not None:
            return row
        row = await scopes.hold(connection, scope, self.row.fence)
        if row is None:
            raise LeaseLost
        self.row = row
        raise PlanSuperseded

    async def _check_ontology(self, connection: Connection, batch: Batch) -> None:
        """Raise PlanSuperseded unless the ontology in force is that of the plan and of the job."""
        planned_for, now = int(batch.options.get("ontology", 0)), self.deps.known.version if self.deps.known else 0
        newest = now if self.is_replay else await versions.newest(connection, self.access.scope.tenant_id)
        if newest != planned_for or now != planned_for:
            raise PlanSuperseded

    async def _keep_rest(self, connection: Connection, batch: Batch, row: ScopeRow, items_taken: int) -> None:
        """Keep the items beyond a cap, and mark the batch's memories as unread until they are applied."""
        scope, taken, revision = self.access.scope, batch.items_applied + items_taken, row.wiki_revision
        await batches.keep_rest(connection, scope, batch.batch_seq, items_applied=taken, revision=revision)
        await ledger.write(connection, scope, _unread(batch), now=self.now())

    async def _finish(self, connection: Connection, batch: Batch) -> ScopeRow:
        """Close a batch in the log, and return the scope's row with the cursor after it."""
        scope = self.access.scope
        await batches.finish(connection, scope, batch.batch_seq, now=self.now())
        gone = [entry.memory_id for entry in batch.entries if entry.outcome is MemoryOutcome.GONE]
        await ledger.drop(connection, scope, gone)
        if batch.kind is BatchKind.AGGREGATION and "reached" not in batch.options:
            await scopes.mark_aggregated(connection, scope)
        return await scopes.reach(connection, scope, cursor=batch.cursor_to, read_through=batch.read_through)

    def _apply_options(self, batch: Batch) -> ApplyOptions:
        """Return the options for applying a batch. All parts of a batch that caps cut change pages at the same revision."""
        caps = self.settings.caps
        limits = RemainingCaps(
            caps.max_new_pages_per_job - int(self.figures["pages_created"]),
            caps.max_sections_rewritten_per_job - int(self.figures["sections_rewritten"]),
        )
        revision = int(batch.options.get("revision", batch.revision)) + 1
        return ApplyOptions(limits, revision, self.now(), self.deps.known)

    def _with(self, batch: Batch, counters: Mapping[str, int]) -> dict[str, Any]:
        """Return the metrics with a batch's figures: the plan's counters once, rows written each time."""
        figures = metrics.merged(self.figures, batch.counters) if not batch.items_applied else dict(self.figures)
        written = dict(counters)
        written["pages_updated"] = written.get("pages_written", 0) - written.get("pages_created", 0)
        metrics.add(figures, written)
        if batch.kind is BatchKind.AGGREGATION and batch.job_id == self.job.job_id:
            is_last = not self.deps.is_extractive or "reached" not in batch.options
            figures["aggregation_done"] = bool(figures["aggregation_done"] or is_last)
            figures["links_done"] = bool(figures["links_done"] or batch.options.get("links"))
        return figures

    def _take_spending(self) -> None:
        self.figures = metrics.merged(self.figures, self.spending.take())

    async def _record(self, connection: Connection, figures: Mapping[str, Any]) -> bool:
        return await jobs.record(connection, self.access.scope, self.job.job_id, figures)

    async def superseded(self) -> None:
        """Discard the stored plan, and read the scope's row and the ontology for the next one."""
        self.figures["plans_superseded"] += 1
        async with self.access.writing() as connection:
            row = await scopes.hold(connection, self.access.scope, self.row.fence)
            if row is None:
                raise LeaseLost
            await batches.discard(connection, self.access.scope)
            self.row = row
        await self.read_ontology()

    async def read_ontology(self) -> None:
        """Read the ontology in force and plan under it from now on."""
        async with self.access.reading() as connection:
            found = await versions.newest_ontology(connection, self.access.scope.tenant_id)
        if found is None or self.deps.known is None or found.version != self.deps.known.version:
            self.govern(vocabulary(found) if found else None)

    def govern(self, known: Vocabulary | None) -> None:
        """Plan under this ontology from now on."""
        self.deps = replace(self.deps, known=known)

    @property
    def _governing(self) -> dict[str, int]:
        """The batch option with the version of the ontology in force, for replays; empty without an ontology."""
        return {"ontology": self.deps.known.version} if self.deps.known else {}


def figures_of(planned: Planned, entries: Sequence[LedgerEntry]) -> dict[str, Any]:
    """Return the metrics that a plan adds to its job once applied."""
    figures: dict[str, Any] = {**planned.counters, "batches": 1}
    if planned.funnel:
        figures["funnel"] = dict(planned.funnel)
    _count_reasons(figures, planned.rejections)
    for entry in entries:
        figures["records_read"] = figures.get("records_read", 0) + (entry.outcome is not MemoryOutcome.GONE)
        if entry.outcome in (MemoryOutcome.FILTERED, MemoryOutcome.QUARANTINED):
            name = entry.outcome.value
            figures[f"records_{name}"] = figures.get(f"records_{name}", 0) + 1
            metrics.add_under(figures, name, {entry.reason: 1})
    return figures


def _count_reasons(figures: dict[str, Any], rejections: Sequence[Rejection]) -> None:
    if rejections:
        metrics.add_rejections(figures, rejections)


def _unread(batch: Batch) -> list[LedgerEntry]:
    """Return ledger rows that mark the memories of a cut plan as unread, so that an edit before its rest is applied is noticed.

    A memory at or before the cursor would not come from the feed again, so it goes to the reread queue.
    """
    is_edit, is_behind = batch.kind is BatchKind.STALE, batch.cursor_to == batch.cursor_from
    existing = [one for one in batch.entries if one.outcome is not MemoryOutcome.GONE]
    unread = [replace(one, content_hash=b"", text_hash=b"" if is_edit else one.text_hash) for one in existing]
    return [entry_of(one, outcome=MemoryOutcome.OWED) for one in unread] if is_behind and not is_edit else unread


def entry_of(entry: LedgerEntry, *, outcome: MemoryOutcome, reason: str = "") -> LedgerEntry:
    """Return the ledger row with another outcome."""
    return replace(entry, outcome=outcome, reason=reason)


def mention_uuids(job: Job) -> tuple[UUID, ...]:
    """Return the ids of held names in the job's options."""
    return tuple(UUID(one) for one in job.options.mention_ids)
