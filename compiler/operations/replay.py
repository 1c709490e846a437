"""Replay of the log: every batch is planned and applied again over an empty wiki, and the two wikis are compared.

It runs inside one transaction, under an owner that does not exist, and is rolled back. No model is called: cached
answers are used, and the replay ends at the first batch whose answer is missing. A batch with a memory edited or
forgotten since cannot be replayed exactly. A log whose first batches were pruned is not replayed at all, nor is a log with
batches planned by other rules.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from uuid import UUID, uuid5

from compiler.job.closing import MOST_MEMORIES
from compiler.job.compilation import BatchDeps, Engine
from compiler.job.job_outcome import is_poison
from compiler.job.run import Frozen, Run
from compiler.operations import upkeep
from compiler.operations.replayed_memories import ReplayedMemories
from compiler.operations.upkeep import ResetMode
from compiler.passes import aggregation, leaf, rejudging
from compiler.passes.leaf import LeafDeps, Planned
from compiler.passes.rejudging import NamesToJudge
from compiler.plan import codec
from compiler.plan.contract import BatchMemory, PageKey, PageType
from compiler.plan.prompting import prompt
from compiler.plan.version import RULES
from compiler.plan.vocabulary import Vocabulary, vocabulary
from compiler.planners import extractive
from compiler.planners.model_planner import CostMeter, ModelPlanner
from compiler.planners.planner import ExtractivePlanner
from compiler.settings import Caps
from compiler.state import governing, operator_acts
from compiler.state.access import OpenTransactionAccess, PooledAccess
from compiler.state.governing import PageWindow
from compiler.state.snapshot import differences, snapshot
from compiler.state.substrates import content_hash
from compiler.state.views import Look
from models.errors import ProviderError
from models.language.language import ConverseAnswer, ConverseRequest
from store.compile import batches, scopes
from store.compile.batches import Batch, BatchKind
from store.compile.jobs import Job, unstored_job
from store.compile.ledger import MemoryOutcome
from store.compile.scopes import Lease
from store.db.postgres import DatabaseRole, Pool, scoped
from store.db.queries import Connection
from store.ontology import versions
from store.scope import Scope
from store.wiki import candidates
from store.wiki.candidates import Place
from store.wiki.mentions import mention_uuid

_ASIDE = UUID("6f0c7c1e-6d0b-5d0c-9a3e-0d5b7d1f8a07")
_AT_ONCE = 1000
_PLENTY = 1_000_000_000
_UNCAPPED = Caps(_PLENTY, _PLENTY, _PLENTY, _PLENTY, _PLENTY)

OTHER_RULES = "it was planned by other rules"
MEMORY_GONE = "a memory was edited or forgotten since"
EARLIER_PRUNED = "earlier batches were pruned"
ANSWER_MISSING = "an answer of the model is not kept any more"


class _Taken(Exception):
    """Rolls back the transaction of a replay."""


@dataclass(frozen=True, slots=True)
class ReplayedLog:
    """The result of a replay: batches, pages, differences, and the batches that could not be replayed exactly.

    `outdated` counts batches that other rules planned; if there are any, none was replayed. `unreplayable_from` is the
    number of the first batch that could not be replayed exactly, 0 for none, and `reason` says why; with `is_stopped`
    nothing after it was replayed, and nothing compared.
    """

    batches: int = 0
    pages: int = 0
    differences: tuple[str, ...] = ()
    unreplayable: int = 0
    outdated: int = 0
    unreplayable_from: int = 0
    reason: str = ""
    is_stopped: bool = False

    @property
    def is_identical(self) -> bool:
        """Whether the rebuilt wiki has the same bytes."""
        return not self.differences and not self.outdated and not self.is_stopped


class _AnswerMissing(Exception):
    """A batch needs an answer that is not cached."""


class _NoModel:
    """A model for replays, which refuses every call."""

    async def converse(self, request: ConverseRequest) -> ConverseAnswer:
        raise _AnswerMissing

    async def close(self) -> None:
        """Do nothing."""


async def replay(engine: Engine, pool: Pool, scope: Scope) -> ReplayedLog:
    """Return the result of replaying the scope's whole log."""
    log, expected = await _standing(pool, scope)
    pages = sum(name.startswith("page ") for name in expected)
    if log and "pruned" in log[0].options:
        first = log[0].batch_seq
        return ReplayedLog(0, pages, unreplayable_from=first, reason=EARLIER_PRUNED, is_stopped=True)
    outdated = [one.batch_seq for one in log if one.kind in batches.PLANNED and one.options.get("rules", 0) != RULES]
    if outdated:
        return ReplayedLog(len(log), pages, outdated=len(outdated), unreplayable_from=outdated[0], reason=OTHER_RULES)
    aside = Scope(scope.tenant_id, uuid5(_ASIDE, str(scope.owner_id)))
    bounds = replace(engine.settings, caps=_UNCAPPED)
    found = ReplayedLog()
    with suppress(_Taken):
        async with scoped(pool, aside, role=DatabaseRole.WORKER) as connection:
            origin = ReplayedMemories(engine.substrate, PooledAccess(pool, scope))
            await origin.read_ends({batch.job_id for batch in log})
            rebound = replace(engine, settings=bounds, substrate=origin)
            replaying = _Replay(rebound, origin, aside, connection)
            await replaying.begin()
            for done, batch in enumerate(log):
                try:
                    await replaying.take(batch)
                except _AnswerMissing:
                    replaying.doubt(batch, _why(batch))
                    first, reason = replaying.doubted
                    stopped = ReplayedLog(done, pages, (), replaying.unreplayable)
                    found = replace(stopped, unreplayable_from=first, reason=reason, is_stopped=True)
                    raise _Taken from None
            rebuilt = await snapshot(connection, aside)
            found = ReplayedLog(len(log), pages, differences(expected, rebuilt), replaying.unreplayable)
            first, reason = replaying.doubted
            found = replace(found, unreplayable_from=first, reason=reason)
            raise _Taken
    return found


