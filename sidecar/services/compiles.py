"""Compile jobs: queued, previewed, followed, cancelled and run again; and each wiki's lag behind its memories.

Every method opens its own transaction. The compile itself is in `compiler`.
"""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from typing import Any
from uuid import UUID

from compiler.job.compilation import Engine
from compiler.operations.preview import Preview, preview
from compiler.releases import releasing
from compiler.state.access import PooledAccess
from sidecar.runtime.errors import FailedPrecondition, NotFound, Stopping
from sidecar.services.validation import read_id
from store.compile import jobs, overview, scopes
from store.compile.jobs import Enqueued, Job, JobOptions, JobStatus, Trigger
from store.compile.overview import Grown
from store.compile.scopes import ScopeRow
from store.db.postgres import Pool, Pools, scoped, tenant_scoped
from store.db.queries import Connection
from store.errors import StoreError
from store.scope import Scope
from store.tenancy import tenants

log = logging.getLogger(__name__)

MAX_SCOPES = 100
POLL_S = 2.0
UNDER_WAY = frozenset({JobStatus.PENDING, JobStatus.RUNNING})

_NO_MODELS = (
    "names a model, but SIDECAR_COMPILE_PLANNER is extractive: leave it out, or set that to the model's provider"
)


class Progress:
    """The watchers of each job: notices of the database wake them, and polling covers notices that are lost.

    It holds no state of jobs: a wake-up only means that the job may have changed.
    """

    def __init__(self) -> None:
        self._watchers: defaultdict[str, set[asyncio.Event]] = defaultdict(set)

    def moved(self, job_id: str) -> None:
        """Wake the watchers of the job."""
        for watcher in self._watchers.get(job_id, ()):
            watcher.set()

    def missed(self) -> None:
        """Wake every watcher: notices may have been lost."""
        for watchers in self._watchers.values():
            for watcher in watchers:
                watcher.set()

    @contextmanager
    def watching(self, job_id: str) -> Iterator[asyncio.Event]:
        """Yield an event that is set whenever the job may have changed, from now on."""
        watcher = asyncio.Event()
        self._watchers[job_id].add(watcher)
        try:
            yield watcher
        finally:
            self._watchers[job_id].discard(watcher)
            if not self._watchers[job_id]:
                del self._watchers[job_id]


class Compiles:
    """Queues compiles of an owner's memories and follows them; `now` returns the time of a write.

    Methods that name a job raise NotFound. Methods that queue or preview a compile create the tenant if it is missing, and raise
    FailedPrecondition if its compile is off.
    """

    def __init__(self, pools: Pools, engine: Engine, progress: Progress, *, now: Callable[[], datetime]) -> None:
        self._pool = pools.background
        self._engine = engine
        self._progress = progress
        self._now = now

    async def start(self, scope: Scope, options: JobOptions) -> tuple[Enqueued, Job]:
        """Queue a compile, and return its job and whether it is new. Raises FailedPrecondition, also for an unusable model."""
        self._check_model(options.model_id)
        return await self._start(scope, options)

    async def preview(self, scope: Scope, *, model_id: str) -> Preview:
        """Return the changes of the next batch; this may call a model, which costs. Raises FailedPrecondition."""
        self._check_model(model_id)
        async with scoped(self._pool, scope) as connection:
            await check_compiled(connection, scope, now=self._now())
        return await preview(self._engine, PooledAccess(self._pool, scope), model_id=model_id)

    async def run_again(self, scope: Scope, job_id: UUID) -> Job:
        """Queue a job with the options of an ended job. Raises FailedPrecondition if that job has not ended."""
        job = await self.job(scope, job_id)
        if job.status in UNDER_WAY:
            raise FailedPrecondition("job", "has not ended yet; stop it first, or wait")
        _, queued = await self._start(scope, job.options)
        return queued

    async def job(self, scope: Scope, job_id: UUID) -> Job:
        """Return one job."""
        async with scoped(self._pool, scope, read_only=True) as connection:
            job = await jobs.get(connection, scope, job_id)
        if job is None:
            raise NotFound("job")
        return job

    async def jobs(self, scope: Scope, *, limit: int, **after: Any) -> list[Job]:
        """Return up to `limit` jobs, newest first; `after` is the time and id of the last job of the previous page."""
        async with scoped(self._pool, scope, read_only=True) as connection:
            return await jobs.page(connection, scope, limit=limit, **after)

    async def follow(self, scope: Scope, job_id: UUID, stopping: asyncio.Event) -> AsyncGenerator[Job]:
        """Yield the job now and each time it may have changed, until it ends. Raises Stopping once `stopping` is set."""
        with self._progress.watching(str(job_id)) as moved:
            while True:
                job = await self.job(scope, job_id)
                yield job
                if job.status not in UNDER_WAY:
                    return
                if await moved_or_stopping(moved, stopping):
                    raise Stopping

    async def cancel(self, scope: Scope, job_id: UUID) -> Job:
        """Cancel a job, or ask a running one to stop, and return its present state. An ended job is not changed."""
        async with scoped(self._pool, scope) as connection:
            job = await jobs.cancel(connection, scope, job_id, now=self._now())
        if job is None:
            raise NotFound("job")
        return job

    async def standing(self, scope: Scope) -> ScopeRow | None:
        """Return the compile state of the wiki; None before its first compile is queued."""
        async with scoped(self._pool, scope, read_only=True) as connection:
            return await scopes.read(connection, scope)

    async def growth(self, scope: Scope) -> list[Grown]:
        """Return the wiki's growth for each day on which it grew, oldest first."""
        async with scoped(self._pool, scope, read_only=True) as connection:
            return await overview.growth(connection, scope)

    async def standings(self, tenant_id: UUID) -> tuple[list[tuple[Scope, ScopeRow]], int]:
        """Return the compile states of up to MAX_SCOPES wikis of the tenant, the largest lag first, and their total number."""
        async with tenant_scoped(self._pool, tenant_id, read_only=True) as connection:
            return await scopes.of_tenant(connection, tenant_id, limit=MAX_SCOPES)

    async def _start(self, scope: Scope, options: JobOptions) -> tuple[Enqueued, Job]:
        now = self._now()
        async with scoped(self._pool, scope) as connection:
            await check_compiled(connection, scope, now=now)
            return await start_compile(connection, scope, trigger=Trigger.ADMIN, options=options, now=now)

    def _check_model(self, model_id: str) -> None:
        if read_id("model_id", model_id, is_optional=True) and not self._engine.has_models:
            raise FailedPrecondition("model_id", _NO_MODELS)


