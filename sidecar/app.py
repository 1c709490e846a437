"""The composition root: pools, sources, assembler, services and server are built here and nowhere else."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import signal
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from uuid import UUID

from models import tokens
from sidecar import compiling, database, embedders, recorder
from sidecar.assembler import Assembler, Clocks, Lookups
from sidecar.backends.rulings import Rulings
from sidecar.backing import back, configured
from sidecar.database import Database
from sidecar.embedding import Embedding, embedding_here
from sidecar.fences import Fences
from sidecar.inquiry import Inquiry
from sidecar.meters import Meters
from sidecar.profiles import Profiles
from sidecar.recall import Recall
from sidecar.recorder import Recorder
from sidecar.replayer import Replayer
from sidecar.rpc import server as rpc_server
from sidecar.rpc.progress import Progress
from sidecar.rpc.server import Server
from sidecar.serving import Works, open_all
from sidecar.settings import Settings
from sidecar.sources import ContextSource
from sidecar.sources.knowledge import KnowledgeSource
from sidecar.sources.memory import MemorySource
from sidecar.sources.thread import ThreadSource
from sidecar.sources.wiki import WikiSource
from sidecar.sources.workspace import WorkspaceSource
from sidecar.spending import BudgetWatch
from sidecar.standing import keep_counted
from sidecar.supervisor import Supervisor
from sidecar.telemetry.figures import Figures
from sidecar.telemetry.watch import Watch, WatchConfig
from sidecar.tenancy import Tenancy
from sidecar.turn.items import Source
from sidecar.warming import warm
from sidecar.worker import keep_child
from store import keys, notices
from store.jobs import PROGRESS
from store.postgres import Pools, installation, open_pools
from store.templates import PROFILE_CHANGED

log = logging.getLogger(__name__)

_SWEEP_EVERY_S = 3600.0


@dataclass(frozen=True, slots=True)
class App:
    """A running sidecar: where it listens, and what tests and the demo reach into."""

    server: Server
    pools: Pools
    recorder: Recorder
    database: Database
    http_address: str = ""
    console_address: str = ""
    embedding: Embedding | None = None

    @property
    def addresses(self) -> Sequence[str]:
        """The addresses it listens on, with the ports that were chosen."""
        return self.server.addresses


async def serve(settings: Settings, watch: Watch) -> None:
    """Serve until SIGTERM or SIGINT, then drain: health says NOT_SERVING, calls under way get the grace to end."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    async with (
        running(settings, watch=watch, is_warmed=True, embeds=not settings.worker) as app,
        _working(settings, app.database, watch.figures) as worker,
    ):
        calm_collector()
        doors = {"http": app.http_address, "console": app.console_address}
        log.info("serving", extra={"addresses": list(app.addresses), **doors})
        await stop.wait()
        log.info("draining", extra={"grace_s": settings.drain_grace_s})
        # Side by side: a worker in the middle of a batch must not put off the word that no more calls are taken.
        await asyncio.gather(app.server.stop(settings.drain_grace_s), worker.stop())


@asynccontextmanager
async def _working(settings: Settings, where: Database, figures: Figures) -> AsyncIterator[Supervisor]:
    """Keep a worker beside the service, in a process of its own."""
    supervisor = Supervisor()
    if settings.worker:
        supervisor.start("worker", partial(keep_child, settings, where, figures))
    try:
        yield supervisor
    finally:
        await supervisor.stop()


