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

from sidecar.context.ports import ContextSource
from sidecar.process.app import running
from sidecar.process.parts import Part
from sidecar.runtime.gc_tuning import calm_collector
from sidecar.runtime.settings import Settings
from sidecar.turn.items import Source

_STOP = "stop"


@dataclass(frozen=True, slots=True)
class Served:
    """A serving process: its address, and the side channel."""

    address: str
    line: Connection

    def cpu_s(self) -> float:
        """Return the processor seconds that the process has used so far."""
        self.line.send("cpu")
        return float(self.line.recv())


@asynccontextmanager
async def served(
    settings: Settings,
    sources: Mapping[Source, ContextSource] | None = None,
    part: Part = Part(),  # noqa: B008  # frozen
) -> AsyncIterator[Served]:
    """Yield a sidecar, or a part of one, serving in another process on the fast event loop.

    Without `sources` it has the built-in ones.
    """
    spawning = multiprocessing.get_context("spawn")
    ours, theirs = spawning.Pipe()
    own = (part.settings(settings), dict(sources) if sources else None, theirs, part)
    process = spawning.Process(target=_serve, args=own, daemon=True)
    process.start()
    theirs.close()
    try:
        yield Served(await asyncio.to_thread(ours.recv), ours)
        ours.send(_STOP)
        await asyncio.to_thread(process.join, 20)
    finally:
        process.kill()


def _serve(settings: Settings, sources: dict[Source, ContextSource] | None, line: Connection, part: Part) -> None:
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_until_stopped(settings, sources, line, part))


async def _until_stopped(
    settings: Settings, sources: dict[Source, ContextSource] | None, line: Connection, part: Part
) -> None:
    async with running(settings, sources=sources, part=part) as app:
        calm_collector()
        line.send(app.addresses[0])
        while await asyncio.to_thread(line.recv) != _STOP:
            usage = resource.getrusage(resource.RUSAGE_SELF)
            line.send(usage.ru_utime + usage.ru_stime)
