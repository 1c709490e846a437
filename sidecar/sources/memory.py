"""Memory: facts and preferences carried forward from earlier work, from the built-in store."""

from __future__ import annotations

from sidecar.sources import Answer, Limits, Query
from sidecar.turn.items import Item, Ref, Source
from sidecar.turn.leads import lead
from store import memories
from store.postgres import Pool, scoped
from store.scope import Scope


class MemorySource:
    """Recalls an owner's memories by the words of the question."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def find(self, query: Query, scope: Scope, limits: Limits) -> Answer:
        """Return up to `top_k` memories of the owner, best first."""
        if not query.words:
            return Answer()
        async with scoped(self._pool, scope, read_only=True) as connection:
            found = await memories.search(connection, scope, query.words, limit=limits.top_k)
        return Answer(tuple(_item(one, rank, limits.lead_lines) for rank, one in enumerate(found)))


def _item(found: memories.FoundMemory, rank: int, lead_lines: int) -> Item:
    memory = found.memory
    return Item(
        id=f"memory:{memory.memory_id}",
        source=Source.MEMORY,
        text=memory.text,
        rank=rank,
        relevance=found.coverage,
        header=f"Remembered, {memory.occurred_at.date()}",
        lead=lead(memory.text, lead_lines),
        provenance=(
            Ref("memory", memory.memory_id, memory.document_id),
            *[Ref("turn", one) for one in memory.turn_ids],
        ),
        stands_for=tuple([f"turn:{turn_id}" for turn_id in memory.turn_ids]),
        at=memory.occurred_at,
        signature=found.signature,
    )
