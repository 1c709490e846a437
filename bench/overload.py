"""What happens when 32 times as many calls come as there is room for."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import uvloop

from bench import calling, corpus, stand_ins
from bench.calling import Callers, Load
from bench.databases import own_database
from bench.figures import Figure, at_least, at_most, plain, quantile
from bench.serving import served
from sidecar.turn.items import Source
from store.postgres import PoolsConfig, open_pools

_COUNTS = {Source.THREAD: 5, Source.KNOWLEDGE: 5, Source.MEMORY: 5, Source.WIKI: 5}
_DELAYS_S = dict.fromkeys(_COUNTS, 0.3)
_KNOBS = {"sources": {source.value: {"deadline_ms": 2000} for source in _COUNTS}}
_ROOM = 8


def run(*, scale: float) -> list[Figure]:
    """Return the figures of overload."""
    return uvloop.run(_measured(max(2.0, 8.0 * scale)))


async def _measured(seconds: float) -> list[Figure]:
    async with own_database() as (settings, database):
        pools = await open_pools(database.dsn, PoolsConfig())
        await corpus.put_tenant(pools.background, _KNOBS)
        await pools.close()
        narrow = replace(settings, max_in_flight=_ROOM, max_in_flight_per_tenant=_ROOM, max_waiting=2)
        with Callers(3) as callers:
            async with served(narrow, stand_ins.sources(_COUNTS, delays_s=_DELAYS_S)) as site:
                requests = calling.turn_requests(["what now?"])
                load = Load(site.address, calling.ASSEMBLE, requests, calling.metadata(narrow), seconds=seconds)
                health = Load(site.address, calling.HEALTH, (calling.empty_request(),), seconds=seconds, pause_s=0.05)
                calm = await callers.call(replace(load, width=_ROOM // 2))
                flood = replace(load, width=32 * _ROOM, pause_after_refusal_s=0.3)
                # The flood's process has a queue of its own; what the server takes, only another caller sees.
                bystander = replace(load, width=1, pause_after_refusal_s=0.02)
                stormy, beside, checked = await asyncio.gather(*map(callers.call, (flood, bystander, health)))
    ratio = quantile(stormy.answered_s, 0.95) / quantile(calm.answered_s, 0.95)
    return [
        at_most("admitted p95 under 32x ÷ unloaded p95", ratio, 1.5, note="sources at 300 ms"),
        *_beside(beside.refused_s),
        plain(
            "refused, p95, as the flood sees it",
            quantile(stormy.refused_s, 0.95) * 1000,
            unit=" ms",
            note="its own queue included",
        ),
        at_least("health checks answered meanwhile", len(checked.answered_s), 1),
        plain(
            "refused calls", len(stormy.refused_s), note=", ".join(f"{n} {code}" for code, n in stormy.refusals.items())
        ),
        plain("answered calls", len(stormy.answered_s)),
    ]


def _beside(refused_s: list[float]) -> list[Figure]:
    """Return how long one caller beside the flood waits for its refusals; a machine too slow to flood refuses it nothing."""
    seen = at_least("refused calls beside the flood", len(refused_s), 1)
    if not refused_s:
        return [seen]
    return [
        at_most("refused, p95", quantile(refused_s, 0.95) * 1000, 10.0, unit=" ms", note="one caller beside the flood"),
        plain("refused, p50", quantile(refused_s, 0.5) * 1000, unit=" ms", note="the same"),
        seen,
    ]
