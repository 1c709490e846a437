"""The composition root: pools, sources, assembler, services and server are built here and nowhere else."""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from uuid import UUID

from models.tokens import encodings
from sidecar.backends.backend_policy import BackendPolicy
from sidecar.context import receipt_writer
from sidecar.context.assembler import Assembler, Clocks, Lookups
from sidecar.context.fan_out import FanOut
from sidecar.context.fence_keys import FenceKeys
from sidecar.context.ports import ContextSource
from sidecar.context.profile_cache import ProfileCache
from sidecar.context.query_embedding import QueryReader
from sidecar.context.receipt_writer import ReceiptWriter
from sidecar.context.replay import Replayer
from sidecar.context.token_counting import TokenMeters
from sidecar.process.cache_invalidation import TenantCaches
from sidecar.process.checking import check_settings
from sidecar.process.gauges import keep_counted
from sidecar.process.parts import Part, end_with_parent, tell_serving
from sidecar.process.retention import keep_pruned, retention_of
from sidecar.process.serving import ServingDeps, open_listeners
from sidecar.process.use_cases import BaseDeps, services_of
from sidecar.process.warm_up import warm
from sidecar.rpc import context
from sidecar.rpc.server import GrpcServer
from sidecar.rpc.transport.admission import AdmissionControl
from sidecar.runtime import database, embedders, memory_trimming, open_files
from sidecar.runtime.database import Database
from sidecar.runtime.gc_tuning import calm_collector
from sidecar.runtime.settings import Settings
from sidecar.runtime.stopping import StopRequest, stopped_by_signals
from sidecar.runtime.supervisor import Supervisor
from sidecar.services.audit import AuditLog
from sidecar.services.compiles import Progress
from sidecar.services.costs import BudgetWatch
from sidecar.services.forgetting.purges import Purges
from sidecar.services.forgetting.remote_forgetter import RemoteForgetter
from sidecar.services.tenants import Tenancy
from sidecar.sources.registry import ConnectedSources, built_in, configured, connect
from sidecar.telemetry.figures import Figures
from sidecar.telemetry.watch import Watch, WatchConfig
from sidecar.turn.items import Source
from sidecar.worker import compile_engine
from sidecar.worker.embedding_jobs import Embedding, embedding_here
from sidecar.worker.remote_forgetting import remote_memories
from sidecar.worker.worker_process import keep_child
from store.db.postgres import Pools, installation, open_pools
from store.scope import Scope, is_brain
from store.tenancy import keys

log = logging.getLogger(__name__)

_SWEEP_EVERY_S = 3600.0
_CONNECTIONS_A_TURN = 6  # one per built-in source, and one for the recent turns
_WAITING_PER_CALL = 4  # factor for the calls in flight, because questions of the console wait too


@dataclass(frozen=True, slots=True)
class App:
    """A running sidecar: its addresses, and the parts that tests and the demo use."""

    server: GrpcServer
    pools: Pools
    receipt_writer: ReceiptWriter
    database: Database
    http_address: str = ""
    console_address: str = ""
    embedding: Embedding | None = None

    @property
    def addresses(self) -> Sequence[str]:
        """The addresses of its listeners, with the actual ports."""
        return self.server.addresses


async def serve(settings: Settings, watch: Watch, part: Part = Part()) -> None:  # noqa: B008  # frozen
    """Serve until SIGTERM or SIGINT, then drain: health says NOT_SERVING, running calls get the grace period to end.

    A signal during the start ends it, whatever it waits for. A part of a service with several processes also ends with its
    parent.
    """
    open_files.raise_limit()
    async with stopped_by_signals() as stopping:
        if not part.is_whole:
            end_with_parent(stopping.request, within_s=2 * settings.drain_grace_s)
        await _serve_until_stopped(
            settings, watch, replace(part, embeds=part.has_upkeep and not settings.worker), stopping
        )


async def _serve_until_stopped(settings: Settings, watch: Watch, part: Part, stopping: StopRequest) -> None:
    async with (
        running(part.settings(settings), watch=watch, is_warmed=True, part=part) as app,
        working(part.settings(settings), app.database, watch.figures) as worker,
    ):
        calm_collector()
        stopping.has_started()
        http_addresses = {"http": app.http_address, "console": app.console_address}
        log.info("serving", extra={"addresses": list(app.addresses), **http_addresses})
        if not part.is_whole:
            tell_serving(tuple(app.addresses), http_addresses)
        await stopping.requested.wait()
        log.info("draining", extra={"grace_s": settings.drain_grace_s})
        # Concurrently: a worker in the middle of a batch must not delay refusing new calls.
        await asyncio.gather(app.server.stop(settings.drain_grace_s), worker.stop())


