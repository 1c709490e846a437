"""Memories: writes, lists, shows and forgets them, including their traces in compiled pages.

Every method opens its own transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from secrets import randbits

from compiler.decay.compress import MAX_SOURCES, compress_candidate_memories
from compiler.decay.summary import ulid
from compiler.decay.supersede import follow
from compiler.errors import CompressionRefused
from compiler.passes import forgetting
from sidecar.runtime.errors import FailedPrecondition, InvalidArgument, NotFound
from sidecar.services.compiles import queue_compile
from sidecar.services.forgetting.forgetting import Forgetting
from sidecar.services.forgetting.remote_forgetter import RemoteForgetter
from sidecar.services.forgetting.targets import Target
from sidecar.services.supersessions.supersessions import Supersessions
from sidecar.services.supersessions.writing import check_pinned, write_memories
from sidecar.services.validation import check_count, read_id, read_text
from store.compile import ledger, scopes
from store.compile.jobs import Enqueued
from store.compile.ledger import LedgerEntry
from store.content import memories, standing, supersessions
from store.content.memories import (
    EVERY,
    Memory,
    MemoryFilter,
    NewMemory,
    Retained,
)
from store.content.standing import StatusChange, StatusDecision
from store.content.storage import NO_LIMITS, StorageLimits
from store.content.supersessions import Supersession
from store.content.tiers import AuthorityTier, MemoryStatus
from store.db.postgres import Pools, scoped
from store.scope import Scope
from store.tenancy import tenants
from store.wiki import browse
from store.wiki.browse import Citation

MAX_MEMORIES = 1_000
MAX_TEXT_CHARS = 100_000
MAX_METADATA_BYTES = 64 * 1024
MAX_TURNS = 1_000
MAX_LABEL_CHARS = 100
MAX_DOMAINS = 100
MAX_RULE_CHARS = 500


@dataclass(frozen=True, slots=True)
class MemoryView:
    """A memory, its entry in the compile's ledger, and the first citations of it; each may be missing."""

    memory: Memory | None
    entry: LedgerEntry | None
    citations: Sequence[Citation]


@dataclass(frozen=True, slots=True)
class MemoryHistory:
    """A memory, the changes of its status, and the edges of supersession from and to it, oldest first."""

    memory: Memory
    changes: Sequence[StatusChange]
    supersessions: Sequence[Supersession]


