"""Stubbed turns per second with one and with two processes, over four channels: balanced, as the kernel splits them, and all on
one.

Balanced channels go to the processes' unix sockets, two to each; the kernel splits those to a shared port by a hash of the
connection. Each channel has a process of callers. On two cores, callers and Postgres take processor time from the servers: the
most that two processes can reach is computed from these shares and printed beside the ratio.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

import uvloop

from bench import calling, corpus, processor, stand_ins
from bench.calling import Callers, Load
from bench.databases import own_database
from bench.figures import Figure, at_least, plain
from bench.serving import Served, served
from sidecar.process.parts import Part
from sidecar.runtime.settings import Settings
from sidecar.turn.items import Source
from store.db.postgres import PoolsConfig, open_pools

_ITEMS = {Source.THREAD: 10, Source.KNOWLEDGE: 10, Source.MEMORY: 20, Source.WIKI: 10}
_CHANNELS = 4
_WIDTH = 4  # calls at once on a channel
_ROUNDS = 5


def run(*, scale: float) -> list[Figure]:
    """Return the figures."""
    return uvloop.run(_measured(max(1.0, 4.0 * scale)))


@dataclass(frozen=True, slots=True)
class _Heard:
    """Turns a second over all channels, and the processor seconds of a turn: the servers', and those of callers and Postgres."""

    per_s: float
    cpu_s: float
    others_s: float


async def _measured(seconds: float) -> list[Figure]:
    async with own_database() as (settings, database), AsyncExitStack() as stack:
        pools = await open_pools(database.dsn, PoolsConfig())
        await corpus.put_tenant(pools.background)
        await pools.close()
        port = stack.enter_context(_held_port()).getsockname()[1]
        shared = replace(settings, listen=(*settings.listen, f"127.0.0.1:{port}"))
        sources = stand_ins.sources(_ITEMS)
        one = await stack.enter_async_context(served(_alone(settings), sources))
        both = [await stack.enter_async_context(served(shared, sources, Part(name))) for name in ("1", "2")]
        callers = stack.enter_context(Callers(_CHANNELS))
        load = Load("", calling.ASSEMBLE, calling.turn_requests(["what now?"]), calling.metadata(settings), _WIDTH)
        places = {
            "one": ([one], [one.address] * _CHANNELS),
            "balanced": (both, [process.address for process in both] * (_CHANNELS // 2)),
            "kernel": (both, [f"127.0.0.1:{port}"] * _CHANNELS),
            "unlucky": (both, [both[0].address] * _CHANNELS),
        }
        rounds: dict[str, list[_Heard]] = {name: [] for name in places}
        for number in range(_ROUNDS + 1):
            for name, (processes, addresses) in places.items():
                place = settings.data_dir.parent, processes
                heard = await _called(callers, replace(load, seconds=seconds), place, addresses)
                rounds[name] += [heard] if number else []  # the first warms
    return _figures(rounds)


def _alone(settings: Settings) -> Settings:
    return replace(settings, listen=(f"{settings.listen[0]}.alone",))


def _held_port() -> socket.socket:
    """Return a bound socket, which lets others share its port."""
    held = socket.socket()
    held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    held.bind(("127.0.0.1", 0))
    return held


async def _called(
    callers: Callers, load: Load, place: tuple[Path, Sequence[Served]], addresses: Sequence[str]
) -> _Heard:
    """Call the addresses of some processes, whose Postgres has its files at `place`."""
    files, processes = place
    before_s, postgres_before = sum(process.cpu_s() for process in processes), processor.spent(files)
    heard = await asyncio.gather(*(callers.call(replace(load, address=address)) for address in addresses))
    cpu_s = sum(process.cpu_s() for process in processes) - before_s
    others_s = processor.spent(files).since(postgres_before).server_s + sum(one.cpu_s for one in heard)
    turns = max(1, sum(len(one.answered_s) for one in heard))
    return _Heard(sum(one.complete_per_s for one in heard), cpu_s / turns, others_s / turns)


def _figures(rounds: dict[str, list[_Heard]]) -> list[Figure]:
    def ratios(name: str) -> list[float]:
        return [each.per_s / one.per_s for each, one in zip(rounds[name], rounds["one"], strict=True)]

    cpu = median(each.cpu_s / one.cpu_s for each, one in zip(rounds["balanced"], rounds["one"], strict=True))
    most = median(
        2 * one.cpu_s / (each.cpu_s + each.others_s)
        for each, one in zip(rounds["balanced"], rounds["one"], strict=True)
    )
    return [
        plain("turns/s of one process", median(one.per_s for one in rounds["one"])),
        plain("turns/s of two", median(one.per_s for one in rounds["balanced"])),
        at_least(
            "two processes ÷ one, four balanced channels",
            median(ratios("balanced")),
            1.8,
            note=f"{sum(_ITEMS.values())} candidates; {_CHANNELS} caller processes on the same cores",
        ),
        plain("the most that two cores allow, with callers and Postgres on them", most, note="by processor time"),
        plain("the ratio, channels split by the kernel", median(ratios("kernel"))),
        plain("the same, the least of the rounds", min(ratios("kernel"))),
        plain("the same, all channels on one process", median(ratios("unlucky"))),
        plain("processor time of a turn, two processes ÷ one", cpu),
    ]
