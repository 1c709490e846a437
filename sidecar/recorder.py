"""Writes receipts behind the answers, in batches. A turn never waits for it: when it falls behind, receipts are dropped and
counted, and the ids of the dropped are remembered so that asking for one says so.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from uuid import UUID

from store import receipts
from store.errors import StoreError
from store.postgres import Pool, installation, scoped, tenant_scoped
from store.receipts import NewReceipt

log = logging.getLogger(__name__)

_BATCH = 64
_REMEMBERED_DROPS = 10_000
_REMEMBERED_TEXTS = 50_000
_FRESH = timedelta(minutes=30)


_Taken = tuple[UUID, Callable[[], NewReceipt]]


class Recorder:
    """The queue before the receipts table, and the task that empties it."""

    def __init__(self, pool: Pool, *, capacity: int, keep_texts_days: int, clock: Callable[[], datetime]) -> None:
        self._pool = pool
        self._queue: asyncio.Queue[_Taken] = asyncio.Queue(capacity)
        self._keep_texts = timedelta(days=keep_texts_days)
        self._clock = clock
        self._dropped: OrderedDict[UUID, None] = OrderedDict()
        self._kept_texts: OrderedDict[tuple[UUID, bytes], datetime] = OrderedDict()
        self.dropped_count = 0

    def record(self, receipt_id: UUID, make: Callable[[], NewReceipt]) -> None:
        """Take a receipt to write, as the function that makes it; drop it when the queue is full."""
        try:
            self._queue.put_nowait((receipt_id, make))
        except asyncio.QueueFull:
            self._drop(receipt_id)

    def was_dropped(self, receipt_id: UUID) -> bool:
        """Return whether this receipt was dropped, as far as this process remembers (10,000 receipts)."""
        return receipt_id in self._dropped

    async def wait_written(self) -> None:
        """Wait until everything taken so far is written or dropped."""
        await self._queue.join()

    async def run(self) -> None:
        """Write what is taken, until cancelled."""
        while True:
            batch = [await self._queue.get()]
            while len(batch) < _BATCH and not self._queue.empty():
                batch.append(self._queue.get_nowait())
            is_settled = False
            try:
                await self._write([make() for _, make in batch])
                is_settled = True
            finally:
                for receipt_id, _ in batch:
                    self._queue.task_done()
                    if not is_settled:
                        self._drop(receipt_id)

    async def _write(self, batch: Sequence[NewReceipt]) -> None:
        by_scope = defaultdict(list)
        for receipt in batch:
            by_scope[receipt.scope].append(receipt)
        for scope, group in by_scope.items():
            try:
                await self._write_texts(scope.tenant_id, group)
                async with scoped(self._pool, scope) as connection:
                    await receipts.insert(connection, group)
            except StoreError as error:
                log.warning("receipts_dropped", extra={"count": len(group), "error": type(error).__name__})
                for receipt in group:
                    self._drop(receipt.receipt_id)

    async def _write_texts(self, tenant_id: UUID, group: Sequence[NewReceipt]) -> None:
        now = self._clock()
        texts = {
            text_hash: text
            for receipt in group
            for text_hash, text in receipt.texts.items()
            if now - self._kept_texts.get((tenant_id, text_hash), now - 2 * _FRESH) > _FRESH
        }
        if texts:
            async with tenant_scoped(self._pool, tenant_id) as connection:
                await receipts.keep_texts(connection, tenant_id, texts, until=now + self._keep_texts)
        for text_hash in texts:
            self._kept_texts[tenant_id, text_hash] = now
        while len(self._kept_texts) > _REMEMBERED_TEXTS:
            self._kept_texts.popitem(last=False)

    def _drop(self, receipt_id: UUID) -> None:
        self.dropped_count += 1
        self._dropped[receipt_id] = None
        while len(self._dropped) > _REMEMBERED_DROPS:
            self._dropped.popitem(last=False)


async def sweep_texts(pool: Pool, *, clock: Callable[[], datetime], every_s: float) -> None:
    """Delete receipt texts past their day, tenant by tenant, again and again until cancelled."""
    while True:
        now = clock()
        async with installation(pool) as connection:
            tenants = await receipts.tenants_with_expired_texts(connection, now=now, limit=1000)
        for tenant_id in tenants:
            async with tenant_scoped(pool, tenant_id) as connection:
                await receipts.delete_expired_texts(connection, tenant_id, now=now)
        await asyncio.sleep(every_s)
