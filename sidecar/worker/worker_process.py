"""The worker process: runs compiles and other background jobs outside the service, so that planning never slows a turn."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import sys
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any

import orjson

from compiler.decay.runner import DecayDeps
from compiler.errors import ListingUnsafe
from compiler.job import reprocess
from compiler.job.compilation import BatchDeps, Engine
from compiler.job.reconciliation import RECONCILIATION, reconcile
from compiler.job.reprocess import ReprocessDeps
from compiler.job.worker import Handler, Worker, WorkerSettings
from compiler.operations import lint, upkeep
from compiler.planners.model_planner import ModelQuestion
from compiler.state.access import Access
from models.language.language import TokenUsage
from sidecar.runtime import child_process, database, embedders, language_models, memory_trimming
from sidecar.runtime.database import Database
from sidecar.runtime.gc_tuning import calm_collector
from sidecar.runtime.settings import Settings
from sidecar.runtime.stopping import StopRequest, stopped_by_signals
from sidecar.runtime.supervisor import Supervisor, pause_after
from sidecar.services.aging.decay import KIND as DECAY_KIND
from sidecar.services.aging.decay import decay_policy
from sidecar.services.aging.episodes import Episodes
from sidecar.services.aging.nightly import NIGHTLY_KIND, NightlyDecay
from sidecar.services.brain.releases import Brain
from sidecar.services.forgetting.remote_forgetter import REMOTE_FORGETTING_KIND, RemoteForgetter
from sidecar.services.threads import EPISODES_KIND
from sidecar.services.threads import KIND as SUMMARY_KIND
from sidecar.telemetry import calls
from sidecar.telemetry.compiles import JobRecord, ModelCall, count, tally
from sidecar.telemetry.figures import Figures
from sidecar.telemetry.job_clock import JobClocks
from sidecar.telemetry.watch import Watch
from sidecar.worker import compile_engine, decay_work, embedding_jobs, summary_model, thread_summaries
from sidecar.worker.brain_work import brain_handlers
from sidecar.worker.embedding_jobs import Embedding
from sidecar.worker.remote_forgetting import remote_memories
from store.compile.decay_jobs import DecayJob
from store.compile.jobs import Ending, Job
from store.compile.ready import READY
from store.content import derived
from store.db import notices
from store.db.postgres import DatabaseRole, Pool, PoolsConfig, open_pools
from store.ontology.reprocess_jobs import ReprocessJob
from store.scope import Scope

log = logging.getLogger(__name__)

_AGAIN_S = 1.0
_LOOK_EVERY_S = 1800.0
_PAUSE_S = 0.25
_LONGEST_TALLY_BYTES = 2**24
# The names of providers in the conventions for traces.
PROVIDERS = {language_models.BEDROCK: "aws.bedrock", language_models.OPENAI: "openai"}


async def work(settings: Settings, watch: Watch | None = None, *, ends_with_parent: bool = False) -> None:
    """Work until SIGTERM or SIGINT; then claim no more jobs, and finish or release running ones within the grace period.

    A signal during the start ends it. With `ends_with_parent`, also stop when standard input ends, and report jobs on standard
    output.
    """
    async with stopped_by_signals() as stopping, AsyncExitStack() as stack:
        where = await stack.enter_async_context(database.opened(settings))
        await database.check(where)
        pools = await open_pools(where.dsn, _pools_config(settings))
        stack.push_async_callback(pools.close)
        pool, options, clock = pools.background, worker_settings(settings), JobClocks(compile_engine.now)
        record_call = partial(_record_call, clock, PROVIDERS.get(settings.compile_planner, ""))
        engine = await stack.enter_async_context(compile_engine.engine(settings, pool, on_question=record_call))
        chosen = await embedders.choose_or_go_without(settings, pool)
        stack.push_async_callback(chosen.close)
        vectors = embedding_jobs.embedding_here(chosen.numbered, settings, pool, now=compile_engine.now)
        nightly = NightlyDecay(pool, now=compile_engine.now, policy=decay_policy(settings))
        by_kind: dict[str, Handler] = {
            **await _model_handlers(stack, settings, pool, vectors),
            **await _reporting_handlers(stack, settings, pool, options, reports=ends_with_parent),
            NIGHTLY_KIND: nightly.schedule,
            RECONCILIATION: partial(_reconcile, engine, pool),
        }
        on_finished = partial(_on_finished, clock, watch, _write_tally if ends_with_parent else None)
        worker = Worker(pool, _traced(engine, clock), options, by_kind, on_finished)
        stopping.has_started()
        stopped = asyncio.create_task(_stop_on_request(stopping, worker))
        stack.callback(stopped.cancel)
        supervisor = Supervisor()
        stack.push_async_callback(supervisor.stop)
        listener = notices.Listener(on_notice=lambda _: worker.wake(), on_connected=worker.wake)
        supervisor.start("notices", lambda: notices.listen(where.direct_dsn, [READY], listener))
        _start_upkeep(supervisor, pool, nightly, decays=settings.decay_nightly)
        if vectors is not None:
            supervisor.start("embedding", vectors.keep)  # concurrent with compiles, which may be slow
        if ends_with_parent:
            watching = asyncio.create_task(_stop_with_parent(worker))
            stack.callback(watching.cancel)
        log.info("working", extra={"holder": options.holder})
        calm_collector()
        await worker.run()


async def _model_handlers(
    stack: AsyncExitStack, settings: Settings, pool: Pool, vectors: Embedding | None
) -> dict[str, Handler]:
    """Return the handlers that call an embedder, a model or a memory service."""
    writer = await stack.enter_async_context(summary_model.writer(settings, pool, now=compile_engine.now))
    remote = await stack.enter_async_context(remote_memories(settings.backends, os.environ))
    forgetter = RemoteForgetter(pool, remote, now=compile_engine.now, role=DatabaseRole.WORKER)
    return {**handlers(pool, vectors, writer), REMOTE_FORGETTING_KIND: forgetter.retry}


async def _reporting_handlers(
    stack: AsyncExitStack, settings: Settings, pool: Pool, options: WorkerSettings, *, reports: bool
) -> dict[str, Handler]:
    """Return the handlers of decay, the Brain and reprocessing. With `reports` they write results to standard output."""
    aging = await stack.enter_async_context(decay_work.decay_deps(settings, pool, now=compile_engine.now))
    reprocessing = ReprocessDeps(pool, compile_engine.now, options.holder, options.lease_s)
    on_release: Callable[[Mapping[str, int]], None] = _write_brain_tally if reports else lambda _: None
    brain = Brain(pool, now=compile_engine.now, role=DatabaseRole.WORKER, on_release=on_release)
    if reports:
        aging = replace(aging, on_end=_write_decay_tally)
        reprocessing = replace(reprocessing, on_end=_write_reprocess_tally)
    return {
        **aging_handlers(aging, timedelta(seconds=settings.episode_pause_s)),
        **brain_handlers(brain),
        reprocess.KIND: partial(_reprocess, reprocessing),
    }


async def _stop_on_request(stopping: StopRequest, worker: Worker) -> None:
    await stopping.requested.wait()
    worker.stop()


async def _stop_with_parent(worker: Worker) -> None:
    reader = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    await reader.read()
    worker.stop()


def _traced(engine: Engine, clock: JobClocks) -> Engine:
    """Return the engine with its checkpoints recorded, and each job in its own trace."""

    async def planner_for(access: Access, job: Job) -> BatchDeps:
        calls.enter(clock.begin(job.job_id))
        return await engine.planner_for(access, job)

    return replace(engine, planner_for=planner_for, checkpoint=partial(_passed, clock, engine.checkpoint))


def _passed(clock: JobClocks, further: Callable[[str], None], place: str) -> None:
    clock.mark(place)
    further(place)


def _record_call(clock: JobClocks, provider: str, question: ModelQuestion) -> None:
    """Record a model call, without its text."""
    request, answer = question.request, question.answer
    usage = answer.usage if answer else TokenUsage(0, 0)
    call = ModelCall(
        request.model_id,
        provider,
        question.of_pass,
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cache_read_tokens=usage.cache_read_tokens,
        cache_write_tokens=usage.cache_write_tokens,
        finish_reason=answer.stop_reason if answer else "",
        answered_by=answer.model_id if answer else "",
        prompt_name=request.prompt_version,
        max_output_tokens=request.max_output_tokens,
        temperature=request.temperature,
        is_kept=question.is_kept,
    )
    clock.record_call(call, question.began_at, question.error)


def _on_finished(
    clock: JobClocks, watch: Watch | None, further: Callable[[JobRecord], None] | None, job: Job, ending: Ending
) -> None:
    """Emit the job's trace and metrics, if there is a watch."""
    own, now = clock.ended(job.job_id), compile_engine.now()
    steps = own.taken() if own else ()
    began, status = job.claimed_at or job.created_at, ending.status.value
    record = JobRecord(
        job.job_id, status, job.trigger.value, began, now, ending.metrics, steps, ending.error, job.traceparent,
        own.root.span if own else None,
    )  # fmt: skip
    if watch is not None:
        watch.job_ended(record)
    if further is not None:
        further(record)