async def moved_or_stopping(moved: asyncio.Event, stopping: asyncio.Event, *, poll_s: float = POLL_S) -> bool:
    """Wait until the job may have changed, at most `poll_s`; return whether the process is stopping."""
    waits = [asyncio.ensure_future(moved.wait()), asyncio.ensure_future(stopping.wait())]
    try:
        await asyncio.wait(waits, timeout=poll_s, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for wait in waits:
            wait.cancel()
            with suppress(asyncio.CancelledError):
                await wait
    moved.clear()
    return stopping.is_set()


async def check_compiled(connection: Connection, scope: Scope, *, now: datetime) -> None:
    """Create the tenant if it is missing. Raises FailedPrecondition if its compile is off."""
    await tenants.ensure_tenant(connection, scope.tenant_id, now=now)
    if not await jobs.is_enabled(connection, scope):
        raise _compile_is_off()


async def start_compile(
    connection: Connection, scope: Scope, *, trigger: Trigger, options: JobOptions | None = None, now: datetime
) -> tuple[Enqueued, Job]:
    """Queue a compile in the caller's transaction, and return its job. Raises FailedPrecondition if compile is off."""
    ticket = await jobs.enqueue(connection, scope, trigger=trigger, options=options, now=now)
    job = await jobs.get(connection, scope, ticket.job_id) if ticket.job_id is not None else None
    if job is None:
        raise _compile_is_off()
    return ticket.outcome, job


async def queue_compile(pool: Pool, scope: Scope, *, now: datetime) -> Enqueued:
    """Queue a compile of newly written memories, and return the outcome: FAILED if the store fails.

    It never raises a StoreError: the memories are already written, and the next compile reads them too.
    """
    try:
        async with scoped(pool, scope) as connection:
            await tenants.ensure_tenant(connection, scope.tenant_id, now=now)
            outcome = (await jobs.enqueue(connection, scope, trigger=Trigger.MEMORY_RETAIN, now=now)).outcome
            await releasing.announce(connection, scope, now=now)
    except StoreError as error:
        outcome = Enqueued.FAILED
        log.warning("compile_not_queued", extra={"error": type(error).__name__})
    log.debug("compile_wished", extra={"outcome": outcome.value})
    return outcome


def _compile_is_off() -> FailedPrecondition:
    return FailedPrecondition("wiki_compile_enabled", "is off for this tenant; switch its compile on first")
