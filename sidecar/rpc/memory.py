"""The memory service: writes, lists, returns and forgets an owner's memories.

Only the way between messages and values stands here; what a write does is the store's business.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime

from compiler.passes import forgetting
from sidecar.rpc.auth.identity import resolve_scope
from sidecar.rpc.transport.call import Behaviour, Call
from sidecar.rpc.transport.paging import MAX_PAGE_BYTES, ListCall
from sidecar.rpc.transport.validation import read_each, read_struct, read_time, write_struct, write_time
from sidecar.runtime.errors import NotFound
from sidecar.services.compiles import queue_compile
from sidecar.services.validation import check_count, read_id, read_text
from sidecar.turn.leads import MAX_LEAD_LINES, lead
from sidecar.v1 import memory_pb2 as pb
from sidecar.v1.context_pb2 import NotifyOutcome
from store.accounting import receipts
from store.compile import scopes
from store.compile.jobs import Enqueued
from store.content import memories, storage
from store.content.memories import Memory, NewMemory
from store.db.postgres import Pools, scoped
from store.scope import Scope
from store.tenancy import forgotten, tenants
from store.text.texts import text_hash

MAX_MEMORIES = 1_000
MAX_TEXT_CHARS = 100_000
MAX_METADATA_BYTES = 64 * 1024
MAX_TURNS = 1_000

SERVICE = pb.DESCRIPTOR.services_by_name["MemoryService"]


class MemoryService:
    """Keeps memories in the built-in store; `now` tells the time of a write, `is_compiled` whose wikis are made from it.

    `forgot` hears of which owner a memory was forgotten, ahead of the notice. An owner's turns and memories hold at most
    `quota_bytes`, 0 for any number.
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
        self._pools = pools
        self._now = now
        self._is_compiled = is_compiled
        self._forgot = forgot
        self._quota_bytes = quota_bytes

    @property
    def behaviours(self) -> Mapping[str, Behaviour]:
        """Return the service's methods by their names in the contract."""
        return {
            "Retain": self.retain,
            "ListMemories": self.list_memories,
            "GetMemory": self.get_memory,
            "DeleteMemory": self.delete_memory,
        }

    async def retain(self, request: pb.RetainRequest, call: Call) -> pb.RetainResponse:
        """Write memories, and say which ids they have and how many were new or changed."""
        scope = resolve_scope(call.identity, request.tenant_id, request.owner_id)
        check_count("memories", request.memories, most=MAX_MEMORIES)
        given = await read_each("memories", request.memories, _read, chars=lambda one: len(one.text))
        prepared = await memories.prepare(scope, given)
        now = self._now()
        async with scoped(self._pools.background, scope) as connection:
            await tenants.ensure_tenant(connection, scope.tenant_id, now=now)
            retained = await memories.write(connection, scope, prepared, now=now, quota_bytes=self._quota_bytes)
        is_changed = retained.created_count or retained.updated_count
        outcome = await self._wish_compile(scope, now) if is_changed else NotifyOutcome.NOTIFY_OUTCOME_UNSPECIFIED
        return pb.RetainResponse(
            memory_ids=retained.memory_ids,
            created_count=retained.created_count,
            updated_count=retained.updated_count,
            compile_outcome=outcome,
        )

    async def list_memories(self, request: pb.ListMemoriesRequest, call: Call) -> pb.ListMemoriesResponse:
        """Return a page of the owner's memories, newest first."""
        scope = resolve_scope(call.identity, request.tenant_id, request.owner_id)
        listing = ListCall("ListMemories", (str(scope.tenant_id), str(scope.owner_id)), (datetime, str))
        page = listing.read(request.page_size, request.page_token)
        async with scoped(self._pools.background, scope, read_only=True) as connection:
            rows = await memories.page(
                connection, scope, limit=page.limit, most_bytes=MAX_PAGE_BYTES, **page.starting("after")
            )
        written, token = listing.cut(rows, page, lambda memory: (memory.occurred_at, memory.memory_id), _write)
        return pb.ListMemoriesResponse(memories=written, next_page_token=token)

    async def get_memory(self, request: pb.GetMemoryRequest, call: Call) -> pb.GetMemoryResponse:
        """Return one memory. Raises NotFound."""
        scope = resolve_scope(call.identity, request.tenant_id, request.owner_id)
        memory_id = read_id("memory_id", request.memory_id)
        async with scoped(self._pools.background, scope, read_only=True) as connection:
            memory = await memories.get(connection, scope, memory_id)
        if memory is None:
            raise NotFound("memory")
        return pb.GetMemoryResponse(memory=_write(memory))

    async def delete_memory(self, request: pb.DeleteMemoryRequest, call: Call) -> pb.DeleteMemoryResponse:
        """Forget a memory; one that is not there is forgotten already."""
        scope = resolve_scope(call.identity, request.tenant_id, request.owner_id)
        memory_id = read_id("memory_id", request.memory_id)
        async with scoped(self._pools.background, scope) as connection:
            memory = await memories.get(connection, scope, memory_id)
            if memory is not None:
                await receipts.forget_texts(connection, scope, _kept_forms(memory.text))
                freed_bytes = await storage.of_memories(connection, scope, [memory_id])
                await memories.forget(connection, scope, memory_id)
                await scopes.lock(connection, scope, now=self._now())  # turns read on while who compiles is waited for
                notes = await forgetting.forget(connection, scope, [memory_id], now=self._now())
                await storage.add(connection, scope, -freed_bytes)
        if memory is not None:
            self._forgot(scope)
            async with scoped(self._pools.background, scope) as connection:
                await forgotten.date(connection, scope, notes, clock=self._now)
            await self._wish_compile(scope, self._now())
        return pb.DeleteMemoryResponse()

    async def _wish_compile(self, scope: Scope, now: datetime) -> NotifyOutcome.ValueType:
        """Queue a compile of what changed, and say what came of it; the write stands, whatever that is."""
        if not self._is_compiled(scope):
            return NotifyOutcome.Value(f"NOTIFY_OUTCOME_{Enqueued.SKIPPED_ADAPTER}")
        outcome = await queue_compile(self._pools.background, scope, now=now)
        return NotifyOutcome.Value(f"NOTIFY_OUTCOME_{outcome}")


