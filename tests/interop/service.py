"""The real service in a process of its own: a fresh embedded Postgres, TCP and a unix socket, a dev token."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.interop.programs import last_words, ran

_START_DEADLINE_S = 120.0
_STOP_DEADLINE_S = 30.0
_POLL_S = 0.2


class ServiceFailed(Exception):
    """The service did not start, or did not end as it should; its last lines follow."""


@dataclass(frozen=True, slots=True)
class Address:
    """Where clients find the service; `socket_path` is set for a unix socket, which has no port."""

    name: str
    port: int = 0
    socket_path: str = ""


@dataclass(frozen=True, slots=True)
class Service:
    """A running service."""

    addresses: tuple[Address, ...]
    token: str
    http_port: int


@contextmanager
def running(directory: Path) -> Iterator[Service]:
    """Yield the service, serving; at the end it gets SIGTERM and must exit with 0. Raises ServiceFailed."""
    socket_path = str(directory / "socket" / "api.sock")
    addresses = (Address("TCP", port=free_port()), Address("unix socket", socket_path=socket_path))
    listen = f"127.0.0.1:{addresses[0].port},unix:{socket_path}"
    environ = {name: value for name, value in os.environ.items() if not name.startswith("SIDECAR_")}
    http_port = free_port()
    environ |= {"SIDECAR_DATA_DIR": str(directory / "data"), "SIDECAR_LISTEN": listen}
    environ |= {"SIDECAR_HTTP_LISTEN": f"127.0.0.1:{http_port}", "SIDECAR_CONSOLE_LISTEN": "off"}
    directory.mkdir()
    log = directory / "serve.log"
    with log.open("wb") as output:
        process = subprocess.Popen(_command("serve"), env=environ, stdout=output, stderr=output)
    try:
        _await_serving(process, log, f"127.0.0.1:{addresses[0].port}", environ)
        yield Service(addresses, _token(environ), http_port)
        _stop(process, log)
    finally:
        process.kill()
        process.wait()


def _command(*arguments: str) -> list[str]:
    return [str(Path(sys.executable).with_name("sidecar")), *arguments]


def free_port() -> int:
    """Return a free port."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port: int = free.getsockname()[1]
    return port


def _token(environ: dict[str, str]) -> str:
    mint = _command("token", "--tenant", "acme", "--owner", "mara", "--agent", "interop")
    minted = ran(mint, environ=environ)
    if minted.returncode:
        raise ServiceFailed(f"it mints no token: {last_words(minted)}")
    return minted.stdout.strip()


def _await_serving(process: subprocess.Popen[bytes], log: Path, address: str, environ: dict[str, str]) -> None:
    give_up_at = time.monotonic() + _START_DEADLINE_S
    while ran(_command("health", "--address", address), environ=environ).returncode:
        if process.poll() is not None or time.monotonic() > give_up_at:
            raise ServiceFailed(f"it does not serve:\n{_last_lines(log)}")
        time.sleep(_POLL_S)


def _stop(process: subprocess.Popen[bytes], log: Path) -> None:
    process.send_signal(signal.SIGTERM)
    try:
        code = process.wait(_STOP_DEADLINE_S)
    except subprocess.TimeoutExpired:
        raise ServiceFailed(f"SIGTERM did not end it within {_STOP_DEADLINE_S:g} s:\n{_last_lines(log)}") from None
    if code:
        raise ServiceFailed(f"SIGTERM ended it with {code}:\n{_last_lines(log)}")


def _last_lines(log: Path) -> str:
    return "\n".join(log.read_text(encoding="utf-8", errors="replace").splitlines()[-20:])
