"""Measures the sidecar's own cost of a turn: the assembler and the answer's message, with sources that answer at once.

Built from the same parts as the service; only the receipt is captured instead of written, so that it can be timed separately,
and no embedder is called.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from typing import Any
from uuid import UUID

from bench import corpus, stand_ins
from bench.calling import AGENT
from bench.databases import own_database
from bench.figures import Figure, at_most, plain, quantile
from models.tokens import encodings
from sidecar.context.assembler import Assembler, Clocks, Lookups, TurnRequest
from sidecar.context.fan_out import FanOut, FanOutQuery, Findings
from sidecar.context.fence_keys import FenceKeys
from sidecar.context.ports import ContextSource
from sidecar.context.profile_cache import ProfileCache
from sidecar.context.query_embedding import QueryReader
from sidecar.context.receipt_writer import ReceiptWriter
from sidecar.context.token_counting import TokenMeters
from sidecar.rpc.messages.assemblies import ALL, Detail, write_response
from sidecar.rpc.transport.admission import AdmissionControl
from sidecar.runtime.gc_tuning import calm_collector
from sidecar.turn.items import Source
from store.accounting.receipts import NewReceipt
from store.db.postgres import Pools, PoolsConfig, installation, open_pools
from store.scope import Scope
from store.tenancy import keys

_COUNTS = {Source.THREAD: 100, Source.KNOWLEDGE: 150, Source.MEMORY: 200, Source.WIKI: 50}
_KNOBS = {"sources": {source.value: {"top_k": count} for source, count in _COUNTS.items()}}
_WARM_ROUNDS = 10
_QUESTION = TurnRequest(
    agent_id=AGENT,
    thread_id=corpus.THREAD,
    space_id="",
    message="What did we say about the ferry and the harbour hotel that I had?",
    client_turn_id="",
    model_id="gpt-4o",
    system=600,
    tools=400,
)


async def measured(rounds: int) -> list[Figure]:
    """Return the figures of a turn's own time."""
    async with own_database() as (_, database):
        pools = await open_pools(database.dsn, PoolsConfig())
        await corpus.put_tenant(pools.background, _KNOBS)
        await asyncio.to_thread(encodings.warm)
        calm_collector()
        known = await _turns_ms(pools, stand_ins.sources(_COUNTS), rounds)
        new = await _turns_ms(pools, _never_seen(rounds // 5 + _WARM_ROUNDS), rounds // 5)
        await pools.close()
    middle = {part: quantile(took, 0.5) for part, took in known.items()}
    return [
        at_most("own time of a turn, p50", middle["own time"], 5, unit=" ms", note="500 candidates, 128k window"),
        at_most("own time of a turn, p95", quantile(known["own time"], 0.95), 15, unit=" ms"),
        *(plain(f"of it {part}, p50", middle[part], unit=" ms") for part in ("asking", "fitting", "the message")),
        plain("the message with all that was decided, p50", middle["whole message"], unit=" ms"),
        plain("behind it the receipt, p50", middle["receipt"], unit=" ms"),
        at_most("own time, 500 texts never seen, p50", quantile(new["own time"], 0.5), 20, unit=" ms"),
    ]


def _never_seen(rounds: int) -> dict[Source, ContextSource]:
    """Return sources whose texts are new: no signature is stored and no token count cached."""
    return {
        source: stand_ins.InTurn(
            [stand_ins.answer(source, count, seed=1000 + place, is_signed=False) for place in range(rounds)]
        )
        for source, count in _COUNTS.items()
    }


async def _turns_ms(pools: Pools, sources: dict[Source, ContextSource], rounds: int) -> dict[str, list[float]]:
    """Return the processor milliseconds of each round by part: all that a caller waits for, its components, the receipt.

    Sources that answer at once never wait, so this is the wall time of an idle machine.
    """
    asking, receipts = _TimedFanOut(sources, clock=time.monotonic), CaughtReceipts()
    assembler = await assembler_of(pools, asking, receipts)
    took: dict[str, list[float]] = {
        name: [] for name in ("own time", "asking", "fitting", "the message", "whole message", "receipt")
    }
    for _ in range(_WARM_ROUNDS + rounds):
        began = time.process_time()
        assembly = await assembler.assemble(_QUESTION, corpus.SCOPE, due_s=time.monotonic() + 5.0)
        assembled = time.process_time()
        write_response(assembly, Detail()).SerializeToString()
        written = time.process_time()
        write_response(assembly, ALL).SerializeToString()
        all_written = time.process_time()
        receipts.make_last()
        ended = time.process_time()
        fitting = assembled - began - asking.took_s
        message = written - assembled
        parts = (written - began, asking.took_s, fitting, message, all_written - written, ended - all_written)
        for name, part in zip(took, parts, strict=True):
            took[name].append(part * 1000)
    return {name: values[_WARM_ROUNDS:] for name, values in took.items()}


async def assembler_of(pools: Pools, fan_out: FanOut, receipt_writer: ReceiptWriter) -> Assembler:
    """Return an assembler of the service's parts, without an embedder, that asks through this fan-out."""
    async with installation(pools.background) as connection:
        fences = FenceKeys(pools.turn, await keys.of(connection, keys.FENCE), clock=time.monotonic)
    return Assembler(
        lookups=Lookups(
            ProfileCache(pools.turn, clock=time.monotonic), TokenMeters(pools.turn, clock=time.monotonic), fences
        ),
        slots=AdmissionControl(
            max_in_flight=1, max_waiting=0, max_wait_s=0, per_tenant_in_flight=1, clock=asyncio.get_running_loop()
        ),
        query_reader=QueryReader(pools.turn, None, clock=time.monotonic),
        fan_out=fan_out,
        receipt_writer=receipt_writer,
        clocks=Clocks(now=partial(datetime.now, UTC), steady_s=time.monotonic),
    )


class _TimedFanOut(FanOut):
    """A fan-out that records its last duration."""

    took_s = 0.0

    async def ask(self, request: FanOutQuery, *conversation: Any, **options: Any) -> Findings:
        began = time.process_time()
        findings = await super().ask(request, *conversation, **options)
        self.took_s = time.process_time() - began
        return findings


class CaughtReceipts(ReceiptWriter):
    """A receipt writer that only keeps the newest receipt's inputs, so that it can be built later."""

    def __init__(self) -> None:
        self._make: Callable[[], NewReceipt] | None = None

    def record(self, scope: Scope, receipt_id: UUID, make: Callable[[], NewReceipt]) -> None:
        self._make = make

    def make_last(self) -> None:
        """Build the newest receipt, as the background writer would."""
        assert self._make is not None, "a turn was assembled before"
        self._make()
