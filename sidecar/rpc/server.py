"""The gRPC server: its services behind the interceptor, health, reflection, addresses, and a graceful stop."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import grpc
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection

from sidecar.rpc.auth.authentication import Authenticator, NotBefore
from sidecar.rpc.auth.identity import IdentitySettings
from sidecar.rpc.transport.admission import AdmissionControl
from sidecar.rpc.transport.call import MethodOptions
from sidecar.rpc.transport.interceptor import CallInterceptor
from sidecar.rpc.transport.listen import check_listen_address, prepare_socket_directory
from sidecar.rpc.transport.tls_files import renewed_credentials, tls_files
from sidecar.runtime.errors import SettingInvalid, StartRefused
from sidecar.runtime.open_files import most_connections
from sidecar.runtime.settings import Settings
from sidecar.services.audit import AuditLog
from sidecar.telemetry.watch import Watch
from sidecar.v1 import (
    admin_pb2,
    backends_pb2,
    brain_pb2,
    compile_pb2,
    context_pb2,
    cost_pb2,
    decay_pb2,
    knowledge_pb2,
    memory_pb2,
    ontology_pb2,
    profile_pb2,
    wiki_pb2,
)

log = logging.getLogger(__name__)

Handlers = Callable[[MethodOptions, MethodOptions], Iterable[grpc.GenericRpcHandler]]

_OTHER_DEADLINE_S = 30.0
_WRITE_DEADLINE_S = 120.0
_LONGEST_WRITE_S = 600.0
_LARGE_WAITING = 8
_STREAM_DEADLINE_S = 3600.0
_PATIENCE_S = 5.0
_FAREWELL_S = 1.0  # for answers that are being sent
_SOCKETS_EVERY_S = 0.5
_HANDSHAKE_MS = 10_000  # gRPC's own two minutes let a few hundred silent connections keep all others out
_PINGS_EVERY_MS = 1_000  # with gRPC's own five minutes, a client that looks whether a long call goes on loses it
_KEEPALIVE_MS = 60_000  # gRPC's own two hours keep the connections of callers that are gone

_CONTRACT = (
    context_pb2, memory_pb2, decay_pb2, knowledge_pb2, profile_pb2, admin_pb2, backends_pb2, wiki_pb2, brain_pb2, compile_pb2,
    cost_pb2, ontology_pb2,
)  # fmt: skip
SERVICE_NAMES = tuple(one.full_name for file in _CONTRACT for one in file.DESCRIPTOR.services_by_name.values())


@dataclass(frozen=True, slots=True)
class Gate:
    """The interceptor of every call, and its authenticator."""

    interceptor: CallInterceptor
    authenticator: Authenticator


class GrpcServer:
    """A listening server. Health is SERVING from the start; once it is NOT_SERVING, new calls are refused."""

    def __init__(
        self, make: Callable[[], grpc.aio.Server], servicer: health.aio.HealthServicer, gate: Gate, settings: Settings
    ) -> None:
        """Prepare to serve at the addresses of the settings. `make` returns a gRPC server that has the services and does not
        listen yet.
        """
        self._make = make
        self._servers: list[grpc.aio.Server] = []
        self._health = servicer
        self._gate = gate
        self._settings = settings
        self._is_stopping = False
        self._credentials: grpc.ServerCredentials | None = None
        self.addresses: tuple[str, ...] = ()

    @property
    def authenticator(self) -> Authenticator:
        """The authenticator that verifies callers' identities."""
        return self._gate.authenticator

    async def listen(self) -> None:
        """Open every address of the settings and start. Raises SettingInvalid for an address that cannot be opened."""
        self.addresses = await self._serve(self._settings.listen)
        for name in ("", *SERVICE_NAMES):
            await self._health.set(name, health_pb2.HealthCheckResponse.SERVING)

    async def keep_sockets(self) -> None:
        """Recreate each unix socket whose file was removed, until the server stops. Calls on the old socket continue.

        Raises SettingInvalid or SocketDirectoryUnsafe for a socket that cannot be recreated.
        """
        paths = {text: check_listen_address(text, is_tls=True).socket_path for text in self._settings.listen}
        while True:
            await asyncio.sleep(_SOCKETS_EVERY_S)
            lost = [text for text, path in paths.items() if path is not None and _is_gone(path)]
            if lost and not self._is_stopping:
                log.warning("sockets_lost", extra={"addresses": lost})
                # The old server is kept: stopping it now would abort its calls and remove the new file.
                await self._serve(lost)

    async def stop(self, grace_s: float) -> None:
        """Report NOT_SERVING, refuse new calls, give running ones the grace period, and cancel the rest. Idempotent.

        Streams that watch the server's health stay open until our own calls have ended; this does not wait for them.
        """
        self._is_stopping = True
        self._gate.interceptor.close()
        with suppress(TimeoutError):
            async with asyncio.timeout(_FAREWELL_S):
                await self._health.enter_graceful_shutdown()
        # gRPC stops only now: it cancels later calls, and clients do not retry a cancelled call.
        with suppress(TimeoutError):
            async with asyncio.timeout(grace_s):
                await self._gate.interceptor.wait_idle()
        await asyncio.gather(*(server.stop(min(grace_s, _FAREWELL_S)) for server in self._servers))
        await self._gate.authenticator.stop()

    async def _serve(self, addresses: Sequence[str]) -> tuple[str, ...]:
        """Open the addresses with an additional gRPC server, and return the actual ones."""
        if self._credentials is None and (files := tls_files(self._settings)) is not None:
            self._credentials = renewed_credentials(files)
        server = self._make()
        opened = tuple([_open(server, text, self._credentials) for text in addresses])
        self._servers.append(server)
        await server.start()
        return opened