@asynccontextmanager
async def working(settings: Settings, where: Database, figures: Figures) -> AsyncIterator[Supervisor]:
    """Keep a worker running in a child process."""
    supervisor = Supervisor()
    if settings.worker:
        supervisor.start("worker", partial(keep_child, settings, where, figures))
    try:
        yield supervisor
    finally:
        await supervisor.stop()


@asynccontextmanager
async def running(
    settings: Settings,
    *,
    sources: dict[Source, ContextSource] | None = None,
    watch: Watch | None = None,
    clocks: Clocks | None = None,
    is_warmed: bool = False,
    part: Part = Part(),  # noqa: B008  # frozen
) -> AsyncIterator[App]:
    """Yield a serving sidecar, or a part of one, and stop it in order at the end.

    `sources` replaces the built-in sources, `clocks` the system's clocks. The default `watch` counts but sends nothing. With
    `is_warmed`, the first turn does not wait for connections.

    Raises a StartRefused or StoreError whose text names the fix.
    """
    check_settings(settings)
    async with AsyncExitStack() as stack:
        where = await stack.enter_async_context(database.opened(settings))
        await database.check(where)
        pools = await open_pools(where.dsn, database.pools_config(settings))
        stack.push_async_callback(pools.close)
        await database.check_roles(pools.background)
        if is_warmed:
            await warm(pools.turn, connections=settings.turn_pool_size)
        telling = watch or Watch(WatchConfig(slow_turn_s=settings.slow_turn_s, keeps_content=settings.capture_content))
        clocks = clocks or Clocks(now=partial(datetime.now, UTC), steady_s=time.monotonic)
        deps = BaseDeps(settings, where, pools, telling, clocks, is_built_in=sources is None, part=part)
        local = built_in(pools.turn, settings.workspace_root, clock=clocks.steady_s, graph_hops=settings.graph_hops)
        app = await _started(deps, sources or local, stack)
        if part.embeds and app.embedding is not None:
            supervisor = Supervisor()
            stack.push_async_callback(supervisor.stop)
            supervisor.start("embedding", app.embedding.keep)
        yield app


async def _started(deps: BaseDeps, sources: dict[Source, ContextSource], stack: AsyncExitStack) -> App:
    """Build everything else and open the listeners; the stack closes them in reverse order."""
    settings, pools, clocks = deps.settings, deps.pools, deps.clocks
    await asyncio.to_thread(encodings.warm)
    chosen = await embedders.choose_or_go_without(settings, pools.background)
    stack.push_async_callback(chosen.close)
    policy = BackendPolicy(pools.turn, clock=clocks.steady_s)
    connected = connect(sources, configured(settings.backends, os.environ), pools.turn, policy)
    stack.push_async_callback(connected.close)
    serving = await _serving_deps(deps, connected, policy, chosen, stack)
    listeners = await open_listeners(serving, stack)
    embedding = embedding_here(chosen.numbered, settings, pools.background, now=clocks.now)
    return App(
        listeners.server,
        pools,
        serving.turns.receipt_writer,
        deps.where,
        listeners.http_address,
        listeners.console_address,
        embedding,
    )


async def _serving_deps(
    deps: BaseDeps, connected: ConnectedSources, policy: BackendPolicy, chosen: embedders.Chosen, stack: AsyncExitStack
) -> ServingDeps:
    pools, clocks = deps.pools, deps.clocks
    profiles = ProfileCache(pools.turn, clock=clocks.steady_s, base=connected.base)
    local = connected.local if deps.is_built_in else _none
    fan_out = FanOut(connected.sources, clock=clocks.steady_s, local=local)
    query_reader = _query_reader(deps, chosen)
    turns = await _turns(deps, profiles, query_reader, fan_out)
    caches = TenantCaches(
        profiles,
        Tenancy(pools.turn, now=clocks.now, clock=clocks.steady_s),
        policy,
        Progress(),
        partial(_drop_answers, fan_out, turns.repeats),
        fan_out.drop_answers,
    )
    stack.push_async_callback(deps.supervisor.stop)
    _keep_up(deps, turns.receipt_writer)
    if deps.part.has_upkeep:
        _keep_up_for_all(deps)
    deps.supervisor.start("notices", partial(caches.listen, deps.where.direct_dsn))
    audit = AuditLog(pools.background, keep_days=deps.settings.audit_days, clock=clocks.now)
    deps.supervisor.start("audit", audit.run)
    purges = Purges(deps.where.direct_dsn, every_s=deps.settings.purge_every_s, pgdata=deps.where.pgdata)
    if deps.part.has_upkeep:
        deps.supervisor.start("audit_sweep", partial(audit.sweep, every_s=_SWEEP_EVERY_S))
    if deps.part.has_upkeep and deps.settings.purge_every_s:
        deps.supervisor.start("purge", purges.run)
    for queue, written in (("receipts", turns.receipt_writer.wait_written), ("audit", audit.wait_written)):
        stack.push_async_callback(_flushed, queue, written, deps.settings.drain_grace_s)
    engine = await stack.enter_async_context(compile_engine.engine(deps.settings, pools.background))
    remote = await stack.enter_async_context(remote_memories(deps.settings.backends, os.environ))
    elsewhere = RemoteForgetter(pools.background, remote, now=clocks.now)
    return ServingDeps(
        settings=deps.settings,
        pools=pools,
        services=services_of(deps, connected, caches, turns, engine=engine, elsewhere=elsewhere),
        watch=deps.watch,
        clocks=clocks,
        supervisor=deps.supervisor,
        tenancy=caches.tenancy,
        connected=connected,
        fan_out=fan_out,
        embedder_trouble=query_reader.trouble,
        turns=turns,
        audit=audit,
        purges=purges,
        part=deps.part,
    )