async def _standing(pool: Pool, scope: Scope) -> tuple[list[Batch], dict[str, bytes]]:
    """Return the log and the wiki at the same revision; both are read again if a batch is applied in between."""
    while True:
        async with scoped(pool, scope, role=DatabaseRole.WORKER, read_only=True) as connection:
            before = await scopes.read(connection, scope)
        log = await _log(pool, scope)
        async with scoped(pool, scope, role=DatabaseRole.WORKER, read_only=True) as connection:
            wiki = await snapshot(connection, scope)
            after = await scopes.read(connection, scope)
        if (before and before.wiki_revision) == (after and after.wiki_revision):
            return log, wiki


async def _log(pool: Pool, scope: Scope) -> list[Batch]:
    log: list[Batch] = []
    while True:
        async with scoped(pool, scope, role=DatabaseRole.WORKER, read_only=True) as connection:
            page = await batches.log(connection, scope, after=log[-1].batch_seq if log else 0, limit=_AT_ONCE)
        log += page
        if len(page) < _AT_ONCE:
            return log


@dataclass(slots=True)
class _Replay:
    engine: Engine
    memories: ReplayedMemories
    aside: Scope
    connection: Connection
    unreplayable: int = 0
    doubted: tuple[int, str] = (0, "")
    last_doubted: int = 0
    runs: dict[tuple[UUID | None, str], Run] = field(default_factory=dict)
    read: list[tuple[int, BatchMemory]] = field(default_factory=list)
    affected: list[tuple[int, NamesToJudge]] = field(default_factory=list)
    reached: Place | None = None
    known: dict[int, Vocabulary | None] = field(default_factory=dict)

    def doubt(self, batch: Batch, reason: str) -> None:
        """Count a batch that cannot be replayed exactly, once; the result names the first such batch."""
        self.unreplayable += batch.batch_seq != self.last_doubted
        self.last_doubted = batch.batch_seq
        self.doubted = self.doubted if self.doubted[0] else (batch.batch_seq, reason)

    async def begin(self) -> None:
        """Create the replay scope's row and lock it."""
        now = self.engine.now()
        await scopes.lock(self.connection, self.aside, now=now)
        await scopes.claim(self.connection, self.aside, Lease("replay", _PLENTY / 1e6), now=now)

    async def take(self, batch: Batch) -> None:
        """Replay a batch."""
        if batch.kind is BatchKind.OPERATOR:
            await self._act(batch)
        elif batch.kind is BatchKind.RESET:
            await upkeep.reset(self.connection, self.aside, mode=ResetMode.POLITE, now=self.engine.now())
        else:
            await self._pass(batch)

    async def _act(self, batch: Batch) -> None:
        if batch.items is None:
            self.doubt(batch, MEMORY_GONE)
            return
        known, now = await self._known(batch), self.engine.now()
        if known is not None and "governed" in batch.options:
            after, through = (tuple(place) for place in batch.options["governed"])
            window = PageWindow(after, _AT_ONCE, through)
            while done := await governing.govern_window(self.connection, self.aside, window, known, now=now):
                window = replace(window, after=done.last)
            return
        await operator_acts.take(self.connection, self.aside, codec.load(batch.items), now=now, known=known)

    async def _pass(self, batch: Batch) -> None:
        run = await self._run(batch)
        row = await scopes.read(self.connection, self.aside)
        assert row is not None, "the scope's row was made at the beginning"
        run.row = row
        run.govern(await self._known(batch))
        run.figures["pages_created"] = run.figures["sections_rewritten"] = 0
        memories = await self._memories(batch)
        self.read.extend((batch.batch_seq, memory) for memory in memories)
        try:
            planned = await self._planned(batch, run, memories)
        except ProviderError as error:
            if not is_poison(error):
                raise
            # The answer is cached, but this version cannot read it.
            self.doubt(batch, ANSWER_MISSING)
            failed = {**batch.options, "failed": type(error).__name__}
            planned = await self._planned(replace(batch, options=failed), run, memories)
        run.spending.take()
        if planned is not None:
            if "taken" in batch.options:
                # A cap ended this batch before its last item.
                kept = planned.items[: batch.options["taken"]]
                planned = replace(planned, items=kept, options={**planned.options, "reached": None})
            entries = tuple(entry for entry in batch.entries if entry.outcome is not MemoryOutcome.GONE)
            await run.commit(planned, Frozen(batch.kind, batch.cursor_to, batch.read_through, entries))
            self.memories.passed(batch.job_id, planned.items)

    async def _planned(self, batch: Batch, run: Run, memories: Sequence[BatchMemory]) -> Planned | None:
        access, options = OpenTransactionAccess(self.connection, self.aside), batch.options
        if batch.kind is BatchKind.STALE:
            changed, gone = frozenset(options.get("changed", ())), frozenset(options.get("gone", ()))
            rebuilt = await leaf.plan_stale(access, run.deps, changed=changed, gone=gone)
            self.affected.append((batch.batch_seq, NamesToJudge.of(rebuilt.options)))
            return rebuilt
        is_linking = bool(options.get("is_linking", True))
        if batch.kind is BatchKind.AGGREGATION or options.get("is_rejudging"):
            read = [memory for batch_seq, memory in self.read if batch_seq > options.get("since", 0)]
            every = tuple({one.memory_id: one for one in read[-MOST_MEMORIES:]}.values())
            if options.get("is_rejudging"):
                affected = self._affected_since(options.get("since", 0))
                return await rejudging.plan_rejudging(access, run.deps, every, affected, is_linking=is_linking)
            if options.get("links"):
                return await leaf.plan_links(access, run.deps, every)
            planned = await self._looked(batch, run, every)
            if planned is not None and "taken" not in options:
                reached = planned.options.get("reached")
                self.reached = None if reached is None else (reached[0], reached[1], reached[2])
            return planned
        kept = {entry.memory_id for entry in batch.entries if entry.outcome is MemoryOutcome.APPLIED}
        shown = tuple(memory for memory in memories if memory.memory_id in kept)
        if "failed" in options or not (shown or options.get("mention_ids")):
            return Planned()
        mention_ids = await self._mentions(frozenset(options.get("mention_ids", ())))
        near = tuple(PageKey(PageType(kind), slug) for kind, slug in options.get("near", ()))
        return await leaf.plan_leaf(access, run.deps, shown, mention_ids=mention_ids, is_linking=is_linking, near=near)

    async def _mentions(self, logged: Collection[str]) -> tuple[UUID, ...]:
        """Return the ids in the replay scope of held names with the logged ids: an id depends on the owner."""
        rows = await candidates.all_mentions(self.connection, self.aside) if logged else ()
        keys = sorted({row["alias_normalized"] for row in rows})
        origin = self.memories.access.scope
        return tuple(mention_uuid(self.aside, key) for key in keys if str(mention_uuid(origin, key)) in logged)

    def _affected_since(self, after: int) -> NamesToJudge:
        """Return the pages and held names of the replay scope that batches after batch `after` left to judge again."""
        every = [affected for batch_seq, affected in self.affected if batch_seq > after]
        pages = [page_id for affected in every for page_id in affected.pages]
        return NamesToJudge(pages, [mention_id for affected in every for mention_id in affected.mentions])

    async def _looked(self, batch: Batch, run: Run, memories: tuple[BatchMemory, ...]) -> Planned | None:
        """Return the plan for an aggregation's window; a plan without changes if the batch had passed over it."""
        access, options = OpenTransactionAccess(self.connection, self.aside), batch.options
        since = self.reached or (run.row.aggregated_revision, "", "")
        most, is_linking = int(options.get("most", _PLENTY)), bool(options.get("is_linking", False))
        look = Look(since, most, is_linking, is_by_rules=run.deps.is_extractive, is_whole=run.deps.is_shown_whole)
        if "failed" in options:
            return await aggregation.pass_over(access, look, str(options["failed"]))
        return await aggregation.plan_aggregation(access, run.deps, memories, look)

    async def _memories(self, batch: Batch) -> list[BatchMemory]:
        """Return the batch's memories in their present state; the batch is counted as unreplayable if one changed."""
        if batch.kind is BatchKind.STALE and not await self._is_as_edited(batch):
            self.doubt(batch, MEMORY_GONE)
        if batch.kind is not BatchKind.LEAF or not batch.memory_ids:
            return []
        found = await self.memories.fetch(self.aside, batch.memory_ids)
        memories = [found[memory_id] for memory_id in batch.memory_ids if memory_id in found]
        hashes = tuple(content_hash(memory).hex() for memory in memories)
        if hashes != batch.content_hashes:
            self.doubt(batch, MEMORY_GONE)
        return memories

    async def _is_as_edited(self, batch: Batch) -> bool:
        """Return whether the memories of a batch for edited ones are all unchanged since it read them."""
        found = await self.memories.fetch(self.aside, batch.memory_ids)
        read = {entry.memory_id: entry.text_hash for entry in batch.entries}
        return not batch.options.get("gone") and read == {one.memory_id: one.text_hash for one in found.values()}

    async def _known(self, batch: Batch) -> Vocabulary | None:
        """Return the ontology that was in force when the batch was planned."""
        version = int(batch.options.get("ontology", 0))
        if version not in self.known:
            found = await versions.at_version(self.connection, self.aside.tenant_id, version) if version else None
            self.known[version] = vocabulary(found) if found else None
        return self.known[version]

    async def _run(self, batch: Batch) -> Run:
        """Return a run for the batch's job, with its planner."""
        place = (batch.job_id, str(batch.options.get("planner", "")))
        if place not in self.runs:
            job = unstored_job(
                batch.job_id or UUID(int=0), str(batch.options.get("model_id", "")), now=self.engine.now()
            )
            made = await self._planner_of(job, place[1])
            deps = LeafDeps(
                made.planner,
                self.engine.substrate,
                self.engine.settings,
                self.engine.count_tokens,
                self.engine.gazetteer,
            )
            row = await scopes.read(self.connection, self.aside)
            assert row is not None, "the scope's row was made at the beginning"
            access = OpenTransactionAccess(self.connection, self.aside)
            self.runs[place] = Run(access, job, row, deps, self.engine.now, made.spending, is_replay=True)
        return self.runs[place]

    async def _planner_of(self, job: Job, name: str) -> BatchDeps:
        """Return the planner with this name, made so that it calls no model: a model planner uses cached answers only."""
        made = await self.engine.planner_for(self.memories.access, job)
        if made.planner.name == name and not isinstance(made.planner, ModelPlanner):
            return made
        if name == extractive.NAME:
            return BatchDeps(ExtractivePlanner(self.engine.gazetteer))
        settings = self.engine.settings
        costs = replace(settings.costs, per_job_usd=None, per_tenant_day_usd=None)
        meter, most = CostMeter(costs), settings.sight.max_memory_chars
        return BatchDeps(
            ModelPlanner(_NoModel(), name, self.memories.access, costs, meter, self.engine.now, most), meter
        )


def _why(batch: Batch) -> str:
    """Return why an answer that the batch needs is missing."""
    if batch.options.get("prompts") != list(prompt.VERSIONS):
        return "it was planned with other prompts"
    return ANSWER_MISSING
