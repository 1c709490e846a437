"""Prefetch of the next batch: read and analysed while a batch is applied.

It goes one batch ahead, and only for a job without a model: beside a model's latency these milliseconds do not count.
The ledger and the wiki are read in the batch's own transaction or after it, so a prefetched plan can be superseded but
not wrong.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeVar

from compiler.plan import intake
from compiler.plan.contract import BatchMemory
from compiler.plan.intake import Dropped
from compiler.plan.names import lookup
from compiler.plan.names.lookup import Sought
from compiler.state.substrates import FeedPage, MemorySubstrate
from store.scope import Scope

Place = tuple[str, int]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Ready:
    """Memories as read and their analysis, valid if all are new: kept, dropped, and the names they may hold."""

    reading: FeedPage
    memories: tuple[BatchMemory, ...] = ()
    kept: tuple[BatchMemory, ...] = ()
    dropped: tuple[Dropped, ...] = ()
    sought: Sought | None = None


@dataclass(slots=True)
class Prefetch:
    """A job's reads of its feed. The caller must call `stop` at the end of the job."""

    substrate: MemorySubstrate
    scope: Scope
    _ready: Ready | None = None
    _place: Place = ("", 0)
    _begun: asyncio.Task[Ready] | None = None

    def begin(self, position: str, *, limit: int) -> None:
        """Start the read that `reading` is expected to ask for next."""
        if self._begun is None:
            self._place = (position, limit)
            self._begun = asyncio.create_task(self._look_through(position, limit))

    async def reading(self, position: str, *, limit: int) -> FeedPage:
        """Return at most `limit` memories after a feed position. Raises the memory service's errors."""
        self._ready = None
        if self._begun is not None and self._place == (position, limit):
            await asyncio.wait({self._begun})
            self._ready = _result(self._begun)
        await self.stop()
        if self._ready is not None:
            return self._ready.reading
        return await self.substrate.changed_after(self.scope, position, limit=limit)

    def sift(self, memories: tuple[BatchMemory, ...]) -> tuple[tuple[BatchMemory, ...], tuple[Dropped, ...]]:
        """Return the memories worth reading, and the dropped ones."""
        ready = self._ready
        return (ready.kept, ready.dropped) if ready and ready.memories == memories else intake.sift(memories)

    def names_in(self, memories: Iterable[BatchMemory]) -> Sought:
        """Return the names that may stand in the memories."""
        ready = self._ready
        known = ready.sought if ready and ready.kept is memories else None
        return known or lookup.names_in(memories)

    async def stop(self) -> None:
        """Cancel the read under way; its error, if any, is ignored, because the memories are read again if needed."""
        begun, self._begun = self._begun, None
        await _cancel(begun)

    async def _look_through(self, position: str, limit: int) -> Ready:
        reading = await self.substrate.changed_after(self.scope, position, limit=limit)
        return await asyncio.to_thread(_looked_through, reading)


def _looked_through(reading: FeedPage) -> Ready:
    memories = tuple({memory.memory_id: memory for memory in reading.memories}.values())
    kept, dropped = intake.sift(memories)
    return Ready(reading, memories, kept, dropped, lookup.names_in(kept))


async def _cancel(task: asyncio.Task[T] | None) -> None:
    if task is not None:
        task.cancel()
        await asyncio.wait({task})
        _result(task)


def _result(task: asyncio.Task[T]) -> T | None:
    """Return the result of a finished task, None if it failed or was cancelled."""
    return None if task.cancelled() or task.exception() is not None else task.result()
