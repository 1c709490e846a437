"""Memory source on Hindsight: recalls from an owner's bank. Observations cover the facts that they were drawn from."""

from __future__ import annotations

from dataclasses import dataclass

from sidecar.backends.hindsight import Hindsight, MemoryUnit, NoBank
from sidecar.context.ports import SourceAnswer, SourceLimits, SourceQuery, SourceSkipped
from sidecar.turn.items import Item, Ref, Source
from sidecar.turn.leads import lead
from sidecar.turn.message.periods import day_of
from sidecar.turn.ranking.remote_evidence import coverage
from store.scope import Scope


@dataclass(frozen=True, slots=True)
class HindsightSource:
    """Recalls from the owner's own bank."""

    hindsight: Hindsight

    async def find(self, query: SourceQuery, scope: Scope, limits: SourceLimits) -> SourceAnswer:
        """Return up to `top_k` units, best first. Raises a BackendError, and SourceSkipped for `known_at`."""
        if query.known_at is not None:
            raise SourceSkipped("known_at is set, but the service cannot search its earlier state")
        try:
            recalled = await self.hindsight.recall(scope.owner_id, query.text, now=query.now, limit=limits.top_k)
        except NoBank as error:
            return SourceAnswer(notes=(str(error),))
        units = [unit for unit in recalled.found if unit.text.strip()]
        return SourceAnswer(
            tuple(self._item(unit, rank, query, limits.lead_lines) for rank, unit in enumerate(units)),
            notes=recalled.left_out,
        )

    def _item(self, unit: MemoryUnit, rank: int, query: SourceQuery, lead_lines: int) -> Item:
        return Item(
            id=f"memory:{unit.memory_id}",
            source=Source.MEMORY,
            text=unit.text,
            rank=rank,
            relevance=coverage(query.words, unit.text),
            header=f"Remembered, {day_of(unit.at, query.now.tzinfo)}" if unit.at else "Remembered",
            lead=lead(unit.text, lead_lines),
            provenance=(Ref("memory", unit.unit_id, unit.document_id), Ref("backend", self.hindsight.name, unit.kind)),
            stands_for=tuple(f"memory:{fact}" for fact in unit.facts),
            at=unit.at,
        )
