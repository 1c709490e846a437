"""Channels to a sidecar: addresses, TLS, and gRPC's retries. Of a method, this module only knows whether it may be retried."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from ipaddress import ip_address
from itertools import count
from pathlib import Path
from typing import Any

import grpc

from sidecar.client.errors import TargetUnusable, client_closed

MAX_MESSAGE_BYTES = 48 * 1024 * 1024
KEEPALIVE_MS = 30_000

_RETRIES = {
    "maxAttempts": 4,
    "initialBackoff": "0.05s",
    "maxBackoff": "1s",
    "backoffMultiplier": 3,
    # gRPC reports CANCELLED for a call that reaches a closing server; a cancellation by the caller ends the call.
    "retryableStatusCodes": ["UNAVAILABLE", "CANCELLED"],
}
_LOOK_EVERY_S = 5.0
_FIRST_REST_S, _LONGEST_REST_S = 1.0, 30.0
_THROTTLING = {"maxTokens": 20, "tokenRatio": 0.2}  # one retry per five successful calls


@dataclass(frozen=True, slots=True)
class Tls:
    """The trusted roots and, optionally, the client's certificate and key, in PEM. Without roots, the system's are used.

    `server_name` is the name in the sidecar's certificate, if it differs from the address.
    """

    root_certificates: bytes | None = None
    private_key: bytes | None = field(default=None, repr=False)
    certificate_chain: bytes | None = None
    server_name: str = ""


@dataclass(slots=True)
class _Rest:
    """The time until which a failed channel is skipped, and the duration of the last skip."""

    until_s: float = 0.0
    seconds: float = 0.0


class Channels:
    """The channels of a client: calls use them in turn and skip those that failed recently. Threads may share it.

    A service with several processes has a unix socket for each: the first at the configured path, the others beside it with
    numbers from 2 on. The client looks for them every few seconds and opens a channel to each. For a port, it opens `at_port`
    channels, because a connection stays with the process that accepted it.
    """

    def __init__(
        self,
        open_one: Callable[[str], Any],
        target: str,
        *,
        at_port: int = 1,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Open the first channels with `open_one`, which may raise TargetUnusable."""
        self._open_one = open_one
        self._target = target
        self._is_socket = target.startswith("unix:")
        self._channels = [open_one(target) for _ in range(1 if self._is_socket else max(1, at_port))]
        self._rests = [_Rest() for _ in self._channels]
        self._turn = count()
        self._clock = clock
        self._looked_s = -_LOOK_EVERY_S
        self._lock = threading.Lock()
        self.is_closed = False

    def all(self) -> list[Any]:
        """Return every channel that was opened."""
        return list(self._channels)

    def leave(self) -> list[Any]:
        """Return every channel, for its caller to close. No channel is opened or used from now on."""
        with self._lock:
            self.is_closed = True
            return list(self._channels)

    def next(self) -> tuple[int, Any]:
        """Return the index of the next channel, and the channel; a skipped channel only if all are skipped.

        Raises a SidecarCallError once the client is closed.
        """
        self._look()
        if self.is_closed:
            raise client_closed()
        number, now_s = len(self._channels), self._clock()
        start = next(self._turn)
        places = [(start + offset) % number for offset in range(number)]
        place = next((one for one in places if self._rests[one].until_s <= now_s), places[0])
        return place, self._channels[place]

    def answered(self, place: int) -> None:
        """Reset the skip time of a channel that answered to the shortest one."""
        self._rests[place].seconds = 0.0

    def failed(self, place: int) -> bool:
        """Skip the channel for a second, twice as long each time; return whether another one may be tried at once."""
        rest, now_s = self._rests[place], self._clock()
        rest.seconds = min(max(2 * rest.seconds, _FIRST_REST_S), _LONGEST_REST_S)
        rest.until_s = now_s + rest.seconds
        return any(other.until_s <= now_s for other in self._rests)

    def _look(self) -> None:
        """Open channels to the sockets created since the last check."""
        now_s = self._clock()
        if not self._is_socket or now_s < self._looked_s + _LOOK_EVERY_S:
            return
        with self._lock:
            self._looked_s = now_s
            while not self.is_closed and Path(f"{_socket_path(self._target)}.{len(self._channels) + 1}").exists():
                self._rests.append(_Rest())
                self._channels.append(self._open_one(f"{self._target}.{len(self._channels) + 1}"))


def _socket_path(target: str) -> str:
    return target.removeprefix("unix:").removeprefix("//")


def opened(
    library: Any, target: str, *, tls: Tls | None, repeatable: Iterable[tuple[str, str]], is_apart: bool = False
) -> Any:
    """Return a channel of `grpc` or of `grpc.aio`; `repeatable` names the (service, method) pairs that may be retried.

    With `is_apart`, it has its own connection. Raises TargetUnusable.
    """
    check_target(target, is_tls=tls is not None)
    options: list[tuple[str, Any]] = [
        ("grpc.use_local_subchannel_pool", int(is_apart)),
        ("grpc.service_config", service_config(repeatable)),
        ("grpc.max_receive_message_length", MAX_MESSAGE_BYTES),
        ("grpc.max_send_message_length", MAX_MESSAGE_BYTES),
        ("grpc.keepalive_time_ms", KEEPALIVE_MS),
        ("grpc.keepalive_timeout_ms", 10_000),
        ("grpc.initial_reconnect_backoff_ms", 100),
        ("grpc.max_reconnect_backoff_ms", 1_000),
    ]
    if tls is None:
        # A proxy of the environment is for other machines, and a plaintext channel never leaves this one.
        return library.insecure_channel(target, options=[*options, ("grpc.enable_http_proxy", 0)])
    if tls.server_name:
        options.append(("grpc.ssl_target_name_override", tls.server_name))
    credentials = grpc.ssl_channel_credentials(tls.root_certificates, tls.private_key, tls.certificate_chain)
    return library.secure_channel(target, credentials, options=options)


def service_config(repeatable: Iterable[tuple[str, str]]) -> str:
    """Return gRPC's service config: the named methods are retried when UNAVAILABLE or CANCELLED, others never."""
    names = [{"service": service, "method": method} for service, method in repeatable]
    return json.dumps({"methodConfig": [{"name": names, "retryPolicy": _RETRIES}], "retryThrottling": _THROTTLING})


def check_target(target: str, *, is_tls: bool) -> None:
    """Raise TargetUnusable unless the text is an address and, without TLS, one of this machine."""
    if target.startswith("unix:"):
        if not target.removeprefix("unix:").removeprefix("//").startswith("/"):
            raise _unusable(target, "is not an absolute socket path", "write unix:/absolute/path")
        return
    if target.startswith(("http://", "https://")):
        raise _unusable(target, "is a URL", "write HOST:PORT, [IPV6]:PORT or unix:/path")
    host, _, port = target.rpartition(":")
    host = host.removeprefix("dns:").lstrip("/").removeprefix("[").removesuffix("]")
    if not host or not (port.isascii() and port.isdigit() and 0 < int(port[:6]) < 65536):
        raise _unusable(target, "is not an address", "write HOST:PORT, [IPV6]:PORT or unix:/path")
    if not is_tls and not _is_loopback(host):
        raise _unusable(
            target, "would get the token in plain text over the network", "use TLS, or a sidecar on this machine"
        )


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _unusable(target: str, problem: str, fix: str) -> TargetUnusable:
    return TargetUnusable(f"address: {target[:200]!r} {problem}; {fix}.", code="INVALID_ARGUMENT", field="address")
