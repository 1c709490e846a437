"""Opens a sidecar's listeners in order: its services on the gRPC server, and its HTTP servers."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from functools import partial
from uuid import UUID

import grpc
from google.protobuf.descriptor import ServiceDescriptor

from sidecar.context.assembler import Clocks
from sidecar.context.fan_out import FanOut
from sidecar.http.console.desk import Desk, Switches
from sidecar.http.console.site import console
from sidecar.http.health import BackendStates, Health
from sidecar.http.opening import open_console, open_health
from sidecar.http.sibling_processes import Impairments, SiblingProcesses, serve_report
from sidecar.http.webhooks import webhook_routes
from sidecar.process.parts import Part
from sidecar.rpc import admin, backends, brain, context, cost, decay, knowledge, memory, ontology, profile, wiki
from sidecar.rpc import compile as compiles
from sidecar.rpc import server as rpc_server
from sidecar.rpc.auth.identity import Identity, require_admin
from sidecar.rpc.server import GrpcServer
from sidecar.rpc.transport.admission import AdmissionControl
from sidecar.rpc.transport.call import MethodOptions, behaviours_of, service_handler
from sidecar.runtime.errors import Unavailable
from sidecar.runtime.settings import Settings
from sidecar.runtime.supervisor import Supervisor
from sidecar.services.audit import AuditLog
from sidecar.services.bundle import Services
from sidecar.services.forgetting.purges import Purges
from sidecar.services.tenants import Tenancy
from sidecar.sources.registry import ConnectedSources
from sidecar.telemetry import names
from sidecar.telemetry.watch import Watch
from sidecar.turn.items import Source
from store.db.postgres import Pool, Pools, installation

_LARGE_WRITES = frozenset({"AppendTurns", "BootstrapImport", "Ingest", "Retain"})


@dataclass(frozen=True, slots=True)
class ServingDeps:
    """The dependencies of services and listeners; `turns` has those of the context service."""

    settings: Settings
    pools: Pools
    services: Services
    watch: Watch
    clocks: Clocks
    supervisor: Supervisor
    tenancy: Tenancy
    connected: ConnectedSources
    fan_out: FanOut
    embedder_trouble: Callable[[], str]
    turns: context.ContextDeps
    audit: AuditLog
    purges: Purges
    part: Part


@dataclass(frozen=True, slots=True)
class Listeners:
    """A sidecar's gRPC server, and the addresses of its HTTP servers; empty for a server that is off."""

    server: GrpcServer
    http_address: str
    console_address: str


def _services(deps: ServingDeps) -> tuple[tuple[ServiceDescriptor, object], ...]:
    return (
        (context.SERVICE, _context(deps)),
        (memory.SERVICE, memory.MemoryService(deps.services.memories)),
        (decay.SERVICE, decay.DecayService(deps.services.decay, deps.services.episodes, deps.services.attestations)),
        (knowledge.SERVICE, knowledge.KnowledgeService(deps.services.knowledge)),
        (profile.SERVICE, profile.ProfileService(deps.services.profiles)),
        (admin.SERVICE, admin.AdminService(deps.services.tenants)),
        (backends.SERVICE, backends.BackendService(deps.services.backends)),
        (wiki.SERVICE, wiki.WikiService(deps.services.wiki)),
        (ontology.SERVICE, ontology.OntologyService(deps.services.governance, deps.services.scans)),
        (brain.SERVICE, brain.BrainService(deps.services.brain_context, deps.services.brain, deps.services.wiki)),
        (cost.SERVICE, cost.CostService(deps.services.costs, now=deps.clocks.now)),
        (compiles.SERVICE, compiles.CompileService(deps.services.compiles, deps.services.upkeep)),
    )


def _context(deps: ServingDeps) -> context.ContextService:
    services = deps.services
    return context.ContextService(
        deps.turns, threads=services.threads, memories=services.memories, receipts=services.receipts
    )


async def open_listeners(deps: ServingDeps, stack: AsyncExitStack) -> Listeners:
    """Open every listener until the stack closes. gRPC opens after health, and health reports draining before gRPC stops."""
    _watch_values(deps)
    draining = asyncio.Event()
    started: list[GrpcServer] = []
    impairments = Impairments(deps.fan_out.resting, deps.connected.resting, deps.embedder_trouble)
    members = _members(deps)
    if members is not None:
        impairments = members.joined(impairments)
    health = _health(deps, impairments, members, is_draining=draining.is_set, admin_of=partial(_admin_of, started))
    if deps.part.answers_calls and deps.part.directory is not None:
        socket_path = deps.part.directory / f"{deps.part.name}.sock"
        await serve_report(stack, socket_path, impairments, deps.watch.figures)
    webhooks = webhook_routes(deps.services.webhooks, watch=deps.watch)
    http_address = await open_health(stack, deps.settings, health, deps.watch.figures, extra=webhooks)
    server = await rpc_server.start(
        deps.settings,
        partial(_handlers, deps),
        deps.tenancy.not_before,
        watch=deps.watch,
        audit=deps.audit,
        shares_ports=deps.part.answers_calls,
    )
    started.append(server)
    deps.supervisor.start("sockets", server.keep_sockets)
    deps.watch.figures.watch_value(names.SPACES_UNCLAIMED, lambda: server.authenticator.unclaimed_count)
    stack.push_async_callback(server.stop, deps.settings.drain_grace_s)
    stack.callback(draining.set)
    pages = console(_desk(deps, server, impairments), hosts=deps.settings.console_hosts)
    console_address = await open_console(stack, deps.settings, pages)
    return Listeners(server, http_address, console_address)