def _write_tally(record: JobRecord) -> None:
    """Write a job's counts to standard output, because the parent's metrics cover both processes."""
    _write_line(tally(record))


def _write_decay_tally(job: DecayJob) -> None:
    """Write a decay job's kind and state to standard output, for the parent's metrics."""
    _write_line({"decay": [job.kind.value, job.state.value]})


def _write_brain_tally(counts: Mapping[str, int]) -> None:
    """Write the counts of released, held and withdrawn copies of Brains to standard output, for the parent's metrics."""
    _write_line({"brain": counts})


def _write_reprocess_tally(job: ReprocessJob) -> None:
    """Write a reprocess job's status and pages to standard output, for the parent's metrics."""
    _write_line({"reprocess": [job.status.value, job.continuation_offset]})


def _write_line(counts: Mapping[str, Any]) -> None:
    with contextlib.suppress(BrokenPipeError):  # the parent has died, and this process ends soon for that reason
        sys.stdout.buffer.write(orjson.dumps(counts) + b"\n")
        sys.stdout.buffer.flush()


def handlers(
    pool: Pool, vectors: Embedding | None = None, writer: thread_summaries.Writer | None = None
) -> dict[str, Handler]:
    """Return the handlers of the other kinds of background work, by kind. Without an embedder, texts are not embedded.

    Without a writer, summaries of threads are extracted from their turns.
    """
    return {
        embedding_jobs.KIND: vectors.handle if vectors is not None else _left,
        SUMMARY_KIND: thread_summaries.Summarizer(pool, now=compile_engine.now, writer=writer).summarize,
        lint.KIND: partial(lint.handle, pool, compile_engine.now),
        upkeep.PLACE_NAMES: partial(upkeep.handle_place_names, pool, compile_engine.now),
    }


