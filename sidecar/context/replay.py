"""Replays stored assemblies under other knobs and compares the results, without calling any source."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from models.tokens.catalog import CATALOG
from models.tokens.meters import Meter, meter_named
from sidecar.context.assembler import Assembly, Clocks
from sidecar.context.fence_keys import FenceKeys
from sidecar.runtime.errors import TextsDropped
from sidecar.turn.fitting.fitting import Fitting, fit
from sidecar.turn.message.reading import MessageReading
from sidecar.turn.profile import merge, parse_layer
from sidecar.turn.receipt import receipt
from sidecar.turn.receipt.difference import Difference, compare
from store.accounting import receipts
from store.accounting.receipts import StoredReceipt
from store.db.postgres import Pool, scoped
from store.scope import Scope
from store.text.texts import hash_named


@dataclass(frozen=True, slots=True)
class ReplayedAssembly:
    """A stored assembly refitted under other knobs, and its difference from the original."""

    assembly: Assembly
    difference: Difference


class AskedMessage(NamedTuple):
    """The user's message of a receipt, and its reading."""

    text: str
    reading: MessageReading | None


class Replayer:
    """Reads the texts that receipts reference and fits them again."""

    def __init__(self, pool: Pool, fences: FenceKeys, clocks: Clocks) -> None:
        self._pool = pool
        self._fences = fences
        self._clocks = clocks

    async def asked(self, scope: Scope, stored: StoredReceipt) -> AskedMessage:
        """Return the user's message of a receipt and its reading; empty and None once their texts have expired."""
        hashes = receipt.asked_hashes(stored.details)
        texts = await self._texts(scope, hashes) if hashes else {}
        message = texts.get(hash_named(stored.details["asked"]["message"]), "")
        return AskedMessage(message, receipt.reading_of(stored.details, texts))

    async def replay(self, scope: Scope, stored: StoredReceipt, overrides: Mapping[str, Any]) -> ReplayedAssembly:
        """Return the assembly refitted with the overrides on top of its own knobs.

        Raises TextsDropped, InvalidKnob, PoolTooSmall.
        """
        details = stored.details
        fence = self._fences.with_key(scope, details["fence_key_id"])
        if fence.key_id != details["fence_key_id"]:
            raise TextsDropped(len(receipt.text_hashes(details)))
        texts = await self._texts(scope, receipt.text_hashes(details))
        fitting = receipt.replay(details, texts, fence_tag=fence.tag)
        knobs = merge(parse_layer(fitting.profile.as_mapping()), parse_layer(overrides))
        # Refitting thousands of candidates would block the event loop.
        return await asyncio.to_thread(_replayed, stored, replace(fitting, profile=knobs))

    async def _texts(self, scope: Scope, hashes: Collection[bytes]) -> dict[bytes, str]:
        async with scoped(self._pool, scope, read_only=True) as connection:
            return await receipts.texts(connection, scope, list(hashes), now=self._clocks.now())


def _replayed(stored: StoredReceipt, fitting: Fitting) -> ReplayedAssembly:
    details = stored.details
    fitted = fit(fitting, _meter(details))
    assembly = Assembly(
        fitted=fitted,
        reports=fitting.reports,
        profile_version=details["profile"]["version"],
        is_degraded=stored.is_degraded,
        model=CATALOG.find(stored.model_id),
    )
    again, _ = receipt.write(receipt.ReceiptInputs("", {}, assembly.profile_version), fitting, fitted)
    return ReplayedAssembly(assembly, compare(details, again))


def _meter(details: Mapping[str, Any]) -> Meter:
    """Return the meter that counted the receipt, with its headroom ratio."""
    tokenizer, pool = details["tokenizer"], details["pool"]
    headroom_ratio = pool["headroom_tokens"] / pool["window_tokens"]
    return meter_named(tokenizer["name"], ratio=tokenizer["ratio"], headroom_ratio=headroom_ratio)
