"""Measures the time until turns are complete again after the database of a served sidecar is killed, on a busy machine."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from statistics import mean

import asyncpg
import grpc
import uvloop

from bench import calling
from bench.figures import Figure, at_least, at_most, plain, quantile
from sidecar.runtime.settings import Settings
from sidecar.v1 import context_pb2 as pb
from sidecar.v1 import memory_pb2
from store.embedded import postmaster
from store.embedded.layout import Layout

_KILLS = 30
_TURNS_AT_ONCE = 3
_PAUSE_S = 0.05
_CALM_S = 2.0
_PATIENCE_S = 300.0
_EAGER = [("grpc.initial_reconnect_backoff_ms", 100), ("grpc.max_reconnect_backoff_ms", 500)]
_APPEND = "/sidecar.v1.ContextService/AppendTurns"
_RETAIN = "/sidecar.v1.MemoryService/Retain"
_THREAD = "harbour"


@dataclass(slots=True)
class _Seen:
    """The times at which writes were sent and answered, and at which turns were answered whole, and in part or not at all."""

    writes: list[tuple[float, float]] = field(default_factory=list)
    whole: list[float] = field(default_factory=list)
    partial: list[float] = field(default_factory=list)

    def partial_share(self, since: float, until: float) -> float:
        """Return the share of the turns between two moments that were not whole."""
        whole, partial = (sum(since < at < until for at in some) for some in (self.whole, self.partial))
        return partial / max(1, whole + partial)


@dataclass(frozen=True, slots=True)
class _Recovery:
    """Seconds after a kill without a write, and from the first write to the first whole turn; turns in part around it."""

    outage_s: float
    first_whole_s: float
    partial_before: float
    partial_after: float


def run(*, scale: float) -> list[Figure]:
    """Return the figures; a scale of 1 kills thirty times, postmaster and backends in turn."""
    kills = max(2, round(_KILLS * scale))
    with _busy(2 * (os.cpu_count() or 1)):
        recoveries = uvloop.run(_measured(kills))
    first = [one.first_whole_s for one in recoveries]
    outages = [one.outage_s for one in recoveries]
    return [
        at_least("kills recovered from", len(recoveries), kills),
        at_most("first write to first whole turn, p95", quantile(first, 0.95), 3.0, unit=" s"),
        plain("the same, p50", quantile(first, 0.5), unit=" s"),
        plain("the same, longest", max(first), unit=" s"),
        plain("kill to first write, p50", quantile(outages, 0.5), unit=" s"),
        plain("kill to first write, longest", max(outages), unit=" s"),
        plain("turns in part before a kill", mean(one.partial_before for one in recoveries)),
        plain("turns in part after the first whole one", mean(one.partial_after for one in recoveries)),
        plain("load of the machine, a minute's mean", os.getloadavg()[0]),
    ]


async def _measured(kills: int) -> list[_Recovery]:
    # Straight under /tmp: the account that Postgres runs as may not pass a private temporary directory.
    root = Path(tempfile.mkdtemp(prefix="context-sidecar-bench-", dir="/tmp"))
    root.chmod(0o755)  # nothing else runs yet
    settings = Settings(data_dir=root / "data", listen=(f"unix:{root}/api/sidecar.sock",))
    seen = _Seen()
    try:
        async with _serving(settings), grpc.aio.insecure_channel(settings.listen[0], _EAGER) as channel:
            async with asyncio.timeout(_PATIENCE_S):
                await channel.channel_ready()
            async with _callers(channel, settings, seen):
                return [await _killed(settings, seen, number) for number in range(kills)]
    finally:
        await postmaster.shut_down(settings.data_dir / "pgdata")
        shutil.rmtree(root, ignore_errors=True)


async def _killed(settings: Settings, seen: _Seen, number: int) -> _Recovery:
    """Kill the postmaster or a backend while calls are answered, and return how writes and turns came back."""
    began = await _well_for(seen, _CALM_S)
    lost = asyncio.Event()
    connection = await asyncpg.connect(Layout.of(settings.data_dir).dsn)
    connection.add_termination_listener(lambda _: lost.set())
    killed_at = time.perf_counter()
    os.kill(_victim(settings.data_dir / "pgdata", is_backend=number % 2 == 1), signal.SIGKILL)
    async with asyncio.timeout(_PATIENCE_S):
        await lost.wait()  # Postgres ends every connection after either
    lost_at = time.perf_counter()
    written_at = await _first(lambda: next((answered for sent, answered in seen.writes if sent > lost_at), None))
    whole_at = await _first(lambda: next((at for at in seen.whole if at > written_at), None))
    await _well_for(seen, _CALM_S)
    return _Recovery(
        written_at - killed_at,
        whole_at - written_at,
        seen.partial_share(began, killed_at),
        seen.partial_share(whole_at, time.perf_counter()),
    )


async def _well_for(seen: _Seen, seconds: float) -> float:
    """Wait until writes were taken and turns whole once more after so many seconds; return when the wait began."""
    began = time.perf_counter()
    await _first(lambda: next((at for at in reversed(seen.whole) if at > began + seconds), None))
    await _first(lambda: next((at for _, at in reversed(seen.writes) if at > began + seconds), None))
    return began


async def _first(found: Callable[[], float | None]) -> float:
    """Wait for a moment, and return it."""
    async with asyncio.timeout(_PATIENCE_S):
        while (moment := found()) is None:  # noqa: ASYNC110  # the callers set no event
            await asyncio.sleep(0.01)
    return moment


def _victim(pgdata: Path, *, is_backend: bool) -> int:
    """Return the server's process, or the newest of those that serve a connection."""
    pid = postmaster.serving_pid(pgdata)
    assert pid is not None, "the server runs"
    if not is_backend:
        return pid
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()
    serving = [child for child in children if b"sidecar" in Path(f"/proc/{child}/cmdline").read_bytes()]
    return int(serving[-1])


