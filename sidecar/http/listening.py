"""HTTP listeners inside the process: an address is opened before anything is served, and serving ends with the process."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

import uvicorn
from starlette.types import ASGIApp

from sidecar.errors import SettingInvalid
from sidecar.rpc.jwks import is_loopback

log = logging.getLogger(__name__)

OFF, AUTO = "off", "auto"
_STOP_S = 3


class _Server(uvicorn.Server):
    """A server that leaves the process's signals alone: the sidecar has its own."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Capture none."""
        yield


def opened(setting: str, address: str, default_port: int) -> socket.socket | None:
    """Return a listening socket for HOST:PORT; None for `off`, and for `auto` when 127.0.0.1 has its port taken.

    Raises SettingInvalid naming the setting.
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
async def served(application: ASGIApp, listener: socket.socket) -> AsyncIterator[str]:
    """Yield the address as HOST:PORT while the application is served on the socket; then end within 3 seconds."""
    config = uvicorn.Config(
        application,
        http="h11",
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=_STOP_S,
    )
    server = _Server(config)
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    host, port = listener.getsockname()[:2]
    try:
        yield f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    finally:
        server.should_exit = True
        await serving


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
