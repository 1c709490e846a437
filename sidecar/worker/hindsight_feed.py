"""Memory feed of Hindsight's banks for the compile: units written since an instant, from a listing without a change feed.

A window between two instants is listed one kind at a time, in the server's order (newest first), and restarted if it changed
during that. The result is then sorted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from uuid import UUID

from compiler.plan.contract import BatchMemory
from compiler.state.substrates import ListingRow, TimedMemory, composed, kept_instant
from compiler.state.substrates import MemoryListing as Everything
from sidecar.backends.errors import BackendMisused, BackendUnavailable
from sidecar.backends.hindsight import Hindsight, MemoryUnit, NoBank, UnitListing, UnitPage
from store.scope import Scope

_BEGINNING = datetime(2000, 1, 1, tzinfo=UTC)
_TRIES = 3
_PAGE = 200
_MOST_IN_A_WINDOW = 1_000
_SHORTEST = timedelta(milliseconds=1)
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
        since = max(after[0], _BEGINNING)
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
        return await self._between(owner_id, _BEGINNING, datetime.now(UTC) + timedelta(days=1))

    async def _between(self, owner_id: UUID, since: datetime, until: datetime) -> list[MemoryUnit]:
        if until <= since:
            return []
        units: list[MemoryUnit] = []
        try:
            for kind in self.hindsight.banks.types:
                units += await self._window(owner_id, kind, since, until)
        except NoBank:
            return []
        return [unit for unit in units if unit.text.strip()]

    async def _window(self, owner_id: UUID, kind: str, since: datetime, until: datetime) -> list[MemoryUnit]:
        """Return one kind's units of a window; a window with too many is split in half."""
        listing = UnitListing(kind, since, until, limit=_PAGE)
        for _ in range(_TRIES):
            first = await self.hindsight.listed(owner_id, listing)
            if first.total > _MOST_IN_A_WINDOW and until - since > _SHORTEST:
                middle = since + (until - since) / 2
                return [
                    *await self._window(owner_id, kind, since, middle),
                    *await self._window(owner_id, kind, middle, until),
                ]
            units = await self._rest(owner_id, listing, first)
            if units is not None:
                return units
        raise BackendUnavailable(self.hindsight.name, "the window keeps changing")

    async def _rest(self, owner_id: UUID, listing: UnitListing, first: UnitPage) -> list[MemoryUnit] | None:
        """Return all units of the window, or None if it changed while being read."""
        units = list(first.units)
        while len(units) < first.total:
            page = await self.hindsight.listed(
                owner_id, UnitListing(listing.kind, listing.since, listing.until, len(units), listing.limit)
            )
            if page.total != first.total or not page.units:
                return None
            units += page.units
        if any(not listing.since <= _instant(unit) < listing.until for unit in units):
            raise BackendMisused(self.hindsight.name, "it lists units outside the window; use Hindsight 1.1 or newer")
        return units if len({unit.unit_id for unit in units}) == first.total else None


def _instant(unit: MemoryUnit) -> datetime:
    return unit.updated_at or _BEGINNING


def _newest(units: Iterable[MemoryUnit]) -> list[MemoryUnit]:
    """Return the last written unit of each memory."""
    by_memory: dict[str, MemoryUnit] = {}
    for unit in sorted(units, key=lambda one: (_instant(one), one.unit_id)):
        by_memory[unit.memory_id] = unit
    return list(by_memory.values())


def _timed(unit: MemoryUnit) -> TimedMemory:
    memory = BatchMemory(
        unit.memory_id,
        composed(unit.text),
        bytes.fromhex(unit.text_hash),
        kept_instant(unit.at or _instant(unit)),
        unit.document_id,
        dict(unit.metadata),
    )
    return TimedMemory(memory, _instant(unit))


def _place(one: TimedMemory) -> tuple[datetime, str]:
    return (one.updated_at, one.memory.memory_id)