@asynccontextmanager
async def _callers(channel: grpc.aio.Channel, settings: Settings, seen: _Seen) -> AsyncIterator[None]:
    """Ask for turns and write turns and memories in a loop until the block ends."""
    metadata = calling.metadata(settings)
    call = {method: channel.unary_unary(method) for method in (calling.ASSEMBLE, _APPEND, _RETAIN)}

    async def sent(method: str, request: bytes) -> bytes:
        answer: bytes = await call[method](request, metadata=metadata, timeout=10.0)
        return answer

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(_turns(sent, seen)) for _ in range(_TURNS_AT_ONCE)]
        tasks.append(group.create_task(_writes(sent, seen)))
        yield
        for task in tasks:
            task.cancel()


_Send = Callable[[str, bytes], Awaitable[bytes]]


async def _turns(sent: _Send, seen: _Seen) -> None:
    (request,) = calling.turn_requests(["Where does the boat winter?"], thread_id=_THREAD)
    while True:
        try:
            answer = calling.assembly_of(await sent(calling.ASSEMBLE, request))
            (seen.partial if answer.degraded else seen.whole).append(time.perf_counter())
        except grpc.aio.AioRpcError:
            seen.partial.append(time.perf_counter())
        await asyncio.sleep(_PAUSE_S)


async def _writes(sent: _Send, seen: _Seen) -> None:
    for number in count():
        began = time.perf_counter()
        turn = pb.NewTurn(client_turn_id=f"turn-{number}", role="user", text=f"The boat winters in dock {number}.")
        memory = memory_pb2.NewMemory(memory_id=f"memory-{number % 50}", text=f"Dock {number} is kept for the boat.")
        with suppress(grpc.aio.AioRpcError):
            append = pb.AppendTurnsRequest(thread_id=_THREAD, turns=[turn])
            await sent(_APPEND, append.SerializeToString())
            await sent(_RETAIN, memory_pb2.RetainRequest(memories=[memory]).SerializeToString())
            seen.writes.append((began, time.perf_counter()))
        await asyncio.sleep(_PAUSE_S)


@asynccontextmanager
async def _serving(settings: Settings) -> AsyncIterator[asyncio.subprocess.Process]:
    """Yield `sidecar serve`, with its worker and its embedded Postgres, ended in order at the end."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("SIDECAR_")}
    named = {
        "SIDECAR_DATA_DIR": str(settings.data_dir),
        "SIDECAR_LISTEN": settings.listen[0],
        "SIDECAR_CONSOLE_LISTEN": "off",
        "SIDECAR_LOG_LEVEL": "ERROR",
    }
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "sidecar", "serve", env=own | named, stderr=asyncio.subprocess.DEVNULL
    )
    try:
        yield process
    finally:
        process.terminate()
        with suppress(TimeoutError):
            async with asyncio.timeout(30):
                await process.wait()
        if process.returncode is None:
            process.kill()
            await process.wait()


@contextmanager
def _busy(processes: int) -> Iterator[None]:
    """Keep so many processes busy within the block."""
    spawning = multiprocessing.get_context("spawn")
    running = [spawning.Process(target=_compute, daemon=True) for _ in range(processes)]
    for process in running:
        process.start()
    try:
        yield
    finally:
        for process in running:
            process.kill()


def _compute() -> None:
    while os.getppid() != 1:
        sum(range(100_000))
