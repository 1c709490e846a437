"""The next memories, read and looked through while a batch is applied, and planned as soon as that wrote what planning reads.

One batch ahead, and only for a job that pays for nothing: beside a model's answers these milliseconds do not count. What the
ledger and the wiki say is asked within the batch's own transaction, or behind it: what was made ahead can be superseded, but
not wrong.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import TypeVar

from compiler.passes.leaf import Planned
from compiler.plan import intake
from compiler.plan.contract import BatchMemory
from compiler.plan.intake import Dropped
from compiler.plan.names import lookup
from compiler.plan.names.lookup import Sought
from compiler.state.substrates import FeedPage, MemorySubstrate
from store.compile.ledger import LedgerEntry
from store.scope import Scope

Place = tuple[str, int]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Ready:
    """Memories as they were read, and what is made of them when all are new: those kept, those not, and what they may name."""

    reading: FeedPage
    memories: tuple[BatchMemory, ...] = ()
    kept: tuple[BatchMemory, ...] = ()
    dropped: tuple[Dropped, ...] = ()
    sought: Sought | None = None


@dataclass(frozen=True, slots=True)
class Foreseen:
    """A batch seen ahead: what was read, what the ledger knows of it, what is new, what of that is kept.

    `planned` is there when none of it was ever read before, and something is kept.
    """

    reading: FeedPage
    known: dict[str, LedgerEntry]
    fresh: tuple[BatchMemory, ...]
    kept: tuple[BatchMemory, ...] = ()
    planned: Planned | None = None


@dataclass(slots=True)
class Prefetch:
    """A job's reading of its feed. Whoever ends the job calls `stop`."""

    substrate: MemorySubstrate
    scope: Scope
    _ready: Ready | None = None
    _place: Place = ("", 0)
    _begun: asyncio.Task[Ready] | None = None
    _planning: asyncio.Task[Foreseen] | None = None
    _foreseen: Foreseen | None = None

    def begin(self, position: str, *, limit: int) -> None:
        """Read ahead what `reading` will be asked for next, if it is asked for just that."""
        if self._begun is None:
            self._place = (position, limit)
            self._begun = asyncio.create_task(self._look_through(position, limit))

    def plan(self, plan: Callable[[FeedPage], Awaitable[Foreseen]]) -> None:
        """Plan what `begin` is reading, if it is."""
        if self._begun is not None:
            self._planning = asyncio.create_task(self._plan(plan, *self._place))

    async def foreseen(self, position: str, *, limit: int) -> Foreseen | None:
        """Return the batch of at most `limit` memories after a position of the feed, None where it was not seen."""
        planning, self._foreseen = self._planning, None
        if planning is not None and self._place == (position, limit):
            await asyncio.wait({planning})
            self._foreseen = _result(planning)
        await self.drop_plan()
        return self._foreseen

    def planned(self, memories: tuple[BatchMemory, ...]) -> Planned | None:
        """Return what is planned for these memories, if it is."""
        return self._foreseen.planned if self._foreseen and self._foreseen.kept is memories else None

    async def drop_plan(self) -> None:
        """Give up planning: who lost what the plan is made upon, or puts pages at hand himself, has to."""
        await _given_up(self._planning)
        self._planning = None

    async def reading(self, position: str, *, limit: int) -> FeedPage:
        """Return at most `limit` memories after a position of the feed. Raises what the memory service raises."""
        self._ready = None
        if self._begun is not None and self._place == (position, limit):
            await asyncio.wait({self._begun})
            self._ready = _result(self._begun)
        await self.stop()
        if self._ready is not None:
            return self._ready.reading
        return await self.substrate.changed_after(self.scope, position, limit=limit)

    def sift(self, memories: tuple[BatchMemory, ...]) -> tuple[tuple[BatchMemory, ...], tuple[Dropped, ...]]:
        """Return the memories worth reading, and those that are not."""
        ready = self._ready
        return (ready.kept, ready.dropped) if ready and ready.memories == memories else intake.sift(memories)

    def names_in(self, memories: Iterable[BatchMemory]) -> Sought:
        """Return what may be named in the memories."""
        ready = self._ready
        known = ready.sought if ready and ready.kept is memories else None
        return known or lookup.names_in(memories)

    async def stop(self) -> None:
        """Give up what was begun: a reading that fails is not missed, it is read again or not at all."""
        begun, self._begun = self._begun, None
        await _given_up(begun)

    async def _plan(self, plan: Callable[[FeedPage], Awaitable[Foreseen]], position: str, limit: int) -> Foreseen:
        return await plan(await self.reading(position, limit=limit))

    async def _look_through(self, position: str, limit: int) -> Ready:
        reading = await self.substrate.changed_after(self.scope, position, limit=limit)
        return await asyncio.to_thread(_looked_through, reading)


def _looked_through(reading: FeedPage) -> Ready:
    memories = tuple({memory.memory_id: memory for memory in reading.memories}.values())
    kept, dropped = intake.sift(memories)
    return Ready(reading, memories, kept, dropped, lookup.names_in(kept))


async def _given_up(task: asyncio.Task[T] | None) -> None:
    if task is not None:
        task.cancel()
        await asyncio.wait({task})
        _result(task)


def _result(task: asyncio.Task[T]) -> T | None:
    """Return what a task that has ended made, None when it failed."""
    return None if task.cancelled() or task.exception() is not None else task.result()
