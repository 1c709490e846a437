"""Memories: written, listed, shown with what was compiled from them, and forgotten.

Every method opens its own transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from compiler.passes import forgetting
from sidecar.runtime.errors import NotFound
from sidecar.services.compiles import queue_compile
from sidecar.services.validation import check_count, read_id, read_text
from sidecar.turn.leads import MAX_LEAD_LINES, lead
from store.accounting import receipts
from store.compile import ledger, scopes
from store.compile.jobs import Enqueued
from store.compile.ledger import LedgerEntry
from store.content import memories, storage
from store.content.memories import Memory, NewMemory, Retained
from store.db.postgres import Pools, scoped
from store.scope import Scope
from store.tenancy import forgotten, tenants
from store.text.texts import text_hash
from store.wiki import browse
from store.wiki.browse import Citation

MAX_MEMORIES = 1_000
MAX_TEXT_CHARS = 100_000
MAX_METADATA_BYTES = 64 * 1024
MAX_TURNS = 1_000


@dataclass(frozen=True, slots=True)
class MemoryView:
    """A memory with its entry in the ledger of the compile and the first places that cite it; each may be missing."""

    memory: Memory | None
    entry: LedgerEntry | None
    citations: Sequence[Citation]


class Memories:
    """Keeps memories in the built-in store; `now` tells the time of a write, `is_compiled` whose wikis are made from it.

    `forgot` is called with the owner of a memory that was forgotten, ahead of the notice. An owner's turns and memories hold
    at most `quota_bytes`, 0 for any number.
    """

    def __init__(
        self,
        pools: Pools,
        *,
        now: Callable[[], datetime],
        is_compiled: Callable[[Scope], bool] = lambda scope: True,
        forgot: Callable[[Scope], None] = lambda _: None,
        quota_bytes: int = 0,
    ) -> None:
        self._pool = pools.background
        self._now = now
        self._is_compiled = is_compiled
        self._forgot = forgot
        self._quota_bytes = quota_bytes

    async def retain(self, scope: Scope, given: Sequence[NewMemory]) -> tuple[Retained, Enqueued | None]:
        """Write up to 1,000 memories, and queue a compile; None when none was new or changed.

        Each was checked with `check_memory`, its metadata bounded as it was read. The write stands, whatever becomes of the
        compile.
        """
        check_count("memories", given, most=MAX_MEMORIES)
        prepared = await memories.prepare(scope, given)
        now = self._now()
        async with scoped(self._pool, scope) as connection:
            await tenants.ensure_tenant(connection, scope.tenant_id, now=now)
            retained = await memories.write(connection, scope, prepared, now=now, quota_bytes=self._quota_bytes)
        is_changed = retained.created_count or retained.updated_count
        return retained, await self._queue_compile(scope, now) if is_changed else None

    async def notify_retained(self, scope: Scope) -> Enqueued:
        """Queue a compile of memories that were retained elsewhere, and return what came of it."""
        return await queue_compile(self._pool, scope, now=self._now())

    async def page(
        self, scope: Scope, *, limit: int, most_bytes: int, after: tuple[datetime, str] | None = None
    ) -> list[Memory]:
        """Return up to `limit` memories of about `most_bytes` bytes of text, newest first."""
        async with scoped(self._pool, scope, read_only=True) as connection:
            return await memories.page(connection, scope, limit=limit, most_bytes=most_bytes, after=after)

    async def get(self, scope: Scope, memory_id: str) -> Memory:
        """Return one memory. Raises NotFound."""
        read_id("memory_id", memory_id)
        async with scoped(self._pool, scope, read_only=True) as connection:
            memory = await memories.get(connection, scope, memory_id)
        if memory is None:
            raise NotFound("memory")
        return memory

    async def view(self, scope: Scope, memory_id: str, *, most_citations: int) -> MemoryView:
        """Return what is known of a memory, which may be forgotten or kept elsewhere. Raises NotFound for nothing at all."""
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

    async def forget(self, scope: Scope, memory_id: str) -> None:
        """Forget a memory and what receipts and the wiki hold of it; one that is not there is forgotten already."""
        read_id("memory_id", memory_id)
        async with scoped(self._pool, scope) as connection:
            memory = await memories.get(connection, scope, memory_id)
            if memory is None:
                return
            await receipts.forget_texts(connection, scope, _kept_forms(memory.text))
            freed_bytes = await storage.of_memories(connection, scope, [memory_id])
            await memories.forget(connection, scope, memory_id)
            await scopes.lock(connection, scope, now=self._now())  # turns read on while a running compile is waited for
            notes = await forgetting.forget(connection, scope, [memory_id], now=self._now())
            await storage.add(connection, scope, -freed_bytes)
        self._forgot(scope)
        async with scoped(self._pool, scope) as connection:
            await forgotten.date(connection, scope, notes, clock=self._now)
        await self._queue_compile(scope, self._now())

    async def _queue_compile(self, scope: Scope, now: datetime) -> Enqueued:
        if not self._is_compiled(scope):
            return Enqueued.SKIPPED_ADAPTER
        return await queue_compile(self._pool, scope, now=now)


def check_memory(field: str, memory: NewMemory) -> None:
    """Raise InvalidArgument, which names the place under `field`, for a memory that `retain` does not take."""
    check_count(f"{field}.turn_ids", memory.turn_ids, most=MAX_TURNS)
    read_text(f"{field}.text", memory.text, min_chars=1, max_chars=MAX_TEXT_CHARS)
    read_id(f"{field}.memory_id", memory.memory_id, is_optional=True)
    read_id(f"{field}.document_id", memory.document_id, is_optional=True)
    for turn_id in memory.turn_ids:
        read_id(f"{field}.turn_ids", turn_id)


def _kept_forms(text: str) -> list[bytes]:
    """Return the hashes under which receipts may have kept the text: as it is, and by its first lines."""
    leads = (lead(text, lines) for lines in range(1, MAX_LEAD_LINES + 1))
    return [text_hash(form) for form in {text, *leads}]
