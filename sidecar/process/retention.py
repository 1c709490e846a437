"""Prunes what turns leave behind, apart from the calls and in small transactions."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from sidecar.runtime.errors import SettingInvalid
from sidecar.runtime.settings import Settings
from store.accounting import retention
from store.accounting.retention import KeptSince
from store.db.postgres import Pool, installation, scoped

log = logging.getLogger(__name__)

_OWNERS_A_SWEEP = 100


@dataclass(frozen=True, slots=True)
class Retention:
    """For how many days each kind of row is kept; 0 keeps it for good."""

    receipt_days: int
    account_days: int

    def since(self, now: datetime) -> KeptSince:
        """Return the instants before which rows are deleted."""
        return KeptSince(
            *(now - timedelta(days=days) if days else None for days in (self.receipt_days, self.account_days))
        )


def retention_of(settings: Settings) -> Retention:
    """Return the settings' retention. Raises SettingInvalid if something that is still to be read would be deleted."""
    days = settings.receipt_days
    for needed, why in (
        (settings.receipt_text_days, "SIDECAR_RECEIPT_TEXT_DAYS, for which turns can be replayed"),
        (settings.decay_read_days, "SIDECAR_DECAY_READ_DAYS, whose receipts tell what is read"),
    ):
        if days and days < needed:
            raise SettingInvalid("SIDECAR_RECEIPT_DAYS", f"{days} is less than {why}", f"set {needed} or more, or 0")
    return Retention(days, settings.account_days)


async def keep_pruned(pool: Pool, kept: Retention, *, now: Callable[[], datetime], every_s: float) -> None:
    """Prune what is older than it is kept, every `every_s` seconds until cancelled; several processes do no harm."""
    while True:
        await prune(pool, kept.since(now()))
        await asyncio.sleep(every_s)


async def prune(pool: Pool, since: KeptSince) -> int:
    """Delete what is older, owner by owner, and return how many rows went."""
    total = 0
    while True:
        async with installation(pool) as connection:
            owners = await retention.owners_with_old_rows(connection, since, limit=_OWNERS_A_SWEEP)
        pruned = 0
        for scope in owners:
            async with scoped(pool, scope) as connection:
                pruned += await retention.delete_old(connection, scope, since)
        total += pruned
        if not pruned:
            break
    if total:
        log.info("pruned", extra={"rows": total})
    return total