def _is_gone(path: Path) -> bool:
    return not os.path.lexists(path)


def _open(server: grpc.aio.Server, text: str, credentials: grpc.ServerCredentials | None) -> str:
    address = check_listen_address(text, is_tls=credentials is not None)
    if address.socket_path is not None:
        prepare_socket_directory(address.socket_path.parent)
    try:
        if credentials is not None and address.socket_path is None:
            port = server.add_secure_port(address.target, credentials)
        else:
            port = server.add_insecure_port(address.target)
    except RuntimeError as error:
        raise SettingInvalid("SIDECAR_LISTEN", f"{text} cannot be opened", "free the port or choose another") from error
    return address.target if address.socket_path is not None else f"{address.target.rpartition(':')[0]}:{port}"


async def start(
    settings: Settings,
    handlers: Handlers,
    not_before: NotBefore,
    *,
    watch: Watch | None = None,
    audit: AuditLog | None = None,
    shares_ports: bool = False,
) -> GrpcServer:
    """Return the listening server; `handlers` gets the options for turns and those for other calls.

    `watch` is notified of every call, `audit` records those of admins. With `shares_ports`, other processes may listen at the
    same ports. Raises a StartRefused naming the invalid setting.
    """
    authenticator = Authenticator(identity_settings(settings), not_before=not_before)
    interceptor = CallInterceptor(authenticator, watch, audit)
    servicer = health.aio.HealthServicer()
    generic = tuple(handlers(_turn_options(settings), _other_options(settings)))

    def make() -> grpc.aio.Server:
        server = grpc.aio.server(interceptors=[interceptor], options=_options(settings, shares_ports=shares_ports))
        health_pb2_grpc.add_HealthServicer_to_server(servicer, server)
        server.add_generic_rpc_handlers(generic)
        if not settings.production:
            reflection.enable_server_reflection((*SERVICE_NAMES, health.SERVICE_NAME, reflection.SERVICE_NAME), server)
        return server

    listening = GrpcServer(make, servicer, Gate(interceptor, authenticator), settings)
    try:
        await listening.listen()
    except StartRefused:
        await listening.stop(0)
        raise
    return listening


def check_addresses(settings: Settings) -> None:
    """Raise a StartRefused for unusable TLS files, and for an address that is malformed or would serve plain text to the
    network.
    """
    if (files := tls_files(settings)) is not None:
        files.read()
    for text in settings.listen:
        check_listen_address(text, is_tls=settings.tls_cert is not None)