def aging_handlers(deps: DecayDeps, pause: timedelta) -> dict[str, Handler]:
    """Return the handlers that run decay jobs, and make the episodes of sessions that end after a pause."""
    episodes = Episodes(deps.pool, now=deps.now, pause=pause, role=deps.role)
    return {
        DECAY_KIND: partial(decay_work.run_due_jobs, deps),
        EPISODES_KIND: partial(decay_work.make_episodes, deps, episodes),
    }


async def _reprocess(deps: ReprocessDeps, scope: Scope, subject: str) -> None:
    """Run one part of the reprocess of the tenant's pages under its ontology."""
    await reprocess.run_due_jobs(deps, scope.tenant_id)


async def _left(scope: Scope, subject: str) -> None:
    """Skip a job that this process cannot run, such as without an embedder; its subject is marked and will be found again."""


def _start_upkeep(supervisor: Supervisor, pool: Pool, nightly: NightlyDecay, *, decays: bool) -> None:
    """Start the periodic tasks that run beside jobs."""
    supervisor.start("memory", memory_trimming.keep_trimmed)
    supervisor.start("lint", lambda: keep_linted(pool))
    supervisor.start("marks", lambda: keep_marked(pool))
    supervisor.start("decay", lambda: keep_decaying(nightly, is_on=decays))


