"""Writes receipts in batches, after the responses, so that a turn never waits for them.

When the queue is full, receipts are dropped and counted, and their ids are kept so that a read can report it. While the
database is unavailable, receipts wait in the queue.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections import OrderedDict, defaultdict
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime, timedelta
from uuid import UUID

from sidecar.telemetry import calls
from sidecar.telemetry.calls import CallTrace
from store.accounting import costs, receipts, retention
from store.accounting.receipts import NewReceipt
from store.db.postgres import Pool, installation, scoped
from store.errors import PASSING, ConstraintViolated, StoreError, UnstorableValue
from store.scope import Scope
from store.tenancy import forgotten

log = logging.getLogger(__name__)

_BATCH = 32
_GATHER_S = 0.05  # a batch costs three round trips, independent of its size
_REMEMBERED_DROPS = 10_000
_OWNERS_A_SWEEP = 1_000
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.05, 1.0

_FRESH_MS = 10_000  # covers a call right after its turn, and clock skew
_TIME = 2**48 - 1

_Key = tuple[Scope, UUID]
OnReceipt = Callable[[NewReceipt, CallTrace | None], None]


def new_receipt_id(now: datetime) -> UUID:
    """Return a random UUID of version 7, which begins with its time in milliseconds."""
    milliseconds = int(now.timestamp() * 1000)
    return UUID(
        int=(milliseconds & _TIME) << 80 | 7 << 76 | secrets.randbits(12) << 64 | 2 << 62 | secrets.randbits(62)
    )


def is_fresh(receipt_id: UUID, now: datetime) -> bool:
    """Return whether an id was made within ten seconds of now, so that another process may still be writing its receipt."""
    return receipt_id.version == 7 and abs((receipt_id.int >> 80) - int(now.timestamp() * 1000)) <= _FRESH_MS


def _ignore(receipt: NewReceipt, call: CallTrace | None) -> None:
    """Do nothing."""


class ReceiptWriter:
    """The queue in front of the receipts table, and the task that drains it."""

    def __init__(
        self,
        pool: Pool,
        *,
        capacity: int,
        keep_texts_days: int,
        clock: Callable[[], datetime],
        on_receipt: OnReceipt = _ignore,
    ) -> None:
        """Write to the pool. `on_receipt` is called with each receipt and the call that made it."""
        self._pool = pool
        self._on_receipt = on_receipt
        self._queue: asyncio.Queue[tuple[_Key, Callable[[], NewReceipt]]] = asyncio.Queue(capacity)
        self._pending: dict[_Key, asyncio.Future[None]] = {}
        self._keep_texts = timedelta(days=keep_texts_days)
        self._clock = clock
        self._dropped: OrderedDict[_Key, None] = OrderedDict()
        self.dropped_count = 0

    def record(self, scope: Scope, receipt_id: UUID, make: Callable[[], NewReceipt]) -> None:
        """Queue a receipt, given as a function that makes it; drop it if the queue is full."""
        key = (scope, receipt_id)
        call = calls.current()

        def make_and_notify() -> NewReceipt:
            receipt = make()
            self._on_receipt(receipt, call)
            return receipt

        try:
            self._queue.put_nowait((key, make_and_notify))
        except asyncio.QueueFull:
            self._drop(key)
        else:
            self._pending[key] = asyncio.get_running_loop().create_future()
            if call is not None:
                call.has_receipt = True

    def was_dropped(self, scope: Scope, receipt_id: UUID) -> bool:
        """Return whether this receipt is among the last 10,000 that this process dropped."""
        return (scope, receipt_id) in self._dropped

    def settling(self, scope: Scope, receipt_id: UUID) -> Awaitable[None] | None:
        """Return an awaitable that completes when the receipt is written or dropped; None if it is not queued."""
        settled = self._pending.get((scope, receipt_id))
        return None if settled is None else asyncio.shield(settled)

    async def wait_written(self) -> None:
        """Wait until every queued receipt is written or dropped."""
        await self._queue.join()

    async def run(self) -> None:
        """Write queued receipts until cancelled."""
        while True:
            batch = [await self._queue.get()]
            is_settled = False
            try:
                if self._queue.qsize() < _BATCH:
                    await asyncio.sleep(_GATHER_S)
                while len(batch) < _BATCH and not self._queue.empty():
                    batch.append(self._queue.get_nowait())
                made = [await self._made(key, make) for key, make in batch]
                await self._write([receipt for receipt in made if receipt is not None])
                is_settled = True
            finally:
                for key, _ in batch:
                    self._queue.task_done()
                    if not is_settled:
                        self._drop(key)
                    self._pending.pop(key).set_result(None)

    async def _made(self, key: _Key, make: Callable[[], NewReceipt]) -> NewReceipt | None:
        """Return the receipt, or None if it cannot be made. Then yield to the loop, since making a receipt takes milliseconds."""
        try:
            return make()
        except Exception as error:  # drop this receipt, not the batch
            log.error("receipt_not_made", extra={"error": type(error).__name__}, exc_info=error)
            self._drop(key)
            return None
        finally:
            await asyncio.sleep(0)

    async def _write(self, batch: Sequence[NewReceipt]) -> None:
        by_scope = defaultdict(list)
        for receipt in batch:
            by_scope[receipt.scope].append(receipt)
        for scope, group in by_scope.items():
            try:
                await self._write_group(scope, group)
            except (UnstorableValue, ConstraintViolated):
                for receipt in group:  # only the faulty ones are dropped
                    await self._write_or_drop(scope, [receipt])
            except StoreError as error:
                self._drop_group(scope, group, error)

    async def _write_or_drop(self, scope: Scope, group: Sequence[NewReceipt]) -> None:
        try:
            await self._write_group(scope, group)
        except StoreError as error:
            self._drop_group(scope, group, error)

    def _drop_group(self, scope: Scope, group: Sequence[NewReceipt], error: StoreError) -> None:
        log.warning("receipts_dropped", extra={"count": len(group), "error": type(error).__name__})
        for receipt in group:
            self._drop((scope, receipt.receipt_id))

    async def _write_group(self, scope: Scope, group: Sequence[NewReceipt]) -> None:
        """Write one owner's receipts, retrying while the database is unavailable or slow; the queue then fills and drops."""
        pause_s = _FIRST_PAUSE_S
        while True:
            try:
                await self._insert(scope, group)
                return
            except PASSING as error:
                log.warning("receipts_wait", extra={"count": len(group), "error": type(error).__name__})
            await asyncio.sleep(pause_s)
            pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)

    async def _insert(self, scope: Scope, group: Sequence[NewReceipt]) -> None:
        async with scoped(self._pool, scope) as connection:
            kept = await forgotten.admit(connection, scope, group, clock=self._clock)
            texts = {text_hash: text for receipt in kept for text_hash, text in receipt.texts.items()}
            if texts:
                await receipts.keep_texts(connection, scope, texts, until=self._clock() + self._keep_texts)
            if kept:
                await receipts.insert(connection, kept)
                await costs.add(connection, scope, kept)
        self._drop_forgotten(scope, group, kept)

    def _drop_forgotten(self, scope: Scope, group: Sequence[NewReceipt], kept: Sequence[NewReceipt]) -> None:
        """Drop the receipts of turns that were running when their owner was forgotten."""
        kept_ids = {receipt.receipt_id for receipt in kept}
        for receipt in group:
            if receipt.receipt_id not in kept_ids:
                self._drop((scope, receipt.receipt_id))
        if len(kept) < len(group):
            log.info("receipts_of_forgotten_owner_dropped", extra={"count": len(group) - len(kept)})

    def _drop(self, key: _Key) -> None:
        self.dropped_count += 1
        self._dropped[key] = None
        while len(self._dropped) > _REMEMBERED_DROPS:
            self._dropped.popitem(last=False)


async def sweep_texts(pool: Pool, *, clock: Callable[[], datetime], every_s: float) -> None:
    """Delete expired receipt texts, owner by owner, every `every_s` seconds until cancelled."""
    while True:
        async with installation(pool) as connection:
            now = await retention.deletion_time(connection, clock())
            owners = await receipts.owners_with_expired_texts(connection, now=now, limit=_OWNERS_A_SWEEP)
        for scope in owners:
            await _sweep_owner(pool, scope, now)
        if len(owners) < _OWNERS_A_SWEEP:
            await asyncio.sleep(every_s)


async def _sweep_owner(pool: Pool, scope: Scope, now: datetime) -> None:
    deleted = 1
    while deleted:
        async with scoped(pool, scope) as connection:
            deleted = await receipts.delete_expired_texts(connection, scope, now=now)