def identity_settings(settings: Settings) -> IdentitySettings:
    """Return the settings of authentication. Raises SettingInvalid."""
    return IdentitySettings(
        data_dir=settings.data_dir,
        audience=settings.token_audience,
        issuers=frozenset(settings.token_issuers),
        key_files=tuple(Path(name) for name in settings.token_keys),
        jwks_url=settings.jwks_url,
        certificates_file=settings.client_names,
        requires_client_certificates=settings.tls_client_ca is not None,
        uuid5_issuers=frozenset(settings.uuid5_issuers),
        lets_unclaimed_spaces=_lets_unclaimed_spaces(settings),
    )


def _lets_unclaimed_spaces(settings: Settings) -> bool:
    if settings.spaces_unclaimed not in {"deny", "allow"}:
        problem = f"is {settings.spaces_unclaimed!r}"
        raise SettingInvalid("SIDECAR_SPACES_UNCLAIMED", problem, "set deny, or allow during the migration")
    return settings.spaces_unclaimed == "allow"


def _turn_options(settings: Settings) -> MethodOptions:
    return MethodOptions(_admission(settings), settings.deadline_s, settings.max_deadline_s)


def _other_options(settings: Settings) -> MethodOptions:
    """Return options with a separate admission control, so that reads and writes never take a turn's slot."""
    admission = _admission(settings, max_waiting=4 * settings.max_waiting, max_wait_s=_PATIENCE_S)
    return MethodOptions(admission, _OTHER_DEADLINE_S, settings.max_deadline_s)


def write_options(settings: Settings, other: MethodOptions) -> MethodOptions:
    """Return the options of calls that may be as large as a message: large ones run one at a time, with a longer deadline.

    Two at once would slow down turns. A few may queue, each keeping its whole message in memory.
    """
    one_at_a_time = {"max_in_flight": 1, "per_tenant_in_flight": 1}
    large = _admission(settings, **one_at_a_time, max_waiting=_LARGE_WAITING, max_wait_s=_WRITE_DEADLINE_S)
    longest_s = max(other.max_deadline_s, _LONGEST_WRITE_S)
    return replace(other, default_deadline_s=_WRITE_DEADLINE_S, max_deadline_s=longest_s, large_admission=large)


def stream_options(settings: Settings) -> MethodOptions:
    """Return options for streams of up to an hour, which have slots of their own."""
    at_once = {"max_in_flight": 4 * settings.max_in_flight, "per_tenant_in_flight": settings.max_in_flight}
    return MethodOptions(
        _admission(settings, **at_once, max_wait_s=_PATIENCE_S), _STREAM_DEADLINE_S, _STREAM_DEADLINE_S
    )


def _admission(settings: Settings, **limits: Any) -> AdmissionControl:
    """Return an admission control with the limits of the settings, overridden by `limits`."""
    return AdmissionControl(
        **{
            "max_in_flight": settings.max_in_flight,
            "max_waiting": settings.max_waiting,
            "max_wait_s": settings.max_wait_s,
            "per_tenant_in_flight": settings.max_in_flight_per_tenant,
            **limits,
        },
        clock=asyncio.get_running_loop(),
    )


def _options(settings: Settings, *, shares_ports: bool) -> list[tuple[str, int]]:
    # gRPC counts the connections of each address apart. The part with the HTTP servers listens at none.
    per_address = most_connections() // max(1, len(settings.listen))
    return [
        ("grpc.max_receive_message_length", settings.max_message_bytes),
        ("grpc.max_send_message_length", settings.max_message_bytes),
        ("grpc.so_reuseport", int(shares_ports)),
        ("grpc.server_handshake_timeout_ms", _HANDSHAKE_MS),
        ("grpc.keepalive_time_ms", _KEEPALIVE_MS),
        ("grpc.keepalive_permit_without_calls", 1),
        ("grpc.http2.min_ping_interval_without_data_ms", _PINGS_EVERY_MS),
        ("grpc.max_allowed_incoming_connections", per_address),
    ]
