"""How turns fare when what they ask is slow: backends with a realistic tail, with and without hedging, and asked twice the same.

The backends are stand-ins that wait; what cares for them (lanes, retries, hedges, breaker, deadline) is the real thing.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from uuid import UUID

import uvloop

from bench.figures import Figure, at_most, plain
from sidecar.backends.asking import Asking, Bounds
from sidecar.backends.errors import BackendThrottled
from sidecar.inquiry import Asking as Question
from sidecar.inquiry import Findings, Inquiry
from sidecar.sources import Answer, Limits, Query
from sidecar.sources.beside import Place, SideBySide
from sidecar.turn.items import Item, Ref, Source, Status
from sidecar.turn.profile import merge, parse_layer
from store.scope import Scope

SCOPE = Scope(UUID(int=1), UUID(int=2))
SOURCES = (Source.KNOWLEDGE, Source.MEMORY, Source.TOOLS)
DEADLINE_MS = 1500
WARM_TURNS = 40
AT_ONCE = 20
_MEDIAN_S, _SPREAD, _LONGEST_S = 0.45, 0.55, 3.0
_THROTTLED = 0.02


@dataclass(frozen=True, slots=True)
class Slow:
    """A backend that takes its time: half of its answers come within 450 ms, one in fifty is refused."""

    source: Source
    asking: Asking
    chance: random.Random

    async def find(self, query: Query, scope: Scope, limits: Limits) -> Answer:
        """Return one item, some time."""
        return await self.asking.ask(self._attempt)

    async def _attempt(self) -> Answer:
        wait_s = min(_LONGEST_S, self.chance.lognormvariate(0.0, _SPREAD) * _MEDIAN_S)
        if self.chance.random() < _THROTTLED:
            await asyncio.sleep(0.02)
            raise BackendThrottled(self.asking.name, "ThrottlingException")
        await asyncio.sleep(wait_s)
        item = Item("x", self.source, "A text.", 0, 0.5, provenance=(Ref("backend", "bench"),))
        return Answer((item,))


class AllOn:
    """Nothing is switched off."""

    async def switched_off(self, tenant_id: UUID) -> frozenset[str]:
        """Return none."""
        return frozenset()


@dataclass(frozen=True, slots=True)
class Fared:
    """How turns fared: seconds each took, and how many of their sources answered, freshly or at all."""

    seconds: Sequence[float]
    fresh: float
    any_answer: float

    def percentile_ms(self, share: float) -> float:
        """Return a percentile of the turns' times, nearest rank."""
        ordered = sorted(self.seconds)
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))] * 1000


def run(*, scale: float) -> list[Figure]:
    """Return the figures of turns over slow backends."""
    turns = max(40, round(400 * scale))
    plainly = uvloop.run(_fared(turns, may_hedge=False))
    hedged = uvloop.run(_fared(turns, may_hedge=True))
    repeated = uvloop.run(_fared(turns, may_hedge=False, questions=20))
    note = f"three backends, p50 450 ms, tail 3 s, 2 % throttled, {AT_ONCE} turns at once"
    return [
        at_most("turn p99 ÷ its deadline", plainly.percentile_ms(0.99) / DEADLINE_MS, 1.02, note=note),
        at_most("turn p99 ÷ its deadline, hedged", hedged.percentile_ms(0.99) / DEADLINE_MS, 1.02),
        plain("turn p50", plainly.percentile_ms(0.5), unit=" ms"),
        plain("turn p50, hedged", hedged.percentile_ms(0.5), unit=" ms"),
        plain("turn p95", plainly.percentile_ms(0.95), unit=" ms"),
        plain("turn p95, hedged", hedged.percentile_ms(0.95), unit=" ms"),
        plain("sources that answered in time", plainly.fresh * 100, unit=" %"),
        plain("sources that answered in time, hedged", hedged.fresh * 100, unit=" %"),
        plain("sources with an answer, 20 questions again and again", repeated.any_answer * 100, unit=" %"),
        plain(
            "the same, fresh ones alone",
            repeated.fresh * 100,
            unit=" %",
            note="what the answers of the last minute add",
        ),
    ]


async def _fared(turns: int, *, may_hedge: bool, questions: int = 0) -> Fared:
    chance = random.Random(7)
    bounds = Bounds(deadline_s=10.0, concurrency=256, may_hedge=may_hedge)
    slow = [Slow(source, Asking(source.value, bounds), chance) for source in SOURCES]
    places: Mapping[Source, SideBySide] = {
        one.source: SideBySide(None, {SCOPE.tenant_id: [Place(one.asking.name, one)]}, AllOn()) for one in slow
    }
    inquiry = Inquiry(places, clock=time.monotonic)
    gate = asyncio.Semaphore(AT_ONCE)
    one_turn = partial(_turn, inquiry, gate)
    await asyncio.gather(*(one_turn(f"warm {number}") for number in range(WARM_TURNS)))
    asked = [f"question {number % questions if questions else number}" for number in range(turns)]
    took = await asyncio.gather(*(one_turn(text) for text in asked))
    statuses = [report.status for _, found in took for report in found.reports if report.source in SOURCES]
    fresh = sum(status is Status.OK for status in statuses) / len(statuses)
    any_answer = sum(status in {Status.OK, Status.STALE} for status in statuses) / len(statuses)
    return Fared([seconds for seconds, _ in took], fresh, any_answer)


async def _turn(inquiry: Inquiry, gate: asyncio.Semaphore, text: str) -> tuple[float, Findings]:
    knobs = {source.value: {"deadline_ms": DEADLINE_MS} for source in SOURCES}
    profile = merge(parse_layer({"sources": knobs}))
    query = Query(text, tuple(text.split()), "t", "a", "default", "", "", datetime.now(UTC))
    async with gate:
        began_s = time.monotonic()
        found = await inquiry.ask(Question(query, SCOPE, profile, "bench", 1000, began_s + 60))
        return time.monotonic() - began_s, found
