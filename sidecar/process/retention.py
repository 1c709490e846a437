"""Prunes expired rows of turns and background work, outside of calls and in small transactions."""

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
from store.db.postgres import Pool, installation, scoped, tenant_scoped

log = logging.getLogger(__name__)

_AT_ONCE = 1000


@dataclass(frozen=True, slots=True)
class Retention:
    """The days for which each kind of row is kept; 0 keeps it for good."""

    receipt_days: int
    account_days: int
    log_days: int
    job_days: int

    def since(self, now: datetime) -> KeptSince:
        """Return the instants before which rows are deleted."""
        every = (self.receipt_days, self.account_days, self.log_days, self.job_days)
        return KeptSince(*(now - timedelta(days=days) if days else None for days in every))


def retention_of(settings: Settings) -> Retention:
    """Return the settings' retention. Raises SettingInvalid if receipts would be deleted while replays or decay still read
    them.
    """
    days = settings.receipt_days
    for needed, why in (
        (settings.receipt_text_days, "SIDECAR_RECEIPT_TEXT_DAYS, within which turns can be replayed"),
        (settings.decay_read_days, "SIDECAR_DECAY_READ_DAYS, within which decay counts reads"),
    ):
        if days and days < needed:
            raise SettingInvalid("SIDECAR_RECEIPT_DAYS", f"{days} is less than {why}", f"set {needed} or more, or 0")
    return Retention(days, settings.account_days, settings.compile_log_days, settings.job_days)


async def keep_pruned(pool: Pool, kept: Retention, *, now: Callable[[], datetime], every_s: float) -> None:
    """Prune expired rows every `every_s` seconds until cancelled; several processes may do this at once."""
    while True:
        async with installation(pool) as connection:
            until = await retention.deletion_time(connection, now())
        await prune(pool, kept.since(until))
        await asyncio.sleep(every_s)


async def prune(pool: Pool, since: KeptSince) -> int:
    """Delete older rows, owner by owner, then tenant by tenant, and return the number of deleted rows.

    Each piece is a separate transaction: after a kill in the middle, the next run deletes the rest.
    """
    total = await _prune_owners(pool, since) + await _prune_tenants(pool, since)
    if total:
        log.info("pruned", extra={"rows": total})
    return total


async def _prune_owners(pool: Pool, since: KeptSince) -> int:
    total, last = 0, None
    while True:
        async with installation(pool) as connection:
            owners = await retention.owners_to_prune(connection, since, after=last, limit=_AT_ONCE)
        for last in owners:
            is_done = False
            while not is_done:
                async with scoped(pool, last) as connection:
                    pruned = await retention.delete_old(connection, last, since)
                total, is_done = total + pruned, not pruned
        if len(owners) < _AT_ONCE:
            return total


async def _prune_tenants(pool: Pool, since: KeptSince) -> int:
    total, last = 0, None
    while True:
        async with installation(pool) as connection:
            tenants = await retention.tenants_to_prune(connection, since, after=last, limit=_AT_ONCE)
        for last in tenants:
            is_done = False
            while not is_done:
                async with tenant_scoped(pool, last) as connection:
                    pruned = await retention.delete_old_of_tenant(connection, last, since)
                total, is_done = total + pruned, not pruned
        if len(tenants) < _AT_ONCE:
            return total