async def keep_linted(pool: Pool) -> None:
    """Periodically queue the nightly lint of due scopes until cancelled; several workers may do this at once."""
    while True:
        await lint.queue_due(pool, now=compile_engine.now())
        await asyncio.sleep(_LOOK_EVERY_S)


async def keep_marked(pool: Pool) -> None:
    """Periodically write the missing marks of texts from an earlier release until cancelled, with pauses for the database."""
    while True:
        marked = await derived.mark_some(pool)
        await asyncio.sleep(_PAUSE_S if marked else _LOOK_EVERY_S)


async def keep_decaying(nightly: NightlyDecay, *, is_on: bool) -> None:
    """Periodically queue the nightly decay of due owners until cancelled; several workers may do this at once."""
    while True:
        if is_on:
            await nightly.queue_due()
        await asyncio.sleep(_LOOK_EVERY_S)


async def _reconcile(engine: Engine, pool: Pool, scope: Scope, subject: str) -> None:
    """Reconcile the scope's ledger with its memory service; an incomplete listing is logged and changes nothing."""
    try:
        swept = await reconcile(engine, pool, scope)
    except ListingUnsafe as error:
        log.warning("sweep_refused", extra={"why": error.detail})
        return
    log.info("swept", extra={"gone": swept.gone, "renamed": swept.renamed, "missed": swept.missed})


def worker_settings(settings: Settings) -> WorkerSettings:
    """Return the worker's id, lease, polling times and slots from the settings."""
    holder = child_process.lease_holder()
    return WorkerSettings(
        holder,
        lease_s=settings.worker_lease_s,
        poll_s=settings.worker_poll_s,
        grace_s=settings.drain_grace_s / 2,
        scopes_at_once=settings.worker_scopes,
    )


async def keep_child(settings: Settings, where: Database, figures: Figures) -> None:
    """Run `sidecar worker` as a child process until cancelled; restart it after a growing pause whenever it ends.

    Its reported jobs are counted in `figures`.
    """
    pause_s = _AGAIN_S
    while True:
        began = asyncio.get_running_loop().time()
        code = await _run_child(settings, where, figures)
        log.warning("worker_ended", extra={"code": code})
        lasted_s = asyncio.get_running_loop().time() - began
        pause_s = pause_after(lasted_s, pause_s, first_s=_AGAIN_S)
        await asyncio.sleep(pause_s)


async def _run_child(settings: Settings, where: Database, figures: Figures) -> int:
    environment = {**os.environ, "SIDECAR_DATABASE_URL": where.dsn, "SIDECAR_DATABASE_DIRECT_URL": where.direct_dsn}
    child = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "sidecar", "worker", "--ends-with-parent"),
        env=environment,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        limit=_LONGEST_TALLY_BYTES,
    )
    try:
        assert child.stdout is not None
        await count_jobs(child.stdout, figures)
        return await child.wait()
    finally:
        await child_process.stop(child, settings.drain_grace_s)


async def count_jobs(lines: asyncio.StreamReader, figures: Figures) -> None:
    """Count each job that a worker reports, until its output ends; lines that are not a valid tally are ignored."""
    while not lines.at_eof():
        try:
            if line := await lines.readline():
                count(orjson.loads(line), figures)
        except (ValueError, LookupError, TypeError, AttributeError, OverflowError) as error:
            log.warning("tally_unreadable", extra={"error": type(error).__name__})


def _pools_config(settings: Settings) -> PoolsConfig:
    return PoolsConfig(
        turn_connections=1,
        background_connections=max(settings.worker_scopes + 1, settings.worker_pool_size),
        statement_cache_size=settings.statement_cache_size,
    )
