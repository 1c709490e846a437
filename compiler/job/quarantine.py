"""Memories of which no plan could be made, each by itself: set aside once it is known that they are the cause and not the model.

After three that fail alike, or at the end of the job, the planner is asked about a harmless memory. If that fails too, the job
fails and sets nothing aside. A batch that is planned well in between answers the question as well.
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
    """A memory that failed alone, with the reason and how it was read."""

    reason: str
    reading: FeedPage
    memories: tuple[BatchMemory, ...]


@dataclass(slots=True)
class Quarantine:
    """What a job is about to set aside. The cursor stands before the first of these until they are."""

    run: Run
    held: list[Held] = field(default_factory=list)

    async def take(
        self, error: Exception, reading: FeedPage, memories: Sequence[BatchMemory], *, is_owed: bool
    ) -> None:
        """Hold a memory that failed alone, or set it aside. Raises ModelFailing, PlanSuperseded.

        One that is owed is not passed by the cursor and would be read again at once, so it is decided on at once.
        """
        reason = type(error).__name__
        self.held.append(Held(reason, reading, tuple(memories)))
        if not isinstance(error, ProviderError) and len(self.held) == 1:
            await self.set_aside()
        elif not isinstance(error, ProviderError) or is_owed or sum(one.reason == reason for one in self.held) >= ALIKE:
            await self.settle()

    async def settle(self) -> None:
        """Set aside what is held if the planner can plan at all. Raises ModelFailing, PlanSuperseded."""
        if not self.held:
            return
        await self._probe(self.held[-1].reason)
        await self.set_aside()

    async def set_aside(self) -> None:
        """Quarantine what is held, with its reasons, and move the cursor behind it. Raises PlanSuperseded."""
        held, self.held = self.held, []
        for one in held:
            entries = tuple(
                entry_of(entry(memory), outcome=MemoryOutcome.QUARANTINED, reason=one.reason) for memory in one.memories
            )
            frozen = Frozen(BatchKind.LEAF, one.reading.cursor, one.reading.read_through, entries)
            await self.run.commit(Planned(), frozen)

    async def _probe(self, reason: str) -> None:
        try:
            await self.run.workshop.planner.probe()
        except (AnswerUnusable, InvalidRequest) as error:
            self.held.clear()
            log.error("model_failing", extra={"error": reason, "planner": self.run.workshop.planner.name})
            raise ModelFailing(type(error).__name__) from error


def go_on_without_model(run: Run, error: ModelFailing) -> None:
    """Give the job the extractive planner; its metrics and the log say so."""
    failed = f"{run.workshop.planner.name}: {error.detail}"
    planner = ExtractivePlanner(run.workshop.gazetteer)
    run.figures.update(planner=planner.name, planner_failed=failed)
    run.workshop = replace(run.workshop, planner=planner)


def entry(memory: BatchMemory, reason: str = "") -> LedgerEntry:
    """Return a memory's row in the ledger: applied, or with a reason filtered, or quarantined if it crashed the worker."""
    outcome = MemoryOutcome.FILTERED if reason else MemoryOutcome.APPLIED
    if reason == "crashed_the_worker":
        outcome = MemoryOutcome.QUARANTINED
    hashes = (content_hash(memory), memory.text_hash)
    return LedgerEntry(memory.memory_id, memory.document_id, *hashes, memory.occurred_at, outcome, reason)