class Memories:
    """Stores memories in the built-in store. `is_compiled` returns whether an owner's wiki is compiled from that store.

    `on_forgotten` is called with the owner of a forgotten memory, ahead of the notice; `elsewhere` forgets at remote memory
    services.
    """

    def __init__(
        self,
        pools: Pools,
        *,
        now: Callable[[], datetime],
        is_compiled: Callable[[Scope], bool] = lambda scope: True,
        on_forgotten: Callable[[Scope], None] = lambda _: None,
        limits: StorageLimits = NO_LIMITS,
        elsewhere: RemoteForgetter | None = None,
    ) -> None:
        self._pool = pools.background
        self._now = now
        self._is_compiled = is_compiled
        self._limits = limits
        self.forgetting = Forgetting(
            pools,
            now=now,
            on_forgotten=on_forgotten,
            compile_anew=self._queue_compile,
            elsewhere=elsewhere or RemoteForgetter(pools.background, {}, now=now),
        )
        self.supersessions = Supersessions(pools, now=now, compile_anew=self._queue_compile, limits=limits)

    async def retain(self, scope: Scope, new_memories: Sequence[NewMemory]) -> tuple[Retained, Enqueued | None]:
        """Write up to 1,000 memories, and queue a compile; its outcome is None if no memory waits for one.

        The caller has checked each with `check_memory`, and bounded its metadata. A failure to queue the compile does not undo
        the write. Raises InvalidArgument if a written memory is pinned and the pinned ones would take more than 300 tokens; then
        nothing is written.
        """
        check_count("memories", new_memories, most=MAX_MEMORIES)
        prepared = await memories.prepare(scope, new_memories)
        now = self._now()
        async with scoped(self._pool, scope) as connection:
            await tenants.ensure_tenant(connection, scope.tenant_id, now=now)
            retained = await write_memories(connection, scope, prepared, self._limits, now=now, field="memories.pinned")
            is_waiting = bool(retained.created_count or retained.updated_count)
            if not is_waiting and self._is_compiled(scope):  # the process may have died after this write, called again
                is_waiting = await scopes.is_unannounced(connection, scope)
        return retained, await self._queue_compile(scope, now) if is_waiting else None

    async def set_pinned(self, scope: Scope, memory_id: str, *, is_pinned: bool) -> Memory:
        """Pin or unpin a memory, and return it. The wiki does not change.

        Raises NotFound, and InvalidArgument if the memory is pinned here and the pinned ones would take more than 300 tokens.
        """
        read_id("memory_id", memory_id)
        async with scoped(self._pool, scope) as connection:
            await memories.set_pinned(connection, scope, memory_id, is_pinned=is_pinned, now=self._now())
            if is_pinned:
                await check_pinned(connection, scope, [memory_id], field="pinned")
            memory = await memories.get(connection, scope, memory_id)
            if memory is None:
                raise NotFound("memory")
        return memory

    async def notify_retained(self, scope: Scope) -> Enqueued:
        """Queue a compile of memories that were retained at a remote service, and return the outcome."""
        return await queue_compile(self._pool, scope, now=self._now())

    async def page(
        self,
        scope: Scope,
        *,
        limit: int,
        most_bytes: int,
        after: tuple[datetime, str] | None = None,
        wanted: MemoryFilter = EVERY,
    ) -> list[Memory]:
        """Return up to `limit` memories with at most about `most_bytes` bytes of text, newest first."""
        async with scoped(self._pool, scope, read_only=True) as connection:
            return await memories.page(
                connection, scope, limit=limit, after=after, most_bytes=most_bytes, wanted=wanted
            )

    async def get(self, scope: Scope, memory_id: str) -> Memory:
        """Return one memory. Raises NotFound."""
        read_id("memory_id", memory_id)
        async with scoped(self._pool, scope, read_only=True) as connection:
            memory = await memories.get(connection, scope, memory_id)
        if memory is None:
            raise NotFound("memory")
        return memory

    async def view(self, scope: Scope, memory_id: str, *, most_citations: int) -> MemoryView:
        """Return all known data of a memory, also of a forgotten or remote one. Raises NotFound if there is none."""
        read_id("id", memory_id)
        async with scoped(self._pool, scope, read_only=True) as connection:
            found = MemoryView(
                memory=await memories.get(connection, scope, memory_id),
                entry=(await ledger.read(connection, scope, [memory_id])).get(memory_id),
                citations=await browse.citations(connection, scope, memory_id, limit=most_citations),
            )
        if found.memory is None and found.entry is None and not found.citations:
            raise NotFound("memory")
        return found

    async def history(self, scope: Scope, memory_id: str) -> MemoryHistory:
        """Return a memory with the changes of its status and the edges of supersession from and to it. Raises NotFound."""
        read_id("memory_id", memory_id)
        async with scoped(self._pool, scope, read_only=True) as connection:
            memory = await memories.get(connection, scope, memory_id)
            if memory is None:
                raise NotFound("memory")
            return MemoryHistory(
                memory,
                changes=await standing.status_changes(connection, scope, memory_id),
                supersessions=await supersessions.of(connection, scope, memory_id),
            )

    async def set_status(self, scope: Scope, memory_id: str, decision: StatusDecision) -> Memory:
        """Accept or reject a memory, or make it a candidate again, and return it.

        Setting the present status changes nothing. When a memory becomes accepted, or is no longer accepted, a compile is queued.
        Raises NotFound, and InvalidArgument if the memory is pinned and the pinned ones would take more than 300 tokens.
        """
        read_id("memory_id", memory_id)
        read_text("rule", decision.rule, max_chars=MAX_RULE_CHARS)
        now = self._now()
        async with scoped(self._pool, scope) as connection:
            if await memories.get(connection, scope, memory_id) is None:
                raise NotFound("memory")
            old = await standing.set_status(connection, scope, memory_id, decision, now=now)
            if old is MemoryStatus.REJECTED:
                await check_pinned(connection, scope, [memory_id], field="status")
            if old is MemoryStatus.ACCEPTED:
                await forgetting.withdraw(connection, scope, [memory_id], now=now)
            older = await supersessions.superseded_by(connection, scope, [memory_id])
            is_stale = await follow(connection, scope, [memory_id, *older], now=now)
        if is_stale or (old is not None and MemoryStatus.ACCEPTED in (old, decision.status)):
            await self._queue_compile(scope, now)
        return await self.get(scope, memory_id)

    async def compress(self, scope: Scope, memory_ids: Sequence[str]) -> Memory:
        """Compress candidates into one summary, which is itself a candidate, and return it. Raises FailedPrecondition."""
        check_count("memory_ids", memory_ids, most=MAX_SOURCES)
        for place, memory_id in enumerate(memory_ids):
            read_id(f"memory_ids[{place}]", memory_id)
        now = self._now()
        try:
            async with scoped(self._pool, scope) as connection:
                return await compress_candidate_memories(connection, scope, memory_ids, self._new_id(), now=now)
        except CompressionRefused as error:
            raise FailedPrecondition("memory_ids", error.detail) from error

    async def forget(self, scope: Scope, memory_id: str) -> None:
        """Forget a memory and its traces in receipts, summaries and the wiki; a missing one counts as forgotten.

        Summaries that rest on it are rebuilt without it; a summary with fewer than two sources left is forgotten too.
        """
        await self.forgetting.forget(scope, Target(memory_id=read_id("memory_id", memory_id)))

    def _new_id(self) -> str:
        return ulid(self._now(), randbits(80))

    async def _queue_compile(self, scope: Scope, now: datetime) -> Enqueued:
        if not self._is_compiled(scope):
            return Enqueued.SKIPPED_ADAPTER
        return await queue_compile(self._pool, scope, now=now)


