"""The worker's process: compiles and does the other background work beside the service, so that planning never slows a turn."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import secrets
import signal
import socket
import sys
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import replace
from functools import partial

from compiler import lint, upkeep
from compiler.compilation import Engine
from compiler.errors import ListingUnsafe
from compiler.sweep import SWEEP, sweep
from compiler.worker import Handler, Worker, WorkerSettings
from sidecar import compiling, database, summaries
from sidecar.database import Database
from sidecar.settings import Settings
from sidecar.supervisor import Supervisor
from sidecar.telemetry.compiles import JobClock, JobRecord
from sidecar.telemetry.watch import Watch
from store import notices
from store.jobs import Ending, Job
from store.postgres import Pool, PoolsConfig, open_pools
from store.ready import READY
from store.scope import Scope

log = logging.getLogger(__name__)

_AGAIN_S = 1.0
_LONGEST_PAUSE_S = 30.0
_LINT_EVERY_S = 1800.0


async def work(settings: Settings, watch: Watch | None = None, *, ends_with_parent: bool = False) -> None:
    """Work until SIGTERM or SIGINT: then claim nothing more, and finish or hand back what is under way within the grace."""
    async with AsyncExitStack() as stack:
        where = await stack.enter_async_context(database.opened(settings))
        await database.check(where)
        pools = await open_pools(where.dsn, _pools_config(settings))
        stack.push_async_callback(pools.close)
        engine = await stack.enter_async_context(compiling.engine(settings, pools.background))
        clock = JobClock(compiling.now)
        worker = Worker(
            pools.background,
            replace(engine, checkpoint=partial(_passed, clock, engine.checkpoint)),
            worker_settings(settings),
            {**handlers(pools.background), SWEEP: partial(_sweep, engine, pools.background)},
            partial(_told, clock, watch),
        )
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, worker.stop)
        supervisor = Supervisor()
        stack.push_async_callback(supervisor.stop)
        listener = notices.Listener(on_notice=lambda _: worker.wake(), on_connected=worker.wake)
        supervisor.start("notices", lambda: notices.listen(where.direct_dsn, [READY], listener))
        supervisor.start("lint", lambda: keep_linted(pools.background))
        if ends_with_parent:
            watching = asyncio.create_task(_stop_with_parent(worker))
            stack.callback(watching.cancel)
        log.info("working", extra={"holder": worker.settings.holder})
        await worker.run()


async def _stop_with_parent(worker: Worker) -> None:
    reader = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    await reader.read()
    worker.stop()


def _passed(clock: JobClock, further: Callable[[str], None], place: str) -> None:
    clock.mark(place)
    further(place)


def _told(clock: JobClock, watch: Watch | None, job: Job, ending: Ending) -> None:
    """Make the job's trace and count it, where somebody watches."""
    steps, now = clock.taken(), compiling.now()
    if watch is not None:
        began = job.claimed_at or job.created_at
        record = JobRecord(
            job.job_id, ending.status.value, job.trigger.value, began, now, ending.metrics, steps, ending.error
        )
        watch.job_told(record)


def handlers(pool: Pool) -> dict[str, Handler]:
    """Return what does each other kind of background work, by kind."""
    return {
        summaries.KIND: summaries.Summarizer(pool, now=compiling.now).summarize,
        lint.KIND: partial(lint.handle, pool, compiling.now),
        upkeep.PLACE_NAMES: partial(upkeep.handle_place_names, pool, compiling.now),
    }


async def keep_linted(pool: Pool) -> None:
    """Queue the nightly look of scopes that are due, again and again until cancelled; several workers do no harm."""
    while True:
        await lint.queue_due(pool, now=compiling.now())
        await asyncio.sleep(_LINT_EVERY_S)


async def _sweep(engine: Engine, pool: Pool, scope: Scope, subject: str) -> None:
    """Hold the scope's ledger against its memory service; a listing that proves nothing is told and changes nothing."""
    try:
        swept = await sweep(engine, pool, scope)
    except ListingUnsafe as error:
        log.warning("sweep_refused", extra={"why": error.detail})
        return
    log.info("swept", extra={"gone": swept.gone, "renamed": swept.renamed, "missed": swept.missed})


def worker_settings(settings: Settings) -> WorkerSettings:
    """Return who this worker is and how it waits."""
    holder = f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(3)}"
    return WorkerSettings(
        holder, lease_s=settings.worker_lease_s, poll_s=settings.worker_poll_s, grace_s=settings.drain_grace_s / 2
    )


async def keep_child(settings: Settings, where: Database) -> None:
    """Run `sidecar worker` as a child until cancelled; one that ends is started again, after a growing pause."""
    pause_s = _AGAIN_S
    while True:
        began = asyncio.get_running_loop().time()
        code = await _run_child(settings, where)
        log.warning("worker_ended", extra={"code": code})
        lasted_s = asyncio.get_running_loop().time() - began
        pause_s = _AGAIN_S if lasted_s > _LONGEST_PAUSE_S else min(pause_s * 2, _LONGEST_PAUSE_S)
        await asyncio.sleep(pause_s)


async def _run_child(settings: Settings, where: Database) -> int:
    environment = {**os.environ, "SIDECAR_DATABASE_URL": where.dsn, "SIDECAR_DATABASE_DIRECT_URL": where.direct_dsn}
    child = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "sidecar", "worker", "--ends-with-parent"),
        env=environment,
        stdin=asyncio.subprocess.PIPE,
    )
    try:
        return await child.wait()
    finally:
        if child.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                child.terminate()
            await _ended(child, settings.drain_grace_s)


async def _ended(child: asyncio.subprocess.Process, grace_s: float) -> None:
    try:
        async with asyncio.timeout(grace_s):
            await child.wait()
    except TimeoutError:
        child.kill()
        await child.wait()


def _pools_config(settings: Settings) -> PoolsConfig:
    return PoolsConfig(
        turn_connections=1,
        background_connections=max(2, settings.worker_pool_size),
        statement_cache_size=settings.statement_cache_size,
    )
