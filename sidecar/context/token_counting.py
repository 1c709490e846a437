"""Counts tokens for turns with a model's meter and window, calibrated by usage reports.

An owner's reports affect only that owner until three owners of the tenant have reported often enough. Then the median over
owners applies to all, so that false reports of one owner cannot change the counts of others.

A message costs its text, its tool calls and results as JSON, and four tokens of provider framing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from models.tokens import calibration, meters
from models.tokens.calibration import Calibration, CalibrationSample
from models.tokens.catalog import CATALOG
from models.tokens.known_counts import KnownCounts
from models.tokens.meters import Meter, TextCounts
from models.tokens.prices import Model
from sidecar.runtime.ttl_cache import TtlCache
from sidecar.turn.fitting.history import MESSAGE_TOKENS, message_text
from sidecar.turn.items import HistoryTurn
from store.accounting import receipts
from store.content.threads import NewTurn, StoredTurn
from store.db.postgres import Pool, tenant_scoped
from store.db.queries import Connection
from store.scope import Scope

_CACHE_S = 30.0
_GRACE_S = 3600.0

_InForce = Mapping[str, Mapping[UUID | None, Mapping[str, Any]]]
"""A tenant's calibrations by model and owner. The key None holds the calibration for all owners."""


@dataclass(frozen=True, slots=True)
class Metered:
    """A model with its meter, window and prices."""

    meter: Meter
    model: Model

    def window_tokens(self, response_reserve_tokens: int) -> int:
        """Return the window for prompt and answer, in tokens; some models limit input below their window."""
        return self.model.window.input_limit_tokens(response_reserve_tokens) + response_reserve_tokens


class TokenMeters:
    """Finds meters. Caches calibrations for 30 seconds; without the database it uses the uncalibrated defaults."""

    def __init__(self, pool: Pool, *, clock: Callable[[], float]) -> None:
        self._pool = pool
        self._calibrations: TtlCache[UUID, _InForce] = TtlCache(
            self._read, for_s=_CACHE_S, grace_s=_GRACE_S, clock=clock
        )
        self._known = KnownCounts()
        self.reference = meters.meter_for("gpt-4o")

    async def of(self, scope: Scope, model_id: str, context_window_tokens: int = 0) -> Metered:
        """Return the model's meter and window. Raises UnknownModel if its window is neither known nor given."""
        model = CATALOG.require(model_id, context_window_tokens or None)
        in_force = _of_owner(await self._calibrations.get(scope.tenant_id), scope, model_id)
        learned = {meters.calibration_key(model_id): in_force}
        return Metered(meters.meter_for(model_id, learned, counter=self._known.count), model)

    async def learn(
        self, connection: Connection, scope: Scope, model_id: str, usage: CalibrationSample, *, now: datetime
    ) -> None:
        """Update the owner's calibration from one usage report."""
        key, is_exact = meters.calibration_key(model_id), meters.is_exact(model_id)
        stored = await receipts.open_calibration(connection, scope, key, now=now)
        learned = calibration.learn(calibration.calibration_from(stored, is_exact=is_exact), usage, is_exact=is_exact)
        await receipts.put_calibration(connection, scope, key, learned.as_fields(), now=now)

    async def newest(self, scope: Scope, model_id: str) -> Calibration:
        """Return the owner's calibration in force, read from the database, and invalidate the tenant's cache.

        The read has its own transaction: reading other owners' rows needs another role, and a sharded server refuses that after a
        write in the same transaction.
        """
        self._calibrations.forget(lambda tenant_id: tenant_id == scope.tenant_id)
        return _of_owner(await self._read(scope.tenant_id), scope, model_id)

    def counted(self, turns: Sequence[NewTurn]) -> list[NewTurn]:
        """Return the turns with the token counts to store."""
        return [_counted(turn) for turn in turns]

    async def _read(self, tenant_id: UUID) -> _InForce:
        async with tenant_scoped(self._pool, tenant_id, read_only=True) as connection:
            return await receipts.calibrations_in_force(connection, tenant_id, trusted_after=calibration.TRUSTED_AFTER)


def _of_owner(in_force: _InForce, scope: Scope, model_id: str) -> Calibration:
    """Return an owner's calibration for the model: the median over owners, else the owner's own, else the default."""
    by_owner = in_force.get(meters.calibration_key(model_id), {})
    fields = by_owner.get(None) or by_owner.get(scope.owner_id) or {}
    return calibration.calibration_from(fields, is_exact=meters.is_exact(model_id))


def history(turns: Sequence[StoredTurn], meter: Meter) -> tuple[HistoryTurn, ...]:
    """Return the turns with their cost under the meter, computed from their stored counts."""
    return tuple(_as_history(turn, meter) for turn in turns)


def _counted(turn: NewTurn) -> NewTurn:
    counts = meters.stored_counts(message_text(turn.text, turn.parts))
    return replace(
        turn, o200k_tokens=counts.o200k_base + MESSAGE_TOKENS, cl100k_tokens=counts.cl100k_base + MESSAGE_TOKENS
    )


def _as_history(turn: StoredTurn, meter: Meter) -> HistoryTurn:
    kept = {
        "o200k_base": turn.o200k_tokens - MESSAGE_TOKENS,
        "cl100k_base": turn.cl100k_tokens - MESSAGE_TOKENS,
    }
    # An exact meter needs no characters by class, and counting them is the slowest step here.
    exact = TextCounts(**kept, classes=()) if meter.is_exact else None
    counts = exact or meters.recalled_counts(message_text(turn.text, turn.parts), **kept)
    return HistoryTurn(
        id=f"turn:{turn.turn_id}",
        position=turn.position,
        role=turn.role,
        text=turn.text,
        tokens=meter.from_stored(counts) + MESSAGE_TOKENS,
        parts=turn.parts,
        speaker=turn.speaker,
        said_at=turn.said_at,
        is_imported=turn.is_imported,
        tokens_before=turn.tokens_before,
    )