def calm_collector() -> None:
    """Have Python's cyclic collector leave what was made so far alone, and look at the rest less often.

    A turn makes ten thousand values and hardly a cycle; collecting every 700 of them took a tenth of the processor.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(200_000, 20, 20)


@asynccontextmanager
async def running(
    settings: Settings,
    *,
    sources: dict[Source, ContextSource] | None = None,
    watch: Watch | None = None,
    is_warmed: bool = False,
    embeds: bool = True,
) -> AsyncIterator[App]:
    """Yield a serving sidecar, and stop it in order at the end. `sources` replaces the built-in ones.

    `watch` takes the place of one that counts and sends nothing. With `is_warmed`, the first turn waits for no connections.
    Without `embeds`, what is written gets its vectors from a worker elsewhere.

    Raises a StartRefused or StoreError that says what to mend.
    """
    rpc_server.check_addresses(settings)
    async with AsyncExitStack() as stack:
        where = await stack.enter_async_context(database.opened(settings))
        await database.check(where)
        pools = await open_pools(where.dsn, database.pools_config(settings))
        stack.push_async_callback(pools.close)
        if is_warmed:
            await warm(pools.turn, connections=settings.turn_pool_size)
        telling = watch or Watch(WatchConfig(slow_turn_s=settings.slow_turn_s, keeps_content=settings.capture_content))
        app = await _started(settings, where, (pools, telling), sources or _sources(settings, pools), stack)
        if embeds and app.embedding is not None:
            supervisor = Supervisor()
            stack.push_async_callback(supervisor.stop)
            supervisor.start("embedding", app.embedding.keep)
        yield app


async def _started(
    settings: Settings,
    where: Database,
    held: tuple[Pools, Watch],
    sources: dict[Source, ContextSource],
    stack: AsyncExitStack,
) -> App:
    pools, watch = held
    clocks = Clocks(now=partial(datetime.now, UTC), steady_s=time.monotonic)
    await asyncio.to_thread(tokens.warm)
    tenancy = Tenancy(pools.turn, now=clocks.now, clock=clocks.steady_s)
    rulings = Rulings(pools.turn, clock=clocks.steady_s)
    backing = back(sources, configured(settings.backends, os.environ), pools.turn, rulings)
    stack.push_async_callback(backing.close)
    profiles = Profiles(pools.turn, clock=clocks.steady_s, base=backing.base)
    meters = Meters(pools.turn, clock=clocks.steady_s)
    async with installation(pools.background) as connection:
        fences = Fences(pools.turn, await keys.of(connection, keys.FENCE), clock=clocks.steady_s)
    writer = _recorder(settings, pools, watch, clocks)
    chosen = await embedders.choose(settings, pools.background)
    stack.push_async_callback(chosen.close)
    supervisor = Supervisor()
    stack.push_async_callback(supervisor.stop)
    _keep_up(supervisor, (pools, watch), writer, clocks)
    changed = partial(_changed, profiles, tenancy, rulings)
    progress = Progress()
    _listen(supervisor, where, changed, progress)
    stack.push_async_callback(_flushed, writer, settings.drain_grace_s)
    inquiry = Inquiry(backing.sources, clock=clocks.steady_s)
    assembler = Assembler(
        lookups=Lookups(profiles, meters, fences),
        recall=_recall(settings, pools, chosen, clocks),
        inquiry=inquiry,
        recorder=writer,
        clocks=clocks,
    )
    works = Works(
        settings=settings,
        pools=pools,
        watch=watch,
        clocks=clocks,
        supervisor=supervisor,
        recorder=writer,
        tenancy=tenancy,
        backing=backing,
        rulings=rulings,
        changed=changed,
        progress=progress,
        meters=meters,
        fences=fences,
        inquiry=inquiry,
        assembler=assembler,
        replayer=Replayer(pools.background, fences, clocks),
        engine=await stack.enter_async_context(compiling.engine(settings, pools.background)),
    )
    doors = await open_all(works, stack)
    embedding = embedding_here(chosen.numbered, settings, pools.background, now=clocks.now)
    return App(doors.server, pools, writer, where, doors.http_address, doors.console_address, embedding)


def _listen(supervisor: Supervisor, where: Database, changed: Callable[..., None], progress: Progress) -> None:
    listener = notices.Listener(
        on_notice=partial(_heard, changed, progress), on_connected=partial(_connected, changed, progress)
    )
    supervisor.start("notices", partial(notices.listen, where.direct_dsn, [PROFILE_CHANGED, PROGRESS], listener))


def _recorder(settings: Settings, pools: Pools, watch: Watch, clocks: Clocks) -> Recorder:
    return Recorder(
        pools.background,
        capacity=settings.receipt_queue,
        keep_texts_days=settings.receipt_text_days,
        clock=clocks.now,
        told=watch.turn_told,
    )


def _recall(settings: Settings, pools: Pools, chosen: embedders.Chosen, clocks: Clocks) -> Recall:
    return Recall(
        pools.turn,
        chosen.numbered,
        why_not=chosen.why_not,
        deadline_s=settings.embed_deadline_s,
        clock=clocks.steady_s,
    )


def _keep_up(supervisor: Supervisor, held: tuple[Pools, Watch], writer: Recorder, clocks: Clocks) -> None:
    """Start what goes on behind the calls for as long as the process lives."""
    pools, watch = held
    supervisor.start("receipts", writer.run)
    budget_watch = BudgetWatch(pools.background, now=clocks.now, told=watch.figures.alerted)
    supervisor.start("budgets", budget_watch.run)
    supervisor.start("compile_figures", partial(keep_counted, pools.background, watch.figures, now=clocks.now))
    supervisor.start(
        "receipt_texts", partial(recorder.sweep_texts, pools.background, clock=clocks.now, every_s=_SWEEP_EVERY_S)
    )


def _sources(settings: Settings, pools: Pools) -> dict[Source, ContextSource]:
    sources: dict[Source, ContextSource] = {
        Source.THREAD: ThreadSource(pools.turn),
        Source.KNOWLEDGE: KnowledgeSource(pools.turn),
        Source.MEMORY: MemorySource(pools.turn),
        Source.WIKI: WikiSource(pools.turn),
    }
    if settings.workspace_root is not None:
        sources[Source.WORKSPACE] = WorkspaceSource(pools.turn, settings.workspace_root)
    return sources


def _connected(changed: Callable[[], None], progress: Progress) -> None:
    changed()
    progress.missed()


def _heard(changed: Callable[[UUID], None], progress: Progress, notice: notices.Notice) -> None:
    if notice.channel == PROGRESS:
        progress.moved(notice.payload)
        return
    try:
        tenant_id = UUID(notice.payload)
    except ValueError:
        log.warning("notice_ignored", extra={"channel": notice.channel})
        return
    changed(tenant_id)


def _changed(profiles: Profiles, tenancy: Tenancy, rulings: Rulings, tenant_id: UUID | None = None) -> None:
    """Let go of what is remembered of a tenant; of all, when notices may have been missed."""
    profiles.forget(tenant_id)
    tenancy.forget(tenant_id)
    rulings.forget(tenant_id)


async def _flushed(writer: Recorder, grace_s: float) -> None:
    try:
        async with asyncio.timeout(grace_s):
            await writer.wait_written()
    except TimeoutError:
        log.warning("receipts_left_behind")
