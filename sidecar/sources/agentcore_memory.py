"""Memory source on AgentCore: searches an owner's long-term records by the meaning of the question."""

from __future__ import annotations

from dataclasses import dataclass

from sidecar.backends.agentcore import AgentCoreMemory, MemoryRecord
from sidecar.context.ports import SourceAnswer, SourceLimits, SourceQuery, SourceSkipped
from sidecar.turn.items import Item, Ref, Source
from sidecar.turn.leads import lead
from sidecar.turn.message.periods import day_of
from sidecar.turn.ranking.remote_evidence import coverage
from store.scope import Scope


@dataclass(frozen=True, slots=True)
class AgentCoreMemorySource:
    """Recalls the records of an owner's own namespace."""

    memory: AgentCoreMemory

    async def find(self, query: SourceQuery, scope: Scope, limits: SourceLimits) -> SourceAnswer:
        """Return up to `top_k` records, best first. Raises a BackendError, and SourceSkipped for `known_at`."""
        if query.known_at is not None:
            raise SourceSkipped("known_at is set, but the service cannot search its earlier state")
        recalled = await self.memory.recall(scope.owner_id, query.text, limit=limits.top_k)
        records = [record for record in recalled.found if record.text.strip()]
        return SourceAnswer(
            tuple(self._item(record, rank, query, limits.lead_lines) for rank, record in enumerate(records)),
            notes=recalled.left_out,
        )

    def _item(self, record: MemoryRecord, rank: int, query: SourceQuery, lead_lines: int) -> Item:
        score = "no score" if record.score is None else f"score {record.score:.4f}"
        return Item(
            id=f"memory:{record.record_id}",
            source=Source.MEMORY,
            text=record.text,
            rank=rank,
            relevance=coverage(query.words, record.text),
            header=f"Remembered, {day_of(record.at, query.now.tzinfo)}",
            lead=lead(record.text, lead_lines),
            provenance=(
                Ref("memory", record.record_id, record.strategy_id),
                Ref("backend", self.memory.name, score),
            ),
            at=record.at,
        )
