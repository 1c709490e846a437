"""Memory feed of Hindsight's banks for the compile: units written since an instant, sorted; the service has no change feed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from uuid import UUID

from compiler.plan.contract import BatchMemory
from compiler.state.substrates import ListingRow, TimedMemory, composed, kept_instant
from compiler.state.substrates import MemoryListing as Everything
from sidecar.backends.hindsight import BEGINNING, Hindsight, MemoryUnit, NoBank
from store.scope import Scope

_TICK = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class HindsightMemories:
    """Owners' banks as a feed ordered by last write. Deleted units are found by reconciliation with the full listing."""

    hindsight: Hindsight

    async def written(
        self, scope: Scope, after: tuple[datetime, str], *, until: datetime, limit: int
    ) -> list[TimedMemory]:
        """Return at most `limit` memories written after an instant and id, and no later than `until`. Raises a BackendError.

        If a memory is listed twice because its document was retained again, the newer one is used.
        """
        since = max(after[0], BEGINNING)
        units = await self._between(scope.owner_id, since, until + _TICK)
        timed = sorted((_timed(unit) for unit in _newest(units)), key=_place)
        return [one for one in timed if _place(one) > after][:limit]

    async def fetch(self, scope: Scope, memory_ids: Sequence[str]) -> Mapping[str, BatchMemory]:
        """Return the memories that exist, by id. Reads the whole bank: units cannot be fetched by our ids."""
        wanted = set(memory_ids)
        units = _newest(await self._all(scope.owner_id))
        return {unit.memory_id: _timed(unit).memory for unit in units if unit.memory_id in wanted}

    async def listing(self, scope: Scope) -> Everything:
        """Return every memory; the listing is complete. Raises a BackendError."""
        memories = (_timed(unit).memory for unit in _newest(await self._all(scope.owner_id)))
        return Everything(
            {one.memory_id: ListingRow(one.document_id, one.text_hash) for one in memories}, is_complete=True
        )

    async def _all(self, owner_id: UUID) -> list[MemoryUnit]:
        return await self._between(owner_id, BEGINNING, datetime.now(UTC) + timedelta(days=1))

    async def _between(self, owner_id: UUID, since: datetime, until: datetime) -> list[MemoryUnit]:
        try:
            units = await self.hindsight.between(owner_id, since, until)
        except NoBank:
            return []
        return [unit for unit in units if unit.text.strip()]


def _newest(units: Iterable[MemoryUnit]) -> list[MemoryUnit]:
    """Return the last written unit of each memory."""
    by_memory: dict[str, MemoryUnit] = {}
    for unit in sorted(units, key=lambda one: (one.written_at, one.unit_id)):
        by_memory[unit.memory_id] = unit
    return list(by_memory.values())


def _timed(unit: MemoryUnit) -> TimedMemory:
    memory = BatchMemory(
        unit.memory_id,
        composed(unit.text),
        bytes.fromhex(unit.text_hash),
        kept_instant(unit.at or unit.written_at),
        unit.document_id,
        dict(unit.metadata),
    )
    return TimedMemory(memory, unit.written_at)


def _place(one: TimedMemory) -> tuple[datetime, str]:
    return (one.updated_at, one.memory.memory_id)
