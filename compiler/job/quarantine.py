"""Memories that fail to plan even alone. They are set aside once it is known that they are the cause, and not the model.

After three failures with the same reason, or at the end of the job, the planner is probed with a harmless memory. If
that fails too, the job fails and sets nothing aside. A batch that is planned successfully in between proves the same as
the probe.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from compiler.errors import ModelFailing
from compiler.job.run import Frozen, Run, entry_of
from compiler.passes.leaf import Planned
from compiler.plan.contract import BatchMemory
from compiler.planners.planner import ExtractivePlanner
from compiler.state.substrates import FeedPage, content_hash
from models.errors import AnswerUnusable, InvalidRequest, ProviderError
from store.compile.batches import BatchKind
from store.compile.ledger import LedgerEntry, MemoryOutcome

log = logging.getLogger(__name__)

ALIKE = 3
MODEL_FAULTS = ("MalformedOutput", "ModelRefused", "OutputTruncated")


@dataclass(frozen=True, slots=True)
class Held:
    """A memory that failed alone, with the reason and the feed page it was read in."""

    reason: str
    reading: FeedPage
    memories: tuple[BatchMemory, ...]


@dataclass(slots=True)
class Quarantine:
    """The memories that a job is about to set aside. The cursor stays before the first of them until then."""

    run: Run
    held: list[Held] = field(default_factory=list)

    async def take(
        self, error: Exception, reading: FeedPage, memories: Sequence[BatchMemory], *, is_reread: bool
    ) -> None:
        """Hold a memory that failed alone, or set it aside. Raises ModelFailing, PlanSuperseded.

        A memory from the reread queue is decided on at once: the cursor does not pass it, so it would be read again
        immediately.
        """
        reason = type(error).__name__
        self.held.append(Held(reason, reading, tuple(memories)))
        if not isinstance(error, ProviderError) and len(self.held) == 1:
            await self.set_aside()
        elif (
            not isinstance(error, ProviderError) or is_reread or sum(one.reason == reason for one in self.held) >= ALIKE
        ):
            await self.settle()

    async def settle(self) -> None:
        """Set the held memories aside if the planner's probe succeeds. Raises ModelFailing, PlanSuperseded."""
        if not self.held:
            return
        await self._probe(self.held[-1].reason)
        await self.set_aside()

    async def set_aside(self) -> None:
        """Quarantine the held memories with their reasons, and move the cursor past them. Raises PlanSuperseded."""
        held, self.held = self.held, []
        for one in held:
            entries = tuple(
                entry_of(entry(memory), outcome=MemoryOutcome.QUARANTINED, reason=one.reason) for memory in one.memories
            )
            frozen = Frozen(BatchKind.LEAF, one.reading.cursor, one.reading.read_through, entries)
            await self.run.commit(Planned(), frozen)

    async def _probe(self, reason: str) -> None:
        try:
            await self.run.deps.planner.probe()
        except (AnswerUnusable, InvalidRequest) as error:
            self.held.clear()
            log.error("model_failing", extra={"error": reason, "planner": self.run.deps.planner.name})
            raise ModelFailing(type(error).__name__) from error


def go_on_without_model(run: Run, error: ModelFailing) -> None:
    """Switch the job to the extractive planner; its metrics record that."""
    failed = f"{run.deps.planner.name}: {error.detail}"
    planner = ExtractivePlanner(run.deps.gazetteer)
    run.figures.update(planner=planner.name, planner_failed=failed)
    run.deps = replace(run.deps, planner=planner)


def entry(memory: BatchMemory, reason: str = "") -> LedgerEntry:
    """Return a memory's ledger row: applied; with a reason filtered; or quarantined if it crashed the worker."""
    outcome = MemoryOutcome.FILTERED if reason else MemoryOutcome.APPLIED
    if reason == "crashed_the_worker":
        outcome = MemoryOutcome.QUARANTINED
    hashes = (content_hash(memory), memory.text_hash)
    return LedgerEntry(memory.memory_id, memory.document_id, *hashes, memory.occurred_at, outcome, reason)
