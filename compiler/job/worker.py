"""The worker: finds scopes with work, holds each by lease and fence, runs one of its jobs, and settles it; several at once.

Notices wake it; polling is the fallback. The heartbeat runs on the event loop while planning runs on threads. A worker that lost
its lease stops at once, and the fence rejects its later writes."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from compiler.errors import CompileError, LeaseLost, NotCompiledYet
from compiler.job import metrics
from compiler.job.compilation import Claim, Engine, compile_job
from compiler.job.hints import HintQueue
from compiler.job.job_outcome import Result, error_text, handed_back, outcome_of
from compiler.job.quarantine import MODEL_FAULTS
from compiler.job.reconciliation import reconcile
from compiler.job.scope_slots import ScopeSlot, ScopeSlots, watched
from compiler.state.access import PooledAccess
from compiler.state.substrates import dirty_now
from models.errors import ModelsError
from store.compile import background, jobs, ledger, scopes
from store.compile.background import BackgroundJob
from store.compile.jobs import Ending, Job, JobStatus
from store.compile.ready import Hint
from store.compile.scopes import Lease
from store.db.postgres import DatabaseRole, Pool, scoped
from store.db.queries import Connection
from store.errors import PASSING, StoreError
from store.scope import Scope

log = logging.getLogger(__name__)

Handler = Callable[[Scope, str], Awaitable[None]]

_TRIED_AT_ONCE = 32
_ATTEMPTS = 5
# Their messages may quote memories, and forgetting does not reach logs.
_NAMED = (CompileError, StoreError, ModelsError, OSError, ValueError)
_RETRY_S = 30.0
_MOST_DOUBLINGS = 6


@dataclass(frozen=True, slots=True)
class WorkerSettings:
    """The worker's lease holder name, waiting times, and how many scopes it works on at once.

    `rebuild_every_s` is the interval of the search for lost hints, `stall_s` the time without an answer after which a
    compile counts as stalled.
    """

    holder: str
    lease_s: float = 60.0
    poll_s: float = 5.0
    rebuild_every_s: float = 60.0
    grace_s: float = 10.0
    scopes_at_once: int = 4
    stall_s: float = 60.0


@dataclass(slots=True)
class Worker:
    """Runs jobs until stopped. `handlers` run background jobs by kind; `on_finished` is called with each job and its ending."""

    pool: Pool
    engine: Engine
    settings: WorkerSettings
    handlers: Mapping[str, Handler] = field(default_factory=dict)
    on_finished: Callable[[Job, Ending], None] = lambda job, ending: None
    woken: asyncio.Event = field(default_factory=asyncio.Event)
    stopping: asyncio.Event = field(default_factory=asyncio.Event)
    _slots: ScopeSlots = field(init=False)
    _hints: HintQueue = field(init=False)
    _doing: set[asyncio.Task[None]] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._slots = ScopeSlots(self.settings.scopes_at_once, self.settings.stall_s)
        self._hints = HintQueue(self.pool, self.engine.now, self.settings.poll_s, self.settings.rebuild_every_s)

    def wake(self) -> None:
        """Look for work now."""
        self.woken.set()

    def stop(self) -> None:
        """Claim no more jobs; finish running ones, or hand them back after the grace period."""
        self.stopping.set()
        self.woken.set()

    async def run(self) -> None:
        """Run jobs of several scopes at once until `stop`; then wait until all have ended or were handed back."""
        try:
            while not self.stopping.is_set():
                self.woken.clear()
                for slot in self._slots.to_release():
                    self._release(slot)
                try:
                    has_begun = not self._slots.is_full and await self._begin_one()
                except PASSING as error:
                    log.warning("worker_waits", extra={"error": type(error).__name__})
                    has_begun = False
                self._reap()
                if not has_begun and not self.stopping.is_set():
                    await self._rest()
            while self._doing:
                await asyncio.wait(self._doing, return_when=asyncio.FIRST_COMPLETED)
                self._reap()
        finally:
            for task in self._doing:
                task.cancel()
            await asyncio.gather(*self._doing, return_exceptions=True)

    async def _begin_one(self) -> bool:
        """Begin a job of a due scope; return False if there is none to begin now."""
        for hint in self._slots.in_turn(await self._hints.due(limit=_TRIED_AT_ONCE)):
            if self.stopping.is_set():
                return False
            now = self.engine.now()
            try:
                claimed = await self._taken(hint, may_compile=self._slots.may_compile())
            except PASSING as error:  # a cluster that lost this tenant's server has the other tenants'
                log.warning("worker_waits", extra={"error": type(error).__name__})
                await self._hints.postpone(hint)
                continue
            if claimed is None:
                continue
            slot, work = claimed
            self._slots.taken[hint.scope] = slot
            task = asyncio.create_task(self._do(hint, work, now))
            task.add_done_callback(lambda _: self.woken.set())
            self._doing.add(task)
            return True
        return False

    async def _do(self, hint: Hint, work: Awaitable[None], now: datetime) -> None:
        try:
            await work
            await self._hints.settle(hint, now)
        finally:
            del self._slots.taken[hint.scope]

    def _reap(self) -> None:
        """Remove finished tasks and raise their errors, except those that pass: the leases of such jobs run out."""
        for task in [one for one in self._doing if one.done()]:
            self._doing.discard(task)
            try:
                task.result()
            except PASSING as error:
                log.warning("worker_waits", extra={"error": type(error).__name__})

    def _release(self, slot: ScopeSlot) -> None:
        """Hand back a compile that has waited too long for an answer, so that another scope gets its slot."""
        slot.is_released = True
        log.warning("compile_held_up", extra={"stall_s": self.settings.stall_s})
        if slot.work is not None:
            slot.work.cancel()

    async def work_once(self) -> bool:
        """Run one job of one scope, and return whether there was one."""
        for hint in await self._hints.due(limit=_TRIED_AT_ONCE):
            if self.stopping.is_set():
                return False
            if await self._follow(hint):
                return True
        return False

    async def drain(self) -> int:
        """Run jobs until none is due, and return their number: for demos, commands and tests."""
        count = 0
        while await self.work_once():
            count += 1
        return count

    async def drain_scope(self, scope: Scope) -> bool:
        """Run the scope's jobs until none is due; return whether none is left (another worker may be running one)."""
        while await self._follow(Hint(scope, self.engine.now())):
            pass
        async with scoped(self.pool, scope, role=DatabaseRole.WORKER, read_only=True) as connection:
            waiting = await jobs.next_due(connection, scope)
            running = await jobs.running(connection, scope)
        return waiting is None and running is None

    async def _rest(self) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(self.settings.poll_s):
                await self.woken.wait()

    async def _follow(self, hint: Hint) -> bool:
        """Run a job of the hinted scope; return False if another worker holds the scope or there is no job."""
        now = self.engine.now()
        claimed = await self._taken(hint)
        if claimed is not None:
            await claimed[1]
            await self._hints.settle(hint, now)
        return claimed is not None

    async def _taken(
        self, hint: Hint, *, may_compile: bool = True
    ) -> tuple[ScopeSlot, Coroutine[Any, Any, None]] | None:
        """Claim a job of the hinted scope and return its slot and its work; if there is none, move the hint and return None."""
        now = self.engine.now()
        began_at = asyncio.get_running_loop().time()
        claim = await self._claim(hint.scope) if may_compile else None
        if claim is not None:
            await self._hints.serve(hint)
            slot = ScopeSlot(hint.scope, is_compile=True, began_at=began_at)
            return slot, self._compile(claim, slot)
        other = await self._claim_other(hint.scope)
        if other is not None:
            await self._hints.serve(hint)
            return ScopeSlot(hint.scope, is_compile=False, began_at=began_at), self._do_other(hint.scope, other)
        if may_compile:
            await self._hints.settle(hint, now, not_before=now + timedelta(seconds=self.settings.poll_s))
        else:
            await self._hints.postpone(hint)
        return None

    async def _claim(self, scope: Scope) -> Claim | None:
        now = self.engine.now()
        lease = Lease(self.settings.holder, self.settings.lease_s)
        async with scoped(self.pool, scope, role=DatabaseRole.WORKER) as connection:
            await jobs.rest(connection, scope, pause_s=self.engine.settings.flags.unread_pause_s, now=now)
            await jobs.back_off(connection, scope, now=now)
            if await jobs.next_startable(connection, scope, now=now) is None:
                return None
            row = await scopes.claim(connection, scope, lease, now=now)
            if row is None:
                return None
            is_taken_over = await jobs.running(connection, scope) is not None
            job = await jobs.start_next(connection, scope, now=now)
            if job is None:
                await scopes.release(connection, scope, row.fence, now=now)
                return None
            is_new = job.parent_job_id is None or row.dirty_through > dirty_now(now)
            if is_new and self.engine.substrate.feed(scope).is_timed:
                # A caller does not know the end of a timed feed, so that the job covers every request until now.
                await scopes.cover_requests(connection, scope, through=dirty_now(now), now=now)
            if is_taken_over:
                await scopes.count_crash(connection, scope, now=now)
                row = await scopes.read(connection, scope) or row
        return Claim(job, row)

    async def _compile(self, claim: Claim, slot: ScopeSlot) -> None:
        scope = slot.scope
        access = PooledAccess(self.pool, scope)
        work = slot.work = asyncio.create_task(self._work(access, claim, watched(self.engine, slot, self.wake)))
        beat = asyncio.create_task(self._beat(scope, claim.row.fence, work))
        stop = asyncio.create_task(self._break_off(work))
        try:
            result = await work
        except LeaseLost:
            log.warning("lease_lost", extra={"job_id": str(claim.job.job_id)})
            return
        except asyncio.CancelledError:
            own = asyncio.current_task()
            if own is None or own.cancelling():
                raise
            if not self.stopping.is_set() and not slot.is_released:
                log.warning("lease_lost", extra={"job_id": str(claim.job.job_id)})
                return
            wait_s = self.engine.settings.patience.throttled_delay_s if slot.is_released else 0.0
            result = handed_back(self.engine.now() + timedelta(seconds=wait_s))
        finally:
            beat.cancel()
            stop.cancel()
            if not work.done():
                work.cancel()
        await self._settle(scope, claim, result)

    async def _work(self, access: PooledAccess, claim: Claim, engine: Engine) -> Result:
        """Run the job. If an operator confirmed archiving many pages, reconcile first."""
        if claim.job.options.may_archive_many and claim.job.parent_job_id is None:
            try:
                await reconcile(engine, self.pool, access.scope, may_archive_many=True)
            except (CompileError, StoreError) as error:
                figures = metrics.merged(metrics.empty(), claim.job.metrics)
                return outcome_of(error, claim.job, figures, engine.settings.patience, engine.now())
            async with access.reading() as connection:
                claim = Claim(claim.job, await scopes.read(connection, access.scope) or claim.row)
        return await compile_job(engine, access, claim)

    async def _beat(self, scope: Scope, fence: int, work: asyncio.Task[Result]) -> None:
        """Renew the lease; cancel the work once the lease is lost."""
        while True:
            await asyncio.sleep(self.settings.lease_s / 3)
            until = self.engine.now() + timedelta(seconds=self.settings.lease_s)
            try:
                async with scoped(self.pool, scope, role=DatabaseRole.WORKER) as connection:
                    is_held = await scopes.renew(connection, scope, fence, until=until)
            except StoreError as error:
                log.warning("heartbeat_failed", extra={"error": type(error).__name__})
                continue
            if not is_held:
                work.cancel()
                return

    async def _break_off(self, work: asyncio.Task[Result]) -> None:
        await self.stopping.wait()
        await asyncio.sleep(self.settings.grace_s)
        work.cancel()

    async def _settle(self, scope: Scope, claim: Claim, result: Result) -> None:
        """End the job, queue its successor and release the scope, in one transaction."""
        now, job, ending = self.engine.now(), claim.job, result.ending
        async with scoped(self.pool, scope, role=DatabaseRole.WORKER) as connection:
            row = await scopes.hold(connection, scope, claim.row.fence)
            if row is None:
                log.warning("lease_lost", extra={"job_id": str(job.job_id)})
                return
            if ending.status is JobStatus.PENDING:
                not_before = result.resume_at or now
                await jobs.put_back(
                    connection, scope, job.job_id, ending, not_before=not_before, counts=result.counts_as_attempt
                )
            else:
                is_recovered = ending.status is JobStatus.SUCCEEDED and await jobs.failing_streak(connection, scope) > 0
                await jobs.settle(connection, scope, job.job_id, ending, now=now)
                if result.backs_off:
                    await self._back_off(connection, scope, job, now)
                again = await ledger.reread_quarantined(connection, scope, MODEL_FAULTS, now=now) if is_recovered else 0
                if ending.status is JobStatus.SUCCEEDED and (result.continues or again or not row.is_caught_up):
                    lag_s = self.engine.substrate.feed(scope).lag_s
                    wait_s = 0.0 if result.continues or again else max(self.settings.poll_s, lag_s)
                    not_before = now + timedelta(seconds=wait_s)
                    await jobs.continue_job(connection, scope, job, not_before=not_before, now=now)
            await scopes.release(connection, scope, claim.row.fence, now=now)
        self.on_finished(job, ending)
        log.info(
            "job_ended",
            extra={
                "job_id": str(job.job_id),
                "status": ending.status.value,
                "records": ending.metrics.get("records_read"),
            },
        )

    async def _back_off(self, connection: Connection, scope: Scope, job: Job, now: datetime) -> None:
        """Queue a retry of a job whose model fails; the delay doubles with each failure up to a maximum."""
        patience = self.engine.settings.patience
        streak = await jobs.failing_streak(connection, scope)
        delay_s = min(patience.failing_delay_s * 2 ** max(0, streak - 1), patience.longest_failing_delay_s)
        await jobs.continue_job(connection, scope, job, not_before=now + timedelta(seconds=delay_s), now=now)

    async def _claim_other(self, scope: Scope) -> BackgroundJob | None:
        """Claim a background job of a kind that has a handler; another worker, perhaps of a later release, does the others."""
        if not self.handlers:
            return None
        async with scoped(self.pool, scope, role=DatabaseRole.WORKER) as connection:
            return await background.claim(
                connection,
                scope,
                self.handlers,
                holder=self.settings.holder,
                lease_s=self.settings.lease_s,
                now=self.engine.now(),
            )

    async def _do_other(self, scope: Scope, job: BackgroundJob) -> None:
        error, is_early = "", False
        try:
            await self.handlers[job.kind](scope, job.subject)
        except NotCompiledYet:
            is_early, error = True, "its memories are not compiled yet"
        except Exception as failure:  # it must end neither the worker nor the jobs of other scopes
            error = error_text(failure)
            named = {"kind": job.kind, "error": type(failure).__name__}
            log.warning("background_job_failed", extra=named, exc_info=None if isinstance(failure, _NAMED) else failure)
        now = self.engine.now()
        async with scoped(self.pool, scope, role=DatabaseRole.WORKER) as connection:
            if error and (is_early or job.attempt < _ATTEMPTS):
                later = now + timedelta(seconds=_RETRY_S * 2 ** min(job.attempt - 1, _MOST_DOUBLINGS))
                await background.put_back(
                    connection, scope, job, holder=self.settings.holder, error=error, not_before=later
                )
            else:
                await background.finish(connection, scope, job, holder=self.settings.holder, error=error, now=now)