def check_memory(field: str, memory: NewMemory, *, most_trusted: AuthorityTier) -> None:
    """Raise InvalidArgument, naming the path under `field`, for a memory that `retain` does not accept.

    `most_trusted` is the highest authority that the caller may claim.
    """
    check_count(f"{field}.turn_ids", memory.turn_ids, most=MAX_TURNS)
    read_text(f"{field}.text", memory.text, min_chars=1, max_chars=MAX_TEXT_CHARS)
    read_id(f"{field}.memory_id", memory.memory_id, is_optional=True)
    read_id(f"{field}.document_id", memory.document_id, is_optional=True)
    for turn_id in memory.turn_ids:
        read_id(f"{field}.turn_ids", turn_id)
    read_text(f"{field}.memory_type", memory.memory_type or "", max_chars=MAX_LABEL_CHARS)
    read_text(f"{field}.authority", memory.authority or "", max_chars=MAX_LABEL_CHARS)
    if memory.authority and AuthorityTier.parse(memory.authority) > most_trusted:
        raise InvalidArgument(
            f"{field}.authority", "is above the caller's", f"send {most_trusted.name.title()}, or leave it out"
        )
    if memory.confidence is not None and not 0 <= memory.confidence <= 1:
        raise InvalidArgument(f"{field}.confidence", "is not a number from 0 to 1", "send one, or leave it out")
    if memory.valid_from and memory.stated_until and memory.stated_until <= memory.valid_from:
        raise InvalidArgument(f"{field}.valid_until_time", "is not after valid_from_time", "send a later one, or none")
    check_count(f"{field}.domains", memory.domains or (), most=MAX_DOMAINS)
    for domain in memory.domains or ():
        read_text(f"{field}.domains", domain, min_chars=1, max_chars=MAX_LABEL_CHARS)