def _kept_forms(text: str) -> list[bytes]:
    """Return the hashes under which receipts may have kept the text: as it is, and by its first lines."""
    leads = (lead(text, lines) for lines in range(1, MAX_LEAD_LINES + 1))
    return [text_hash(form) for form in {text, *leads}]


def _read(field: str, given: pb.NewMemory) -> NewMemory:
    check_count(f"{field}.turn_ids", given.turn_ids, most=MAX_TURNS)
    return NewMemory(
        text=read_text(f"{field}.text", given.text, min_chars=1, max_chars=MAX_TEXT_CHARS),
        memory_id=read_id(f"{field}.memory_id", given.memory_id, is_optional=True),
        occurred_at=read_time(f"{field}.occurred_time", given.occurred_time)
        if given.HasField("occurred_time")
        else None,
        document_id=read_id(f"{field}.document_id", given.document_id, is_optional=True),
        metadata=read_struct(f"{field}.metadata", given.metadata, max_bytes=MAX_METADATA_BYTES),
        turn_ids=tuple(read_id(f"{field}.turn_ids", turn_id) for turn_id in given.turn_ids),
    )


def _write(memory: Memory) -> pb.Memory:
    return pb.Memory(
        memory_id=memory.memory_id,
        text=memory.text,
        occurred_time=write_time(memory.occurred_at),
        document_id=memory.document_id,
        metadata=write_struct(memory.metadata),
        turn_ids=memory.turn_ids,
        create_time=write_time(memory.created_at),
        update_time=write_time(memory.updated_at),
    )
