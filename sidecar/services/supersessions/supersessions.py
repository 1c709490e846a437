"""Supersedes and restores memories, and explains the evidence for a memory.

Every method opens its own transaction.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from compiler.decay.supersede import MAX_SUPERSEDED, SupersessionCause, edit_of, restore, supersede
from compiler.errors import SupersessionRefused
from sidecar.runtime.errors import FailedPrecondition, NotFound
from sidecar.services.supersessions.writing import write_memories
from sidecar.services.validation import check_count, read_id, read_text
from store.compile.jobs import Enqueued
from store.content import feed, memories, supersessions
from store.content.memories import Memory, NewMemory
from store.content.storage import StorageLimits
from store.content.supersessions import SourceTurn, Supersession
from store.db.postgres import Pools, scoped
from store.db.queries import Connection
from store.scope import Scope

MAX_EVIDENCE_CHARS = 500
MAX_CHAIN = 1_000
MAX_TURN_CHARS = 2_000


@dataclass(frozen=True, slots=True)
class MemoryBelief:
    """The evidence for a memory: the live edges below it, nearest first, their memories, and the turns all were drawn from."""

    memory: Memory
    chain: Sequence[Supersession]
    memories: Sequence[Memory]
    turns: Sequence[SourceTurn]


class Supersessions:
    """Supersedes and restores memories of the built-in store; `compile_anew` queues a compile of an owner's wiki."""

    def __init__(
        self,
        pools: Pools,
        *,
        now: Callable[[], datetime],
        compile_anew: Callable[[Scope, datetime], Awaitable[Enqueued]],
        limits: StorageLimits,
    ) -> None:
        self._pool = pools.background
        self._now = now
        self._compile_anew = compile_anew
        self._limits = limits

    async def supersede(
        self, scope: Scope, superseded_ids: Sequence[str], newer: str | NewMemory, cause: SupersessionCause
    ) -> tuple[Memory, list[Memory]]:
        """Supersede memories by an existing one, or by an edit written here; return the newer memory and the older ones.

        The caller has checked an edit with `check_memory`. Raises FailedPrecondition, and InvalidArgument if the pinned memories
        would take more than 300 tokens; then nothing is written.
        """
        check_count("superseded_ids", superseded_ids, least=1, most=MAX_SUPERSEDED)
        for place, memory_id in enumerate(superseded_ids):
            read_id(f"superseded_ids[{place}]", memory_id)
        if isinstance(newer, str):
            read_id("memory_id", newer)
        read_text("evidence", cause.evidence, max_chars=MAX_EVIDENCE_CHARS)
        now = self._now()
        try:
            async with scoped(self._pool, scope) as connection:
                newer_id = await self._newer_id(connection, scope, superseded_ids, newer)
                is_stale = await supersede(connection, scope, newer_id, superseded_ids, cause, now=now)
                held = {
                    one.memory_id: one for one in await memories.by_ids(connection, scope, [newer_id, *superseded_ids])
                }
        except SupersessionRefused as error:
            raise FailedPrecondition("superseded_ids", error.detail) from error
        if is_stale or not isinstance(newer, str):
            await self._compile_anew(scope, now)
        return held.pop(newer_id), list(held.values())

    async def _newer_id(
        self, connection: Connection, scope: Scope, superseded_ids: Sequence[str], newer: str | NewMemory
    ) -> str:
        """Return the id of the newer memory; an edit is written first."""
        if isinstance(newer, str):
            return newer
        await feed.hold(connection, scope)
        held = await memories.lock(connection, scope, superseded_ids)
        prepared = await memories.prepare(scope, [edit_of(newer, held.values())])
        retained = await write_memories(connection, scope, prepared, self._limits, now=self._now(), field="edit")
        return retained.memory_ids[0]

    async def restore(self, scope: Scope, memory_id: str, superseding_id: str = "") -> Memory:
        """Undo the supersession of a memory by one memory, or by all, and return the memory. Raises NotFound."""
        read_id("memory_id", memory_id)
        read_id("superseding_id", superseding_id, is_optional=True)
        now = self._now()
        async with scoped(self._pool, scope) as connection:
            is_stale = await restore(connection, scope, memory_id, from_id=superseding_id or None, now=now)
            memory = await _known(connection, scope, memory_id)
        if is_stale:
            await self._compile_anew(scope, now)
        return memory

    async def explain(self, scope: Scope, memory_id: str) -> MemoryBelief:
        """Return the evidence for a memory, down to the turns. Raises NotFound."""
        read_id("memory_id", memory_id)
        async with scoped(self._pool, scope, read_only=True) as connection:
            memory = await _known(connection, scope, memory_id)
            chain = await supersessions.chain(connection, scope, memory_id, limit=MAX_CHAIN)
            below = {edge.superseded_id for edge in chain} - {memory_id}
            found = await memories.by_ids(connection, scope, sorted(below))
            named = dict.fromkeys(turn for one in (memory, *found) for turn in (*one.turn_ids, *one.source_events))
            turns = await supersessions.source_turns(connection, scope, list(named)[:MAX_CHAIN], chars=MAX_TURN_CHARS)
        return MemoryBelief(memory, chain, found, turns)


async def _known(connection: Connection, scope: Scope, memory_id: str) -> Memory:
    memory = await memories.get(connection, scope, memory_id)
    if memory is None:
        raise NotFound("memory")
    return memory
