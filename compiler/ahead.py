"""The next memories, read and looked through while a batch is applied: what hangs on nothing that the batch writes.

One batch ahead, and only for a job that pays for nothing: beside a model's answers these milliseconds do not count. What the
ledger and the wiki say is asked once the batch is applied, so what was read ahead can be superseded, but not wrong.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass

from compiler.plan import intake, lookup
from compiler.plan.contract import Memory
from compiler.plan.intake import Dropped
from compiler.plan.lookup import Sought
from compiler.substrates import MemorySubstrate, Reading
from store.scope import Scope

Place = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Ready:
    """Memories as they were read, and what is made of them when all are new: those kept, those not, and what they may name."""

    reading: Reading
    memories: tuple[Memory, ...] = ()
    kept: tuple[Memory, ...] = ()
    dropped: tuple[Dropped, ...] = ()
    sought: Sought | None = None


@dataclass(slots=True)
class Ahead:
    """A job's reading of its feed. Whoever ends the job calls `stop`."""

    substrate: MemorySubstrate
    scope: Scope
    _ready: Ready | None = None
    _place: Place = ("", 0)
    _begun: asyncio.Task[Ready] | None = None

    def begin(self, position: str, *, limit: int) -> None:
        """Read ahead what `reading` will be asked for next, if it is asked for just that."""
        if self._begun is None:
            self._place = (position, limit)
            self._begun = asyncio.create_task(self._look_through(position, limit))

    async def reading(self, position: str, *, limit: int) -> Reading:
        """Return at most `limit` memories after a position of the feed. Raises what the memory service raises."""
        self._ready = None
        if self._begun is not None and self._place == (position, limit):
            await asyncio.wait({self._begun})
            self._ready = _result(self._begun)
        await self.stop()
        if self._ready is not None:
            return self._ready.reading
        return await self.substrate.changed_after(self.scope, position, limit=limit)

    def sift(self, memories: tuple[Memory, ...]) -> tuple[tuple[Memory, ...], tuple[Dropped, ...]]:
        """Return the memories worth reading, and those that are not."""
        ready = self._ready
        return (ready.kept, ready.dropped) if ready and ready.memories == memories else intake.sift(memories)

    def names_in(self, memories: Iterable[Memory]) -> Sought:
        """Return what may be named in the memories."""
        ready = self._ready
        known = ready.sought if ready and ready.kept is memories else None
        return known or lookup.names_in(memories)

    async def stop(self) -> None:
        """Give up what was begun: a reading that fails is not missed, it is read again or not at all."""
        begun, self._begun = self._begun, None
        if begun is not None:
            begun.cancel()
            await asyncio.wait({begun})
            _result(begun)

    async def _look_through(self, position: str, limit: int) -> Ready:
        reading = await self.substrate.changed_after(self.scope, position, limit=limit)
        return await asyncio.to_thread(_looked_through, reading)


def _looked_through(reading: Reading) -> Ready:
    memories = tuple({memory.memory_id: memory for memory in reading.memories}.values())
    kept, dropped = intake.sift(memories)
    return Ready(reading, memories, kept, dropped, lookup.names_in(kept))


def _result(task: asyncio.Task[Ready]) -> Ready | None:
    """Return what a task that has ended made, None when it failed."""
    return None if task.cancelled() or task.exception() is not None else task.result()
