"""The memory source: facts and preferences from earlier conversations, in the built-in store."""

from __future__ import annotations

from itertools import count, repeat

from sidecar.context.ports import SourceAnswer, SourceLimits, SourceQuery
from sidecar.turn.evidence import evidence_of
from sidecar.turn.items import Item, Ref, Source
from sidecar.turn.leads import lead
from sidecar.turn.rank import CandidateKind, Candidates
from store.content import memories
from store.content.memories import RecalledMemory
from store.content.tiers import MemoryStatus
from store.db.postgres import Pool, scoped
from store.scope import Scope

_MOST_EACH = 80
_UNCONFIRMED_SHARE = 0.5
_COMPRESSED_SHARE = 0.5


class MemorySource:
    """Recalls an owner's memories by the words and the vectors of the question."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def find(self, query: SourceQuery, scope: Scope, limits: SourceLimits) -> SourceAnswer:
        """Return the owner's pinned memories, then up to `top_k` others that may answer, best first."""
        wanted = query.wanted(min(_MOST_EACH, limits.top_k))
        async with scoped(self._pool, scope, read_only=True) as connection:
            limits.begin()
            pinned = tuple(map(_pinned_item, await memories.pinned(connection, scope), count()))
            if not query.words and not query.meaning:
                return SourceAnswer(pinned)
            found = await memories.recall(connection, scope, wanted)
        pinned_ids = {item.id for item in pinned}
        places = [place for place, memory in enumerate(found.texts) if _id(memory) not in pinned_ids]
        evidence = evidence_of(found, wanted, query.parts).of(places)
        texts = [found.texts[place] for place in places]
        ranks, lines = count(len(pinned)), repeat(limits.lead_lines)
        items = tuple(map(_item, texts, evidence.coverage[0].tolist(), ranks, lines))
        candidates = Candidates(
            kind=CandidateKind.FACT,
            ids=[item.id for item in items],
            texts=[memory.text for memory in texts],
            evidence=evidence,
            days=[memory.occurred_at.date() for memory in texts],
            trust=[_trust(memory) for memory in texts],
        )
        return SourceAnswer((*pinned, *items), notes=query.notes, candidates=candidates).first(limits.top_k)

    async def pinned(self, scope: Scope) -> tuple[Item, ...]:
        """Return the owner's pinned memories, without a search."""
        async with scoped(self._pool, scope, read_only=True) as connection:
            return tuple(map(_pinned_item, await memories.pinned(connection, scope), count()))


def _id(memory: RecalledMemory) -> str:
    return f"memory:{memory.memory_id}"


def _pinned_item(memory: RecalledMemory, rank: int) -> Item:
    header = "" if memory.status == MemoryStatus.ACCEPTED else _header(memory)
    return _item(memory, 1.0, rank, 0)._replace(header=header, lead="", is_pinned=True)


def _trust(memory: RecalledMemory) -> float:
    """Return the share of its relevance that a memory keeps: a candidate at most half, and half of that in a summary."""
    share = 1.0 if memory.status == MemoryStatus.ACCEPTED else _UNCONFIRMED_SHARE * memory.confidence
    return share * _COMPRESSED_SHARE if memory.is_compressed else share


def _header(memory: RecalledMemory) -> str:
    if memory.status == MemoryStatus.ACCEPTED:
        return f"Remembered, {memory.occurred_at.date()}"
    return f"Remembered, {memory.occurred_at.date()}, unconfirmed (confidence {memory.confidence:.2g})"


def _item(memory: RecalledMemory, coverage: float, rank: int, lead_lines: int) -> Item:
    return Item(
        id=_id(memory),
        source=Source.MEMORY,
        text=memory.text,
        rank=rank,
        relevance=coverage,
        header=_header(memory),
        lead=lead(memory.text, lead_lines),
        provenance=(
            Ref("memory", memory.memory_id, memory.document_id),
            *[Ref("turn", one) for one in memory.turn_ids],
        ),
        stands_for=tuple([f"turn:{turn_id}" for turn_id in memory.turn_ids]),
        at=memory.occurred_at,
        signature=memory.signature,
    )
