"""What a started sidecar answers with: its services behind the gRPC server, and its HTTP doors, opened in order."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import partial
from typing import Protocol
from uuid import UUID

import grpc
from google.protobuf.descriptor import ServiceDescriptor

from sidecar.context.assembler import Clocks
from sidecar.context.fan_out import FanOut
from sidecar.http.console.desk import Desk, Switches
from sidecar.http.console.site import console
from sidecar.http.doors import BackendStates, Health
from sidecar.http.opening import open_console, open_doors
from sidecar.http.webhooks import webhook_routes
from sidecar.rpc import admin, backends, context, cost, knowledge, memory, profile, wiki
from sidecar.rpc import compile as compiles
from sidecar.rpc import server as rpc_server
from sidecar.rpc.auth.identity import Identity, require_admin
from sidecar.rpc.server import GrpcServer
from sidecar.rpc.transport.auditing import AuditLog
from sidecar.rpc.transport.call import Behaviour, MethodOptions, service_handler
from sidecar.runtime.errors import Unavailable
from sidecar.runtime.settings import Settings
from sidecar.runtime.supervisor import Supervisor
from sidecar.services.bundle import Services
from sidecar.services.tenants import Tenancy
from sidecar.sources.registry import Backing
from sidecar.telemetry import names
from sidecar.telemetry.watch import Watch
from sidecar.turn.items import Source
from store.db.postgres import Pools

_LARGE_WRITES = frozenset({"AppendTurns", "BootstrapImport", "Ingest", "Retain"})


class Service(Protocol):
    """What a service gives to be served."""

    @property
    def behaviours(self) -> Mapping[str, Behaviour]:
        """The service's methods by their names in the contract."""


@dataclass(frozen=True, slots=True)
class ServingDeps:
    """What the services and the doors stand on; `turns` are the parts of the one that turns are asked of."""

    settings: Settings
    pools: Pools
    services: Services
    watch: Watch
    clocks: Clocks
    supervisor: Supervisor
    tenancy: Tenancy
    backing: Backing
    fan_out: FanOut
    embedder_trouble: Callable[[], str]
    turns: context.ContextDeps
    audit: AuditLog


@dataclass(frozen=True, slots=True)
class Doors:
    """Where a sidecar answers: its gRPC server, and the addresses of its HTTP doors, empty for those that are off."""

    server: GrpcServer
    http_address: str
    console_address: str


def _services(works: ServingDeps) -> tuple[tuple[ServiceDescriptor, Service], ...]:
    return (
        (
            context.SERVICE,
            context.ContextService(works.turns, threads=works.services.threads, memories=works.services.memories),
        ),
        (memory.SERVICE, memory.MemoryService(works.services.memories)),
        (knowledge.SERVICE, knowledge.KnowledgeService(works.services.knowledge)),
        (profile.SERVICE, profile.ProfileService(works.services.profiles)),
        (admin.SERVICE, admin.AdminService(works.services.tenants)),
        (backends.SERVICE, backends.BackendService(works.services.backends)),
        (wiki.SERVICE, wiki.WikiService(works.services.wiki)),
        (cost.SERVICE, cost.CostService(works.services.costs, now=works.clocks.now)),
        (compiles.SERVICE, compiles.CompileService(works.services.compiles, works.services.upkeep)),
    )


async def open_all(works: ServingDeps, stack: AsyncExitStack) -> Doors:
    """Open every door until the stack ends; it takes new calls last, and is the first to turn them away."""
    services = _services(works)
    long = rpc_server.stream_terms(works.settings)

    def handlers(turn: MethodOptions, other: MethodOptions) -> list[grpc.GenericRpcHandler]:
        apart = dict.fromkeys(compiles.LONG_CALLS | admin.LONG_CALLS, long)
        apart |= dict.fromkeys(_LARGE_WRITES, rpc_server.write_terms(other)) | {"AssembleContext": turn}
        return [service_handler(name, one.behaviours, other, apart=_apart(one, apart)) for name, one in services]

    _watch_values(works)
    draining = asyncio.Event()
    started: list[GrpcServer] = []
    health = Health(
        works.pools.background,
        draining.is_set,
        lambda: works.supervisor.restarts,
        works.fan_out.resting,
        BackendStates(works.backing.resting, works.backing.places, partial(_admin_of, started)),
        works.embedder_trouble,
    )
    http_address = await open_doors(
        stack,
        works.settings,
        health,
        works.watch.figures,
        extra=webhook_routes(works.services.webhooks, watch=works.watch),
    )
    server = await rpc_server.start(
        works.settings, handlers, works.tenancy.not_before, watch=works.watch, audit=works.audit
    )
    started.append(server)
    works.supervisor.start("sockets", server.keep_sockets)
    works.watch.figures.watch_value(names.SPACES_UNCLAIMED, lambda: server.authenticator.unclaimed_count)
    stack.push_async_callback(server.stop, works.settings.drain_grace_s)
    stack.callback(draining.set)
    pages = console(_desk(works, server), hosts=works.settings.console_hosts)
    console_address = await open_console(stack, works.settings, pages)
    return Doors(server, http_address, console_address)


def _desk(works: ServingDeps, server: GrpcServer) -> Desk:
    """Return what the console's pages are made with; whoever visits is checked as a caller of the server."""
    return Desk(
        works.pools,
        works.services,
        works.turns.assembler,
        works.turns.replayer,
        works.turns.recorder,
        works.clocks,
        partial(_signed_in, server),
        works.watch,
        works.fan_out.resting,
        works.embedder_trouble,
        Switches(
            frozenset(source.value for source in works.backing.sources),
            works.backing.resting,
        ),
        is_behind_tls=works.settings.console_tls_proxy,
        audit=works.audit,
    )


def _watch_values(works: ServingDeps) -> None:
    """Have the metrics show what others keep: receipts and audit entries dropped, breakers, and whether the embedder fails."""
    figures = works.watch.figures
    figures.watch_value(names.RECEIPTS_DROPPED, lambda: works.turns.recorder.dropped_count)
    figures.watch_value(names.AUDIT_DROPPED, lambda: works.audit.dropped_count)
    figures.watch_value(names.EMBEDDER_FAILING, lambda: float(bool(works.embedder_trouble())))
    figures.watch_values(names.BREAKER, lambda: _breakers(works.fan_out))
    figures.watch_values(
        names.BACKEND_BREAKER, lambda: {name: float(one) for name, one in works.backing.resting().items()}
    )


def _breakers(fan_out: FanOut) -> dict[str, float]:
    resting = set(fan_out.resting())
    return {source.value: float(source.value in resting) for source in Source}


async def _admin_of(started: Sequence[GrpcServer], token: str) -> UUID:
    """Return the tenant whose admin's token this is. Raises what a call would, Unavailable until calls are taken."""
    if not started:
        raise Unavailable
    identity = await _signed_in(started[0], token)
    require_admin(identity)
    return identity.tenant_id


async def _signed_in(server: GrpcServer, token: str) -> Identity:
    """Return whose token this is, by the rules of a call."""
    return await server.authenticator.authenticate((("authorization", f"Bearer {token}"),), {})


def _apart(service: Service, apart: Mapping[str, MethodOptions]) -> dict[str, MethodOptions]:
    """Return which of the service's calls are served on terms of their own."""
    return {name: apart[name] for name in apart.keys() & service.behaviours.keys()}
