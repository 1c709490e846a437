"""Forgets at Hindsight: deletes a bank, or a document with its units; a single unit can only be excluded from recall."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from sidecar.backends.hindsight import Hindsight, MemoryUnit, NoBank, NoDocument, NotCurated, NoUnit
from sidecar.services.forgetting.targets import RemoteOutcome, RemoteState, RemoteTarget

_KEPT = "the service keeps the text of single units, excluded from recall: delete their document there"


@dataclass(frozen=True, slots=True)
class HindsightForgetting:
    """Forgets in an owner's bank. A thread is the document with its id."""

    hindsight: Hindsight
    service: str = "Hindsight"

    @property
    def name(self) -> str:
        """The backend's configured name."""
        return self.hindsight.name

    async def forget(self, owner_id: UUID, target: RemoteTarget) -> RemoteOutcome:
        """Delete the bank or the document, or exclude the named units from recall. Raises a BackendError."""
        try:
            if target.kind == "owner":
                return _deleted(await self.hindsight.delete_bank(owner_id))
            if target.kind in {"document", "thread"}:
                return _deleted(await self.hindsight.delete_document(owner_id, target.id))
            units = await self.hindsight.every(owner_id)
        except (NoBank, NoDocument):
            return RemoteOutcome(RemoteState.NOTHING)
        named = [one for one in units if target.id in (one.unit_id, one.memory_id) or target.spans(one.at)]
        return await self._forget_units(owner_id, named, units)

    async def _forget_units(
        self, owner_id: UUID, named: Sequence[MemoryUnit], units: Sequence[MemoryUnit]
    ) -> RemoteOutcome:
        """Delete documents whose units are all named, and exclude the other named units from recall."""
        in_document: dict[str, int] = defaultdict(int)
        for one in units:
            in_document[one.document_id] += 1
        for one in named:
            in_document[one.document_id] -= 1
        whole = {one.document_id for one in named if one.document_id and not in_document[one.document_id]}
        for document_id in sorted(whole):
            await self._delete_document(owner_id, document_id)
        remaining = [one for one in named if one.document_id not in whole]
        for one in remaining:
            await self._invalidate(owner_id, one)
        if not remaining:
            return _deleted(len(named))
        return RemoteOutcome(RemoteState.WITHDRAWN, len(named), _KEPT)

    async def _delete_document(self, owner_id: UUID, document_id: str) -> None:
        try:
            await self.hindsight.delete_document(owner_id, document_id)
        except NoDocument:
            return  # another call deleted it

    async def _invalidate(self, owner_id: UUID, unit: MemoryUnit) -> None:
        """Exclude a unit from recall; with an observation, also the facts it was drawn from."""
        for unit_id in (unit.unit_id, *unit.facts):
            try:
                await self.hindsight.invalidate(owner_id, unit_id)
            except (NotCurated, NoUnit):
                continue


def _deleted(count: int) -> RemoteOutcome:
    return RemoteOutcome(RemoteState.DELETED if count else RemoteState.NOTHING, count)
