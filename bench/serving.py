"""A sidecar in a process of its own, as `sidecar serve` runs it, with a side channel for the benchmark."""

from __future__ import annotations

import asyncio
import multiprocessing
import resource
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection

import uvloop

from bench.parts import PartTimes
from sidecar.context.ports import ContextSource
from sidecar.process.app import running
from sidecar.process.parts import Part
from sidecar.runtime.gc_tuning import calm_collector
from sidecar.runtime.settings import Settings
from sidecar.turn.items import Source

_CPU, _PARTS, _STOP = "cpu", "parts", "stop"


@dataclass(frozen=True, slots=True)
class Served:
    """A serving process: its address, and the side channel."""

    address: str
    line: Connection

    def cpu_s(self) -> float:
        """Return the processor seconds that the process has used so far."""
        self.line.send(_CPU)
        return float(self.line.recv())

    def parts_s(self) -> dict[str, float]:
        """Return the processor seconds of each part of the turns since the last call; empty if parts are not timed."""
        self.line.send(_PARTS)
        spent: dict[str, float] = self.line.recv()
        return spent


@asynccontextmanager
async def served(
    settings: Settings,
    sources: Mapping[Source, ContextSource] | None = None,
    part: Part = Part(),  # noqa: B008  # frozen
    *,
    times_parts: bool = False,
) -> AsyncIterator[Served]:
    """Yield a sidecar, or a part of one, serving in another process on the fast event loop.

    Without `sources` it has the built-in ones. With `times_parts` it times the parts of each turn, which costs some hundredths of
    a turn itself.
    """
    spawning = multiprocessing.get_context("spawn")
    ours, theirs = spawning.Pipe()
    own = (part.settings(settings), dict(sources) if sources else None, theirs, part, times_parts)
    process = spawning.Process(target=_serve, args=own, daemon=True)
    process.start()
    theirs.close()
    try:
        yield Served(await asyncio.to_thread(ours.recv), ours)
        ours.send(_STOP)
        await asyncio.to_thread(process.join, 20)
    finally:
        process.kill()


def _serve(
    settings: Settings,
    sources: dict[Source, ContextSource] | None,
    line: Connection,
    part: Part,
    times_parts: bool,
) -> None:
    times = PartTimes() if times_parts else None
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_until_stopped(settings, sources, line, part, times))


async def _until_stopped(
    settings: Settings,
    sources: dict[Source, ContextSource] | None,
    line: Connection,
    part: Part,
    times: PartTimes | None,
) -> None:
    async with running(settings, sources=sources, part=part) as app:
        calm_collector()
        line.send(app.addresses[0])
        while (command := await asyncio.to_thread(line.recv)) != _STOP:
            usage = resource.getrusage(resource.RUSAGE_SELF)
            line.send(usage.ru_utime + usage.ru_stime if command == _CPU else times.taken() if times else {})
