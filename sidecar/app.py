"""The composition root: pools, sources, assembler, services and server are built here and nowhere else."""

from __future__ import annotations

import asyncio
import gc
import logging
import signal
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Protocol
from uuid import UUID

import grpc
from google.protobuf.descriptor import ServiceDescriptor

from models import tokens
from sidecar import database, recorder
from sidecar.assembler import Assembler, Clocks
from sidecar.database import Database
from sidecar.fences import Fences
from sidecar.inquiry import Inquiry
from sidecar.meters import Meters
from sidecar.profiles import Profiles
from sidecar.recorder import Recorder
from sidecar.replayer import Replayer
from sidecar.rpc import admin, context, knowledge, memory, profile
from sidecar.rpc import server as rpc_server
from sidecar.rpc.call import Behaviour, Terms, service_handler
from sidecar.rpc.server import Server
from sidecar.settings import Settings
from sidecar.sources import ContextSource
from sidecar.sources.knowledge import KnowledgeSource
from sidecar.sources.memory import MemorySource
from sidecar.sources.thread import ThreadSource
from sidecar.sources.wiki import WikiSource
from sidecar.sources.workspace import WorkspaceSource
from sidecar.supervisor import Supervisor
from sidecar.tenancy import Tenancy
from sidecar.turn.items import Source
from store import keys, notices
from store.postgres import Pools, installation, open_pools
from store.templates import PROFILE_CHANGED

log = logging.getLogger(__name__)

_SWEEP_EVERY_S = 3600.0


class Service(Protocol):
    """What a service gives to be served."""

    @property
    def behaviours(self) -> Mapping[str, Behaviour]:
        """The service's methods by their names in the contract."""


@dataclass(frozen=True, slots=True)
class App:
    """A running sidecar: where it listens, and what tests and the demo reach into."""

    server: Server
    pools: Pools
    recorder: Recorder
    database: Database

    @property
    def addresses(self) -> Sequence[str]:
        """The addresses it listens on, with the ports that were chosen."""
        return self.server.addresses


async def serve(settings: Settings) -> None:
    """Serve until SIGTERM or SIGINT, then drain: health says NOT_SERVING, calls under way get the grace to end."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    async with running(settings) as app:
        calm_collector()
        log.info("serving", extra={"addresses": list(app.addresses)})
        await stop.wait()
        log.info("draining", extra={"grace_s": settings.drain_grace_s})


def calm_collector() -> None:
    """Have Python's cyclic collector leave what was made so far alone, and look at the rest less often.

    A turn makes ten thousand values and hardly a cycle; collecting every 700 of them took a tenth of the processor.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)


@asynccontextmanager
async def running(settings: Settings, *, sources: dict[Source, ContextSource] | None = None) -> AsyncIterator[App]:
    """Yield a serving sidecar, and stop it in order at the end. `sources` replaces the built-in ones.

    Raises a StartRefused or StoreError that says what to mend.
    """
    rpc_server.check_addresses(settings)
    async with AsyncExitStack() as stack:
        where = await stack.enter_async_context(database.opened(settings))
        await database.check(where)
        pools = await open_pools(where.dsn, database.pools_config(settings))
        stack.push_async_callback(pools.close)
        app = await _started(settings, where, pools, sources or _sources(settings, pools), stack)
        yield app


async def _started(
    settings: Settings,
    where: Database,
    pools: Pools,
    sources: dict[Source, ContextSource],
    stack: AsyncExitStack,
) -> App:
    clocks = Clocks(now=partial(datetime.now, UTC), steady_s=time.monotonic)
    await asyncio.to_thread(tokens.warm)
    tenancy = Tenancy(pools.turn, now=clocks.now, clock=clocks.steady_s)
    profiles = Profiles(pools.turn, clock=clocks.steady_s)
    meters = Meters(pools.turn, clock=clocks.steady_s)
    async with installation(pools.background) as connection:
        fences = Fences(pools.turn, await keys.of(connection, keys.FENCE), clock=clocks.steady_s)
    writer = Recorder(
        pools.background, capacity=settings.receipt_queue, keep_texts_days=settings.receipt_text_days, clock=clocks.now
    )
    supervisor = Supervisor()
    stack.push_async_callback(supervisor.stop)
    supervisor.start("receipts", writer.run)
    supervisor.start(
        "receipt_texts", partial(recorder.sweep_texts, pools.background, clock=clocks.now, every_s=_SWEEP_EVERY_S)
    )
    changed = partial(_changed, profiles, tenancy)
    listener = notices.Listener(on_notice=partial(_heard, changed), on_connected=changed)
    supervisor.start("notices", partial(notices.listen, where.direct_dsn, [PROFILE_CHANGED], listener))
    stack.push_async_callback(_flushed, writer, settings.drain_grace_s)
    assembler = Assembler(
        inquiry=Inquiry(sources, clock=clocks.steady_s),
        profiles=profiles,
        meters=meters,
        fences=fences,
        recorder=writer,
        clocks=clocks,
    )
    replayer = Replayer(pools.background, fences, clocks)
    services: tuple[tuple[ServiceDescriptor, Service], ...] = (
        (
            context.SERVICE,
            context.ContextService(context.Parts(assembler, replayer, pools, meters, fences, writer, clocks)),
        ),
        (memory.SERVICE, memory.MemoryService(pools, now=clocks.now)),
        (knowledge.SERVICE, knowledge.KnowledgeService(pools, now=clocks.now, count=meters.reference.count)),
        (profile.SERVICE, profile.ProfileService(pools, now=clocks.now, changed=changed)),
        (admin.SERVICE, admin.AdminService(pools, now=clocks.now, changed=changed)),
    )

    def handlers(turn: Terms, other: Terms) -> list[grpc.GenericRpcHandler]:
        return [service_handler(name, one.behaviours, other, apart=_apart(one, turn)) for name, one in services]

    server = await rpc_server.start(settings, handlers, tenancy.not_before)
    stack.push_async_callback(server.stop, settings.drain_grace_s)
    return App(server, pools, writer, where)


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


def _heard(changed: Callable[[UUID], None], notice: notices.Notice) -> None:
    try:
        tenant_id = UUID(notice.payload)
    except ValueError:
        log.warning("notice_ignored", extra={"channel": notice.channel})
        return
    changed(tenant_id)


def _changed(profiles: Profiles, tenancy: Tenancy, tenant_id: UUID | None = None) -> None:
    """Let go of what is remembered of a tenant; of all, when notices may have been missed."""
    profiles.forget(tenant_id)
    tenancy.forget(tenant_id)


def _apart(service: Service, turn: Terms) -> dict[str, Terms]:
    """Return what is served on a turn's terms: the one call that a model waits for."""
    return {"AssembleContext": turn} if "AssembleContext" in service.behaviours else {}


async def _flushed(writer: Recorder, grace_s: float) -> None:
    try:
        async with asyncio.timeout(grace_s):
            await writer.wait_written()
    except TimeoutError:
        log.warning("receipts_left_behind")
