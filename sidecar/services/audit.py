"""Records admins' calls in the audit table, after the calls. A call never waits for it: if the queue is full or the database
refuses an entry, it is dropped and counted.
"""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from collections.abc import Callable
from datetime import datetime, timedelta
from uuid import UUID

from store.accounting import audit, retention
from store.accounting.audit import Entry
from store.db.postgres import Pool, installation, tenant_scoped
from store.errors import PASSING, StoreError

log = logging.getLogger(__name__)

_BATCH = 200
_GATHER_S = 0.05
_PAUSE_S = 1.0
_CAPACITY = 10_000
_TENANTS_A_SWEEP = 1_000


class AuditLog:
    """The queue in front of the audit table, and the task that drains it."""

    def __init__(self, pool: Pool, *, keep_days: int, clock: Callable[[], datetime], capacity: int = _CAPACITY) -> None:
        """Write to the pool; with `keep_days` 0, nothing is recorded."""
        self._pool = pool
        self._keep = timedelta(days=keep_days)
        self.clock = clock
        self._queue: asyncio.Queue[Entry] = asyncio.Queue(capacity)
        self.dropped_count = 0

    def record(self, entry: Entry) -> None:
        """Queue an entry; drop and count it if the queue is full."""
        if not self._keep:
            return
        try:
            self._queue.put_nowait(entry)
        except asyncio.QueueFull:
            self.dropped_count += 1

    async def wait_written(self) -> None:
        """Wait until every queued entry is written or dropped."""
        await self._queue.join()

    async def run(self) -> None:
        """Write queued entries until cancelled; while the database is unavailable they wait in the queue."""
        while True:
            batch = [await self._queue.get()]
            await asyncio.sleep(_GATHER_S)
            while len(batch) < _BATCH and not self._queue.empty():
                batch.append(self._queue.get_nowait())
            try:
                await self._write(batch)
            finally:
                for _ in batch:
                    self._queue.task_done()

    async def sweep(self, *, every_s: float, at_once: int = _TENANTS_A_SWEEP) -> None:
        """Delete expired entries, tenant by tenant, every `every_s` seconds until cancelled; at once while there are more."""
        while True:
            async with installation(self._pool) as connection:
                before = await retention.deletion_time(connection, self.clock()) - self._keep
                tenants = await audit.tenants_with_old(connection, before=before, limit=at_once)
            for tenant_id in tenants:
                await self._sweep_tenant(tenant_id, before)
            if len(tenants) < at_once:
                await asyncio.sleep(every_s)

    async def _sweep_tenant(self, tenant_id: UUID, before: datetime) -> None:
        deleted = 1
        while deleted:
            async with tenant_scoped(self._pool, tenant_id) as connection:
                deleted = await audit.delete_old(connection, tenant_id, before=before)

    async def _write(self, batch: list[Entry]) -> None:
        by_tenant: defaultdict[UUID, list[Entry]] = defaultdict(list)
        for entry in batch:
            by_tenant[entry.tenant_id].append(entry)
        for tenant_id, entries in by_tenant.items():
            await self._write_tenant(tenant_id, entries)

    async def _write_tenant(self, tenant_id: UUID, entries: list[Entry]) -> None:
        while True:
            try:
                async with tenant_scoped(self._pool, tenant_id) as connection:
                    await audit.insert(connection, tenant_id, entries)
                return
            except PASSING:
                log.warning("audit_waits", extra={"count": len(entries)})
            except StoreError as error:
                log.error("audit_dropped", extra={"count": len(entries), "error": type(error).__name__})
                self.dropped_count += len(entries)
                return
            await asyncio.sleep(_PAUSE_S)
