"""Channels to a sidecar: addresses, TLS, and gRPC's retries. Of a method it knows only whether it may be retried."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import Any

import grpc

from sidecar.client.errors import TargetUnusable

MAX_MESSAGE_BYTES = 48 * 1024 * 1024
KEEPALIVE_MS = 30_000

_RETRIES = {
    "maxAttempts": 4,
    "initialBackoff": "0.05s",
    "maxBackoff": "1s",
    "backoffMultiplier": 3,
    # CANCELLED is what gRPC says of a call that reaches a server while it closes; a caller's own cancelling ends the call.
    "retryableStatusCodes": ["UNAVAILABLE", "CANCELLED"],
}
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


def opened(library: Any, target: str, *, tls: Tls | None, repeatable: Iterable[tuple[str, str]]) -> Any:
    """Return a channel of `grpc` or of `grpc.aio`; `repeatable` names the (service, method) pairs that may be retried.

    Raises TargetUnusable.
    """
    check_target(target, is_tls=tls is not None)
    options = [
        ("grpc.service_config", service_config(repeatable)),
        ("grpc.max_receive_message_length", MAX_MESSAGE_BYTES),
        ("grpc.max_send_message_length", MAX_MESSAGE_BYTES),
        ("grpc.keepalive_time_ms", KEEPALIVE_MS),
        ("grpc.keepalive_timeout_ms", 10_000),
        ("grpc.initial_reconnect_backoff_ms", 100),
        ("grpc.max_reconnect_backoff_ms", 5_000),
    ]
    if tls is None:
        # A proxy set in the environment is for other machines; a plaintext channel never leaves this one.
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
            raise _unusable(target, "is no absolute socket path", "write unix:/absolute/path")
        return
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
