"""Memory: facts and preferences carried forward from earlier work, from the built-in store."""

from __future__ import annotations

from sidecar.sources import Answer, Limits, Query
from sidecar.turn.evidence import Evidence, evidence_of
from sidecar.turn.items import Item, Ref, Source
from sidecar.turn.leads import lead
from sidecar.turn.rank import Candidate, Kind
from store import memories
from store.memories import RecalledMemory
from store.postgres import Pool, scoped
from store.scope import Scope

_MOST_EACH = 80


class MemorySource:
    """Recalls an owner's memories by the words of the question and by its meaning."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def find(self, query: Query, scope: Scope, limits: Limits) -> Answer:
        """Return up to `top_k` memories of the owner that may answer, best first."""
        if not query.words and not query.meaning:
            return Answer()
        wanted = query.wanted(query.words, min(_MOST_EACH, limits.top_k))
        async with scoped(self._pool, scope, read_only=True) as connection:
            found = await memories.recall(connection, scope, wanted)
        evidence = evidence_of(found, query.parts, query.words, lambda one: (one.memory_id, 0))
        pairs = zip(found.matches, evidence, strict=True)
        items = [_item(match.text, told, rank, limits.lead_lines) for rank, (match, told) in enumerate(pairs)]
        return Answer(tuple(items), notes=query.notes)


def _item(memory: RecalledMemory, evidence: tuple[Evidence, ...], rank: int, lead_lines: int) -> Item:
    day = memory.occurred_at.date()
    return Item(
        id=f"memory:{memory.memory_id}",
        source=Source.MEMORY,
        text=memory.text,
        rank=rank,
        relevance=evidence[0].coverage,
        header=f"Remembered, {day}",
        lead=lead(memory.text, lead_lines),
        provenance=(
            Ref("memory", memory.memory_id, memory.document_id),
            *[Ref("turn", one) for one in memory.turn_ids],
        ),
        stands_for=tuple([f"turn:{turn_id}" for turn_id in memory.turn_ids]),
        at=memory.occurred_at,
        signature=memory.signature,
        candidate=Candidate(Kind.FACT, memory.text, evidence, day=day),
    )
