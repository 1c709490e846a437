"""Receipts: read, listed, and compared with the provider's token counts. Every method opens its own transaction.

A `reach` limits the owner's turns that an agent sees; None, for an admin, means all.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from models.tokens.calibration import CalibrationSample
from sidecar.context.receipt_writer import ReceiptWriter, is_fresh
from sidecar.context.token_counting import TokenMeters
from sidecar.runtime.errors import NotFound, ReceiptDropped
from sidecar.services.validation import read_int, read_item_ids
from store.accounting import costs, receipts
from store.accounting.receipts import ReportedUsage, StoredReceipt
from store.db.postgres import Pools, scoped
from store.errors import StoreError
from store.scope import Reach, Scope
from store.tenancy import forgotten

log = logging.getLogger(__name__)

_PAUSES_S = (0.05, 0.1, 0.15, 0.3, 0.4)  # a second in all
_MAX_TOKENS = 2**31 - 1
_COUNTS = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")


@dataclass(frozen=True, slots=True)
class LearnedUsage:
    """Our count of a reported turn's input tokens, and the ratio that corrects the model's counts from now on."""

    expected_input_tokens: int
    ratio: float


class Receipts:
    """Reads receipts. `now` returns the time of a report, `receipt_writer` knows the receipts that are still queued, and
    `meters` learn from reports.
    """

    def __init__(
        self, pools: Pools, *, now: Callable[[], datetime], receipt_writer: ReceiptWriter, meters: TokenMeters
    ) -> None:
        self._pools = pools
        self._now = now
        self._receipt_writer = receipt_writer
        self._meters = meters

    async def get(self, scope: Scope, receipt_id: UUID, *, reach: Reach | None) -> StoredReceipt:
        """Return a receipt within reach. Waits for one queued in this process, and at most a second for one of another process.

        Raises ReceiptDropped for a receipt that was never written, NotFound if it is unknown or out of reach.
        """
        # Asked before the first look, so that the second look finds a receipt that is written between the two.
        settling = self._receipt_writer.settling(scope, receipt_id)
        receipt = await self._stored(scope, receipt_id, reach)
        if receipt is None and settling is not None:
            await settling
            receipt = await self._stored(scope, receipt_id, reach)
        elif receipt is None and not self._receipt_writer.was_dropped(scope, receipt_id):
            receipt = await self._written_elsewhere(scope, receipt_id, reach)
        if receipt is not None:
            return receipt
        raise ReceiptDropped if self._receipt_writer.was_dropped(scope, receipt_id) else NotFound("receipt")

    async def page(
        self,
        scope: Scope,
        *,
        thread_id: str = "",
        reach: Reach | None,
        limit: int,
        before: tuple[datetime, UUID] | None = None,
    ) -> list[StoredReceipt]:
        """Return up to `limit` receipts within reach, without their candidates, newest first; only of `thread_id` if set."""
        async with scoped(self._pools.background, scope, read_only=True) as connection:
            return await receipts.page(connection, scope, thread_id=thread_id, limit=limit, before=before, reach=reach)

    async def report_usage(
        self, scope: Scope, receipt_id: UUID, usage: ReportedUsage, *, reach: Reach | None
    ) -> LearnedUsage:
        """Store the provider's counts, and learn from the first report about a receipt. Raises the errors of `get`."""
        read_item_ids("used_item_ids", usage.used_item_ids)
        for name in _COUNTS:
            read_int(name, getattr(usage, name), least=0, most=_MAX_TOKENS)
        receipt = await self.get(scope, receipt_id, reach=reach)
        expected_tokens = _expected_input_tokens(receipt)
        sample = CalibrationSample(expected_tokens, usage.input_tokens, float(receipt.details["tokenizer"]["ratio"]))
        async with scoped(self._pools.background, scope) as connection:
            now = self._now()
            is_first = await receipts.report_usage(connection, scope, receipt_id, usage, now=now)
            await costs.report(connection, scope, receipt_id, usage)
            if is_first:
                await self._meters.learn(connection, scope, receipt.model_id, sample, now=now)
        learned = await self._meters.newest(scope, receipt.model_id)
        return LearnedUsage(expected_tokens, learned.trusted_ratio)

    async def stands(self, scope: Scope, began: datetime) -> bool:
        """Return whether nothing of the owner was forgotten since a turn began; False if unknown."""
        try:
            async with scoped(self._pools.turn, scope, read_only=True) as connection:
                return not await forgotten.anything_since(connection, scope, began)
        except StoreError as error:
            log.warning("kept_answer_not_checked", extra={"error": type(error).__name__})
            return False

    async def _written_elsewhere(self, scope: Scope, receipt_id: UUID, reach: Reach | None) -> StoredReceipt | None:
        """Return a receipt that another process may be about to write; None if it is not written in time."""
        for pause_s in _PAUSES_S if is_fresh(receipt_id, self._now()) else ():
            await asyncio.sleep(pause_s)
            if (receipt := await self._stored(scope, receipt_id, reach)) is not None:
                return receipt
        return None

    async def _stored(self, scope: Scope, receipt_id: UUID, reach: Reach | None) -> StoredReceipt | None:
        async with scoped(self._pools.background, scope, read_only=True) as connection:
            return await receipts.get(connection, scope, receipt_id, reach=reach)


def _expected_input_tokens(receipt: StoredReceipt) -> int:
    """Return the input tokens that we counted for a receipt's turn: system, tools, context and message."""
    pool = receipt.details["pool"]
    return int(sum(pool[term] for term in ("system_tokens", "tool_tokens", "used_tokens", "message_tokens")))
