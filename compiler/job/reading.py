"""Reads the next batch of a job: memories of the reread queue, then those of the feed after the cursor.

A memory is queued if it must be read again although no feed lists it: its page was deleted, or an operator retries it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from compiler.job.run import Run
from compiler.plan.contract import BatchMemory
from compiler.state.substrates import FeedPage, content_hash
from store.compile import ledger
from store.compile.ledger import LedgerEntry, MemoryOutcome


@dataclass(frozen=True, slots=True)
class ReadBatch:
    """A page of the feed, the ledger rows of its memories by id, and the memories that are new or changed since (`fresh`)."""

    page: FeedPage
    known: Mapping[str, LedgerEntry]
    fresh: tuple[BatchMemory, ...]

    @property
    def has_gone(self) -> bool:
        """Whether a memory was forgotten and written again: its old words must be removed before it is read."""
        return any(one.outcome is MemoryOutcome.GONE for one in self.known.values())

    @property
    def edited(self) -> frozenset[str]:
        """The ids of memories whose texts changed after they were compiled."""
        return frozenset(
            one.memory_id
            for one in self.fresh
            if one.memory_id in self.known and self.known[one.memory_id].text_hash != one.text_hash
        )


async def read(run: Run) -> ReadBatch | None:
    """Return the next batch; None if nothing is left to read or a cap ended the job. Raises the memory service's errors."""
    if run.is_capped or run.is_drained:
        return None
    remaining = run.records_left()
    if not remaining:
        run.cap("records")
        return None
    limit = min(_most(run), remaining, run.limit or remaining)
    page = await _queued(run, limit) if run.has_rereads else None
    if page is None:
        run.has_rereads = False
        page = await run.deps.substrate.changed_after(run.access.scope, run.position, limit=limit)
    async with run.access.reading() as connection:
        known = await ledger.read(connection, run.access.scope, [memory.memory_id for memory in page.memories])
    return ReadBatch(page, known, fresh(page.memories, known))


def fresh(memories: Iterable[BatchMemory], known: Mapping[str, LedgerEntry]) -> tuple[BatchMemory, ...]:
    """Return the memories that are new or changed since their ledger rows, each once."""
    last = {memory.memory_id: memory for memory in memories}
    return tuple(
        memory for id_, memory in last.items() if id_ not in known or known[id_].content_hash != content_hash(memory)
    )


def _most(run: Run) -> int:
    """Return the most memories in a batch: 1 after several workers crashed on it, fewer if the model does not answer for it."""
    is_crashing = run.row.crashes >= run.settings.patience.crashes_before_single_memory
    return 1 if is_crashing else max(1, run.settings.caps.record_page_size >> int(run.figures["batch_halvings"]))


async def _queued(run: Run, limit: int) -> FeedPage | None:
    """Return at most `limit` memories of the reread queue, without moving the feed position; None if none is left.

    Queued memories that no longer exist are written off.
    """
    scope = run.access.scope
    while True:
        async with run.access.reading() as connection:
            queued = await ledger.reread_queue(connection, scope, limit=limit)
        if not queued:
            return None
        existing = await run.deps.substrate.fetch(scope, queued)
        async with run.access.writing() as connection:
            missing = [memory_id for memory_id in queued if memory_id not in existing]
            await ledger.write_off(connection, scope, missing, now=run.now())
        if existing:
            memories = tuple(existing[memory_id] for memory_id in queued if memory_id in existing)
            return FeedPage(memories, run.position, run.row.read_through, is_drained=False)
