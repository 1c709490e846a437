"""The memory service: writes, lists, returns and forgets an owner's memories.

Only the way between messages and values stands here; the use cases are in `sidecar.services.memories`.
"""

from __future__ import annotations

from datetime import datetime

from sidecar.rpc.transport.call import Call
from sidecar.rpc.transport.paging import MAX_PAGE_BYTES, ListCall
from sidecar.rpc.transport.validation import read_each, read_struct, read_time, write_struct, write_time
from sidecar.services.memories import MAX_MEMORIES, MAX_METADATA_BYTES, Memories, check_memory
from sidecar.services.validation import check_count
from sidecar.v1 import memory_pb2 as pb
from sidecar.v1.context_pb2 import NotifyOutcome
from store.content.memories import Memory, NewMemory

SERVICE = pb.DESCRIPTOR.services_by_name["MemoryService"]


class MemoryService:
    """Keeps memories in the built-in store."""

    def __init__(self, memories: Memories) -> None:
        self._memories = memories

    async def retain(self, request: pb.RetainRequest, call: Call) -> pb.RetainResponse:
        """Write memories, and say which ids they have and how many were new or changed."""
        scope = call.scope(request)
        check_count("memories", request.memories, most=MAX_MEMORIES)
        given = await read_each("memories", request.memories, _read, chars=lambda one: len(one.text))
        retained, outcome = await self._memories.retain(scope, given)
        return pb.RetainResponse(
            memory_ids=retained.memory_ids,
            created_count=retained.created_count,
            updated_count=retained.updated_count,
            compile_outcome=NotifyOutcome.Value(f"NOTIFY_OUTCOME_{outcome or 'UNSPECIFIED'}"),
        )

    async def list_memories(self, request: pb.ListMemoriesRequest, call: Call) -> pb.ListMemoriesResponse:
        """Return a page of the owner's memories, newest first."""
        scope = call.scope(request)
        listing = ListCall("ListMemories", (scope,), (datetime, str))
        page = listing.read(request.page_size, request.page_token)
        rows = await self._memories.page(scope, limit=page.limit, most_bytes=MAX_PAGE_BYTES, **page.starting("after"))
        written, token = listing.cut(rows, page, lambda memory: (memory.occurred_at, memory.memory_id), _write)
        return pb.ListMemoriesResponse(memories=written, next_page_token=token)

    async def get_memory(self, request: pb.GetMemoryRequest, call: Call) -> pb.GetMemoryResponse:
        """Return one memory. Raises NotFound."""
        scope = call.scope(request)
        return pb.GetMemoryResponse(memory=_write(await self._memories.get(scope, request.memory_id)))

    async def delete_memory(self, request: pb.DeleteMemoryRequest, call: Call) -> pb.DeleteMemoryResponse:
        """Forget a memory; one that is not there is forgotten already."""
        scope = call.scope(request)
        await self._memories.forget(scope, request.memory_id)
        return pb.DeleteMemoryResponse()


def _read(field: str, given: pb.NewMemory) -> NewMemory:
    happened = given.HasField("occurred_time")
    memory = NewMemory(
        text=given.text,
        memory_id=given.memory_id,
        occurred_at=read_time(f"{field}.occurred_time", given.occurred_time) if happened else None,
        document_id=given.document_id,
        metadata=read_struct(f"{field}.metadata", given.metadata, max_bytes=MAX_METADATA_BYTES),
        turn_ids=tuple(given.turn_ids),
    )
    check_memory(field, memory)
    return memory


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
