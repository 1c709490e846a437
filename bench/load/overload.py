"""Measures overload: 32 times as many calls as the server has slots, and a flood of the console during turns."""

from __future__ import annotations

import asyncio
import multiprocessing
import socket
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace

import uvloop

from bench import calling, corpus, stand_ins
from bench.calling import Callers, Load
from bench.databases import own_database
from bench.figures import Figure, at_least, at_most, plain, quantile
from bench.load import flooding
from bench.load.loop_held import watching
from bench.serving import served
from sidecar.process.app import running
from sidecar.turn.items import Source
from store.db.postgres import PoolsConfig, open_pools

_COUNTS = {Source.THREAD: 5, Source.KNOWLEDGE: 5, Source.MEMORY: 5, Source.WIKI: 5}
_DELAYS_S = dict.fromkeys(_COUNTS, 0.3)
_KNOBS = {"sources": {source.value: {"deadline_ms": 2000} for source in _COUNTS}}
_ROOM = 8


def run(*, scale: float) -> list[Figure]:
    """Return the figures of overload."""
    seconds = max(2.0, 8.0 * scale)
    figures = uvloop.run(_measured(seconds)) + uvloop.run(_flooded(seconds))
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return figures + pool.submit(_held).result()


async def _flooded(seconds: float) -> list[Figure]:
    """Return the times of turns while the console is flooded, against those without."""
    async with own_database() as (settings, database):
        pools = await open_pools(database.dsn, PoolsConfig())
        await corpus.put_tenant(pools.background, _KNOBS)
        await pools.close()
        console = f"127.0.0.1:{_free_port()}"
        flooded = replace(settings, console_listen=console)
        with Callers(1) as callers:
            async with served(flooded, stand_ins.sources(_COUNTS)) as site:
                requests = calling.turn_requests(["what now?"])
                turns = Load(
                    site.address, calling.ASSEMBLE, requests, calling.metadata(flooded), 1, seconds, pause_s=0.02
                )
                await callers.call(replace(turns, seconds=1.0))
                calm = await callers.call(turns)
                began_s = site.cpu_s()
                stormy, heard = await asyncio.gather(callers.call(turns), flooding.flood(console, seconds + 1))
                used_s = site.cpu_s() - began_s
    ratio = quantile(stormy.answered_s, 0.95) / quantile(calm.answered_s, 0.95)
    counts = ", ".join(f"{many} {status}" for status, many in heard.most_common())
    return [
        at_most("turns' p95 beside a flood of the console ÷ without", ratio, 1.5, note=f"the flood got {counts}"),
        plain("turns' p95 without the flood", quantile(calm.answered_s, 0.95) * 1000, unit=" ms"),
        plain(
            "processor time of the service beside the flood", 100 * used_s / seconds, unit=" %", note="turns included"
        ),
        at_least("turns answered beside the flood", len(stormy.answered_s), 1),
    ]


def _held() -> list[Figure]:
    """Return how long the most expensive fully read requests hold the event loop."""
    return uvloop.run(_holding())


async def _holding() -> list[Figure]:
    async with own_database() as (settings, _):
        with_http = replace(
            settings, console_listen="127.0.0.1:0", http_listen="127.0.0.1:0", http_peer_requests_per_s=0
        )
        async with running(with_http) as app:
            addresses = (app.console_address, app.http_address)
            longest_s = max([await _least_held_s(one, request) for one in addresses for request in flooding.posts(one)])
    return [at_most("event loop held by the dearest HTTP request", longest_s * 1000, 10.0, unit=" ms")]


async def _least_held_s(address: str, request: bytes) -> float:
    """Return how long a request holds the loop: the least of several measurements, to exclude other load."""
    looks = []
    for _ in range(4):
        host, _, port = address.rpartition(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        async with watching() as held:
            await flooding.answer(reader, writer, request)
        writer.close()
        looks.append(held.longest_s)
    return min(looks)


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])


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
                # The flood's process queues its own calls, so only another caller sees how long the server takes.
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
    """Return how long one caller beside the flood waits for refusals; none if the machine is too slow to refuse any."""
    seen = at_least("refused calls beside the flood", len(refused_s), 1)
    if not refused_s:
        return [seen]
    return [
        at_most("refused, p95", quantile(refused_s, 0.95) * 1000, 10.0, unit=" ms", note="one caller beside the flood"),
        plain("refused, p50", quantile(refused_s, 0.5) * 1000, unit=" ms", note="the same"),
        seen,
    ]
