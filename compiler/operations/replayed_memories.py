"""The memories that a replay reads: those of the replayed scope, in the state at the time of the log as far as it is known."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from uuid import UUID

from compiler.job import endings
from compiler.plan.contract import BatchMemory, Item
from compiler.state.access import Access
from compiler.state.substrates import Feed, FeedPage, MemoryListing, MemorySubstrate, as_known_at
from store.content import supersessions
from store.scope import Scope

_AN_INSTANT = timedelta(microseconds=1)


class ReplayedMemories:
    """The memories of the replayed scope, whatever scope is passed in.

    A memory that plans of the log ended is read without the ends that the replay has not reached yet.
    """

    def __init__(self, substrate: MemorySubstrate, access: Access) -> None:
        self.access = access
        self._substrate = substrate
        self._origin = access.scope
        self._ahead: dict[tuple[UUID | None, str, str], datetime] = {}

    async def read_ends(self, job_ids: Collection[UUID | None]) -> None:
        """Load the ends of memories that these jobs wrote."""
        if self._substrate.feed(self._origin).is_timed:
            return
        async with self.access.reading() as connection:
            ends = await supersessions.planned_ends(connection, self._origin)
        self._ahead = {
            (one.job_id, one.memory_id, one.superseded_id): one.created_at for one in ends if one.job_id in job_ids
        }

    def passed(self, job_id: UUID | None, items: Iterable[Item]) -> None:
        """Record that the replay has reached these items of a job: the memories that they end are read as ended from now on."""
        for one in endings.ends_of(items):
            self._ahead.pop((job_id, *one.pair), None)

    def feed(self, scope: Scope) -> Feed:
        return self._substrate.feed(self._origin)

    def resume(self, scope: Scope, cursor: str) -> str:
        return self._substrate.resume(self._origin, cursor)

    async def changed_after(self, scope: Scope, cursor: str, *, limit: int) -> FeedPage:
        return await self._substrate.changed_after(self._origin, cursor, limit=limit)

    async def fetch(self, scope: Scope, memory_ids: Sequence[str]) -> Mapping[str, BatchMemory]:
        found = await self._substrate.fetch(self._origin, memory_ids)
        before: dict[str, datetime] = {}
        for (_, _, superseded_id), ended_at in self._ahead.items():
            if superseded_id in found:
                before[superseded_id] = min(ended_at - _AN_INSTANT, before.get(superseded_id, ended_at))
        if not before:
            return found
        async with self.access.reading() as connection:
            return {**found, **await as_known_at(connection, self._origin, before)}

    async def listing(self, scope: Scope) -> MemoryListing:
        return await self._substrate.listing(self._origin)