def _handlers(deps: ServingDeps, turn: MethodOptions, other: MethodOptions) -> list[grpc.GenericRpcHandler]:
    """Return the handlers of every service; long calls and large writes have their own options."""
    long = rpc_server.stream_options(deps.settings)
    apart = dict.fromkeys(compiles.LONG_CALLS | admin.LONG_CALLS | memory.LONG_CALLS | ontology.LONG_CALLS, long)
    apart |= dict.fromkeys(_LARGE_WRITES, rpc_server.write_options(deps.settings, other)) | {"AssembleContext": turn}
    _watch_turn_calls(deps.watch, turn.admission)
    return [
        service_handler(service, behaviours_of(service, one), other, apart=_apart(service, apart))
        for service, one in _services(deps)
    ]


def _health(
    deps: ServingDeps,
    impairments: Impairments,
    members: SiblingProcesses | None,
    *,
    is_draining: Callable[[], bool],
    admin_of: Callable[[str], Awaitable[UUID]],
) -> Health:
    """Return the health of this process, or of all `members` if there are any."""
    health = Health(
        partial(_reach, deps.pools.background),
        is_draining,
        lambda: deps.supervisor.restarts,
        impairments.sources,
        BackendStates(impairments.backends, deps.connected.configured, admin_of),
        impairments.embedder,
    )
    return health if members is None else replace(health, processes=members.states, ask_them=members.ask)


def _members(deps: ServingDeps) -> SiblingProcesses | None:
    """Return the other processes of the service, if this one has the HTTP servers of several; their metrics join its own."""
    if deps.part.is_whole or deps.part.answers_calls or deps.part.directory is None:
        return None
    members = SiblingProcesses(deps.part.directory)
    deps.supervisor.start("members", members.keep_asking)
    deps.watch.figures.join(deps.part.name, members.figures)
    return members


def _desk(deps: ServingDeps, server: GrpcServer, impairments: Impairments) -> Desk:
    """Return the dependencies of the console's pages; its visitors authenticate like callers of the server."""
    return Desk(
        deps.services,
        deps.turns.assembler,
        deps.turns.replayer,
        deps.clocks,
        partial(_signed_in, server),
        deps.watch,
        impairments.sources,
        impairments.embedder,
        Switches(frozenset(source.value for source in deps.connected.sources), impairments.backends),
        is_behind_tls=deps.settings.console_tls_proxy,
        audit=deps.audit,
    )


def _watch_values(deps: ServingDeps) -> None:
    """Register the metrics read from other components: dropped receipts and audit entries, forgettings, breakers, embedder."""
    figures = deps.watch.figures
    figures.watch_value(names.RECEIPTS_DROPPED, lambda: deps.turns.receipt_writer.dropped_count)
    figures.watch_value(names.AUDIT_DROPPED, lambda: deps.audit.dropped_count)
    figures.watch_value(names.PURGE_WAITING, lambda: deps.purges.waiting_count)
    figures.watch_values(names.FORGOTTEN, lambda: deps.services.memories.forgetting.counts)
    figures.watch_value(names.EMBEDDER_FAILING, lambda: float(bool(deps.embedder_trouble())))
    figures.watch_values(names.BREAKER, lambda: _breakers(deps.fan_out))
    figures.watch_values(
        names.BACKEND_BREAKER, lambda: {name: float(one) for name, one in deps.connected.resting().items()}
    )


def _watch_turn_calls(watch: Watch, admission: AdmissionControl) -> None:
    watch.figures.watch_values(
        names.TURN_CALLS, lambda: {"running": admission.in_flight_count, "queued": admission.waiting_count}
    )


async def _reach(pool: Pool) -> None:
    """Return once the database has answered. Raises a StoreError."""
    async with installation(pool, read_only=True):
        pass


def _breakers(fan_out: FanOut) -> dict[str, float]:
    resting = set(fan_out.resting())
    return {source.value: float(source.value in resting) for source in Source}


async def _admin_of(started: Sequence[GrpcServer], token: str) -> UUID:
    """Return the tenant of an admin's token. Raises the errors of a call, and Unavailable until the server has started."""
    if not started:
        raise Unavailable
    identity = await _signed_in(started[0], token)
    require_admin(identity)
    return identity.tenant_id


async def _signed_in(server: GrpcServer, token: str) -> Identity:
    """Return the identity of a token, verified like that of a call."""
    return await server.authenticator.authenticate((("authorization", f"Bearer {token}"),), {})


def _apart(service: ServiceDescriptor, apart: Mapping[str, MethodOptions]) -> dict[str, MethodOptions]:
    """Return the service's methods that have their own options."""
    return {name: apart[name] for name in apart.keys() & service.methods_by_name.keys()}
