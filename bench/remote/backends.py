"""Measures turns over slow backends with a realistic tail of latency: with and without hedging, and with repeated questions.

The adapters are the real ones, with their SDKs, limits, retries, hedges and breakers; the services run in another process. The
cost of the SDK's transport is measured in `transports`.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from uuid import UUID

import uvloop

from bench.figures import Figure, at_least, at_most, plain, quantile
from bench.remote import slow_services
from bench.remote.slow_services import Pace
from sidecar.backends.agentcore import AgentCoreMemory, MemoryLocation
from sidecar.backends.aws import Clients, Where
from sidecar.backends.backend_caller import CallLimits
from sidecar.backends.bedrock_knowledge import BedrockBase, BedrockKnowledge
from sidecar.backends.hindsight import Banks, Hindsight
from sidecar.context.fan_out import FanOut, Findings
from sidecar.context.fan_out import FanOutQuery as Question
from sidecar.context.ports import SourceQuery
from sidecar.sources.agentcore_memory import AgentCoreMemorySource
from sidecar.sources.bedrock_knowledge import BedrockKnowledgeSource
from sidecar.sources.composite import NamedSource, SideBySide
from sidecar.sources.hindsight import HindsightSource
from sidecar.turn.items import Source, Status
from sidecar.turn.profile import merge, parse_layer
from store.scope import Scope

SCOPE = Scope(UUID(int=1), UUID(int=2))
SOURCES = (Source.KNOWLEDGE, Source.MEMORY)
DEADLINE_MS = 1500
WARM_TURNS = 40
AT_ONCE = 20
PACE = Pace(median_s=0.45, throttled=0.02)
NAMESPACE = f"/actors/{SCOPE.owner_id}"


class AllOn:
    """A policy under which no backend is switched off."""

    async def switched_off(self, tenant_id: UUID) -> frozenset[str]:
        """Return none."""
        return frozenset()


@dataclass(frozen=True, slots=True)
class TurnTimes:
    """Results of turns: the seconds of each, the share of sources that answered in full, and the share with any answer.

    Any answer includes a cached one, at most a minute old, in place of one that failed or is late.
    """

    seconds: Sequence[float]
    whole: float
    any_answer: float

    def ms(self, share: float) -> float:
        """Return a percentile of the turns' times, nearest rank."""
        return quantile(list(self.seconds), share) * 1000


def run(*, scale: float) -> list[Figure]:
    """Return the figures of turns over slow backends."""
    turns = max(40, round(400 * scale))
    unhedged = uvloop.run(_measured(turns, may_hedge=False))
    hedged = uvloop.run(_measured(turns, may_hedge=True))
    repeated = uvloop.run(_measured(turns, may_hedge=False, questions=20))
    note = f"three backends over HTTP, p50 450 ms, tail 3 s, 2 % throttled, {AT_ONCE} turns at once"
    return [
        at_most("turn p99 ÷ its deadline", unhedged.ms(0.99) / DEADLINE_MS, 1.02, note=note),
        at_most("turn p99 ÷ its deadline, hedged", hedged.ms(0.99) / DEADLINE_MS, 1.02),
        plain("turn p50", unhedged.ms(0.5), unit=" ms"),
        plain("turn p50, hedged", hedged.ms(0.5), unit=" ms"),
        plain("turn p95", unhedged.ms(0.95), unit=" ms"),
        plain("turn p95, hedged", hedged.ms(0.95), unit=" ms"),
        plain("sources whole in time", unhedged.whole * 100, unit=" %"),
        at_least("sources whole in time, hedged ÷ not", hedged.whole / unhedged.whole, 1.0),
        plain("sources with an answer, 20 questions again and again", repeated.any_answer * 100, unit=" %"),
        plain("the same without kept answers", repeated.whole * 100, unit=" %", note="kept ones are marked stale"),
    ]


async def _measured(turns: int, *, may_hedge: bool, questions: int = 0) -> TurnTimes:
    async with slow_services.answering(PACE, NAMESPACE) as url, _placed(url, may_hedge=may_hedge) as sources:
        fan_out = FanOut(sources, clock=time.monotonic)
        one_turn = partial(_turn, fan_out, asyncio.Semaphore(AT_ONCE))
        await asyncio.gather(*(one_turn(f"warm {number}") for number in range(WARM_TURNS)))
        texts = [f"question {number % questions if questions else number}" for number in range(turns)]
        took = await asyncio.gather(*(one_turn(text) for text in texts))
    reports = [report for _, found in took for report in found.reports if report.source in SOURCES]
    whole = sum(report.status is Status.OK and not report.is_partial for report in reports)
    any_answer = sum(report.status in {Status.OK, Status.STALE} for report in reports)
    return TurnTimes([seconds for seconds, _ in took], whole / len(reports), any_answer / len(reports))


@asynccontextmanager
async def _placed(url: str, *, may_hedge: bool) -> AsyncIterator[Mapping[Source, SideBySide]]:
    """Yield a knowledge base and two memory services side by side at the address."""
    os.environ |= {"AWS_ACCESS_KEY_ID": "AKIAEXAMPLE", "AWS_SECRET_ACCESS_KEY": "secret"}
    where, clients = Where("eu-central-1", url), Clients()
    bounds = CallLimits(deadline_s=2.0, concurrency=3 * AT_ONCE, may_hedge=may_hedge)
    base = BedrockKnowledge("base", BedrockBase("ABCDEFGHIJ", where, kind="classic"), clients, bounds)
    records = AgentCoreMemory("records", MemoryLocation("bench_memory-ABCDEFGHIJ", NAMESPACE, where), clients, bounds)
    bank = Hindsight("bank", Banks(url), bounds)
    knowledge = [NamedSource("base", BedrockKnowledgeSource(base, frozenset({"template:default"})))]
    memories = [NamedSource("records", AgentCoreMemorySource(records)), NamedSource("bank", HindsightSource(bank))]
    placed = {Source.KNOWLEDGE: knowledge, Source.MEMORY: memories}
    yield {source: SideBySide(None, {SCOPE.tenant_id: places}, AllOn()) for source, places in placed.items()}
    await bank.close()
    clients.close()


async def _turn(fan_out: FanOut, gate: asyncio.Semaphore, text: str) -> tuple[float, Findings]:
    knobs = {source.value: {"deadline_ms": DEADLINE_MS} for source in SOURCES}
    profile = merge(parse_layer({"sources": knobs}))
    query = SourceQuery(text, tuple(text.split()), "t", "a", "default", "", "", datetime.now(UTC))
    async with gate:
        began_s = time.monotonic()
        found = await fan_out.ask(Question(query, SCOPE, profile, "bench", 1000, began_s + 60))
        return time.monotonic() - began_s, found