def _drop_answers(fan_out: FanOut, repeats: context.TurnRepeats, scope: Scope | None) -> None:
    """Drop an owner's cached answers after a forget; with None, all."""
    if scope is not None and is_brain(scope.owner_id):
        scope = None  # every owner's answers may contain content withdrawn from the Brain
    fan_out.drop_answers(scope)
    repeats.forget(lambda key: scope is None or key[0] == scope)


async def _turns(
    deps: BaseDeps, profiles: ProfileCache, query_reader: QueryReader, fan_out: FanOut
) -> context.ContextDeps:
    """Return the dependencies for assembling and replaying turns."""
    pools, clocks = deps.pools, deps.clocks
    async with installation(pools.background) as connection:
        fences = FenceKeys(pools.turn, await keys.of(connection, keys.FENCE), clock=clocks.steady_s)
    meters = TokenMeters(pools.turn, clock=clocks.steady_s)
    writer = _receipt_writer(deps)
    assembler = Assembler(
        lookups=Lookups(profiles, meters, fences),
        slots=_slots(deps.settings),
        query_reader=query_reader,
        fan_out=fan_out,
        receipt_writer=writer,
        clocks=clocks,
    )
    replayer, repeats = Replayer(pools.background, fences, clocks), context.turn_repeats(clocks)
    return context.ContextDeps(assembler, replayer, meters, fences, writer, clocks, repeats)


def _slots(settings: Settings) -> AdmissionControl:
    """Return slots for as many concurrent turns as the turn pool's connections serve, leaving some for lookups.

    More turns would only wait for each other, because one process cannot judge and fit their candidates faster.
    """
    slots = max(1, settings.turn_pool_size // _CONNECTIONS_A_TURN)
    return AdmissionControl(
        max_in_flight=slots,
        max_waiting=_WAITING_PER_CALL * settings.max_in_flight,
        max_wait_s=settings.max_deadline_s,
        per_tenant_in_flight=slots,
        clock=asyncio.get_running_loop(),
    )


def _none(tenant_id: UUID) -> frozenset[Source]:
    """Return no sources."""
    return frozenset()


def _receipt_writer(deps: BaseDeps) -> ReceiptWriter:
    return ReceiptWriter(
        deps.pools.background,
        capacity=deps.settings.receipt_queue,
        keep_texts_days=deps.settings.receipt_text_days,
        clock=deps.clocks.now,
        on_receipt=deps.watch.turn_written,
    )


def _query_reader(deps: BaseDeps, chosen: embedders.Chosen) -> QueryReader:
    return QueryReader(
        deps.pools.turn,
        chosen.numbered,
        why_not=chosen.why_not,
        deadline_s=deps.settings.embed_deadline_s,
        clock=deps.clocks.steady_s,
    )


def _keep_up(deps: BaseDeps, writer: ReceiptWriter) -> None:
    """Start the background tasks that run as long as the process."""
    deps.supervisor.start("receipts", writer.run)
    deps.supervisor.start("memory", memory_trimming.keep_trimmed)


def _keep_up_for_all(deps: BaseDeps) -> None:
    """Start the background tasks that one process runs for all of its service."""
    pool, now = deps.pools.background, deps.clocks.now
    figures, start = deps.watch.figures, deps.supervisor.start
    start("budgets", BudgetWatch(pool, now=now, on_crossed=figures.alerted).run)
    start("compile_figures", partial(keep_counted, pool, figures, now=now))
    kept = retention_of(deps.settings)
    start("retention", partial(keep_pruned, pool, kept, now=now, every_s=_SWEEP_EVERY_S))
    start("receipt_texts", partial(receipt_writer.sweep_texts, pool, clock=now, every_s=_SWEEP_EVERY_S))


async def _flushed(queue: str, written: Callable[[], Awaitable[None]], grace_s: float) -> None:
    try:
        async with asyncio.timeout(grace_s):
            await written()
    except TimeoutError:
        log.warning("queue_not_flushed", extra={"queue": queue})
