"""HTTP listeners inside the process: all addresses are opened before serving begins, and serving ends with the process."""

from __future__ import annotations

import asyncio
import logging
import socket
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import cast

import uvicorn
from starlette.types import ASGIApp

from sidecar.backends.backend_caller import TokenBucket
from sidecar.http.connection import BoundedProtocol, HttpLimits
from sidecar.http.peer_rates import PeerRates
from sidecar.rpc.auth.jwks import is_loopback
from sidecar.runtime.errors import SettingInvalid

log = logging.getLogger(__name__)

OFF, AUTO = "off", "auto"
_STOP_S = 3
_PAUSE_S = 1.0
_FULL = b"HTTP/1.1 503 Service Unavailable\r\nconnection: close\r\nretry-after: 10\r\ncontent-length: 0\r\n\r\n"


class _Server(uvicorn.Server):
    """A server that accepts connections within its limits and does not handle signals, because the sidecar does."""

    def __init__(self, config: uvicorn.Config, limits: HttpLimits) -> None:
        super().__init__(config)
        self._limits = limits
        self._rates = PeerRates(limits.requests_per_s, clock=time.monotonic)
        self._accepting: asyncio.Task[None] | None = None

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Capture none."""
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to accept connections on the one socket."""
        assert sockets, "served opens one"
        await self.lifespan.startup()
        self.servers = []
        self._accepting = asyncio.create_task(self._accept(sockets[0]))
        self.started = True

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop accepting, then end the open connections."""
        if self._accepting is not None:
            self._accepting.cancel()
            await asyncio.wait({self._accepting})
        await super().shutdown(sockets)

    async def _accept(self, listener: socket.socket) -> None:
        """Accept connections until cancelled. Connections beyond the rate wait in the kernel's queue at no cost."""
        loop = asyncio.get_running_loop()
        bucket = TokenBucket(self._limits.connections_per_s)
        while True:
            await asyncio.sleep(bucket.wait_s(loop.time()))
            try:
                connection, _ = await loop.sock_accept(listener)
            except OSError as error:  # too many files are open, or the client has disconnected
                log.warning("http_not_accepted", extra={"error": error.strerror})
                await asyncio.sleep(_PAUSE_S)
                continue
            if len(self.server_state.connections) < self._limits.connections:
                await loop.connect_accepted_socket(self._connection, connection)
                continue
            with connection:
                _turn_away(connection)

    def _connection(self) -> BoundedProtocol:
        return BoundedProtocol(
            config=self.config,
            server_state=self.server_state,
            app_state=self.lifespan.state,
            limits=self._limits,
            rates=self._rates,
        )


def opened(setting: str, address: str, default_port: int) -> socket.socket | None:
    """Return a listening socket for HOST:PORT; None for `off`, and for `auto` if the port of 127.0.0.1 is taken. Raises
    SettingInvalid naming the setting.
    """
    if address == OFF:
        return None
    if address == AUTO:
        return _taken_or("127.0.0.1", default_port)
    host, port = _read_address(setting, address)
    try:
        return _bound(host, port)
    except OSError as error:
        fix = "free the port or choose another"
        raise SettingInvalid(setting, f"{address} cannot be opened ({error.strerror})", fix) from error


def check_plain_text(setting: str, address: str, *, fix: str) -> None:
    """Raise SettingInvalid with the fix for an address that other machines can reach. Names are not looked up."""
    if address in {OFF, AUTO}:
        return
    host, _ = _read_address(setting, address)
    if not is_loopback(host):
        raise SettingInvalid(setting, f"{address[:200]} would serve plain HTTP to the network", fix)


@asynccontextmanager
async def served(application: ASGIApp, listener: socket.socket, limits: HttpLimits) -> AsyncIterator[str]:
    """Yield the address as HOST:PORT while the application is served on the socket; then end within 3 seconds."""
    config = uvicorn.Config(
        application,
        http=BoundedProtocol,
        timeout_keep_alive=cast("int", limits.idle_s),
        log_level="error",
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=_STOP_S,
    )
    server = _Server(config, limits)
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    try:
        yield _address(listener)
    finally:
        server.should_exit = True
        await serving


def _address(listener: socket.socket) -> str:
    if listener.family == socket.AF_UNIX:
        return f"unix:{listener.getsockname()}"
    host, port = listener.getsockname()[:2]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _turn_away(connection: socket.socket) -> None:
    """Answer that the listener is full. Reads received bytes first, because closing with unread bytes would lose the answer."""
    for act in (lambda: connection.recv(1 << 16), lambda: connection.send(_FULL)):
        with suppress(OSError):
            act()


def _read_address(setting: str, address: str) -> tuple[str, int]:
    """Return the host, without brackets, and the port of HOST:PORT. Raises SettingInvalid."""
    host, _, port = address.rpartition(":")
    is_bracketed = host.startswith("[") and host.endswith("]")
    bare = host[1:-1] if is_bracketed else host
    is_host = bool(bare) and bare.isprintable() and not set(bare) & set("[] ") and is_bracketed == (":" in bare)
    if not is_host or not port.isascii() or not port.isdigit() or int(port[:6]) > 65535:
        raise SettingInvalid(setting, f"{address[:200]!r} is not an address", "write HOST:PORT, auto or off")
    return bare, int(port)


def _taken_or(host: str, port: int) -> socket.socket | None:
    try:
        return _bound(host, port)
    except OSError:
        log.warning("http_port_taken", extra={"address": f"{host}:{port}"})
        return None


def _bound(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(128)
        listener.setblocking(False)
    except OSError:
        listener.close()
        raise
    return listener
