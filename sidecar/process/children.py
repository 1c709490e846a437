"""Runs the processes of a service with several processes: starts them, restarts them when they end, and drains all at the end."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import shutil
import socket
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, contextmanager
from pathlib import Path
from typing import Any

import orjson

from sidecar.process.checking import check_settings
from sidecar.process.parts import HTTP, own_address
from sidecar.rpc.transport.listen import MAX_SOCKET_PATH_BYTES, check_listen_address
from sidecar.runtime import child_process, database
from sidecar.runtime.errors import ProcessNotStarted, SettingInvalid
from sidecar.runtime.settings import Settings
from sidecar.runtime.stopping import stopped_by_signals
from sidecar.runtime.supervisor import pause_after

log = logging.getLogger(__name__)

_FIRST_PAUSE_S = 0.05
_NOT_BEGUN = 127  # a shell's code for a program that it cannot run
_AFTER_GRACE_S = 40.0
_OTHER_CONNECTIONS = 40  # of the worker, the notice listeners, and commands
_CONNECTIONS_BESIDE_POOLS = 3
_SOCKET_NAME_BYTES = len("/processes-12345678/http.sock")


async def serve_with(settings: Settings, count: int) -> None:
    """Serve with `count` processes that answer calls until SIGTERM or SIGINT, then drain all of them.

    Raises a StartRefused, and ProcessNotStarted for a process that ends before it serves.
    """
    check_settings(settings)
    async with stopped_by_signals() as stopping, AsyncExitStack() as stack:
        listen = stack.enter_context(_reserved(settings.listen))
        _remove_sockets(listen, above=count)
        where = await stack.enter_async_context(
            database.opened(settings, connections=most_connections(settings, count))
        )
        await database.check(where)
        directory = stack.enter_context(_directory(settings))
        environment = {
            **os.environ,
            "SIDECAR_DATABASE_URL": where.dsn,
            "SIDECAR_DATABASE_DIRECT_URL": where.direct_dsn,
            "SIDECAR_LISTEN": ",".join(listen),
        }
        names = [*map(str, range(1, count + 1)), HTTP]
        children = [_Child(name, directory, environment, settings.drain_grace_s) for name in names]
        stopping.has_started()
        await _keep(children, stopping.requested, settings.drain_grace_s)


async def _keep(children: Sequence[_Child], stop: asyncio.Event, grace_s: float) -> None:
    """Run all children until `stop` is set. The first starts alone, so that an error common to all is reported once."""
    tasks: list[asyncio.Task[None]] = []
    stopping = asyncio.create_task(stop.wait())
    try:
        for group in (children[:1], children[1:]):
            if not stop.is_set():
                tasks += [asyncio.create_task(child.keep(), name=child.name) for child in group]
                await _until_serving(group, *tasks, stopping)
        if not stop.is_set():
            addresses = [address for child in children for address in child.addresses]
            http_addresses = children[-1].http_addresses
            log.info(
                "serving", extra={"addresses": sorted(set(addresses)), "processes": len(children) - 1, **http_addresses}
            )
        await _first(*tasks, stopping)
        log.info("draining", extra={"grace_s": grace_s})
    except ProcessNotStarted:
        if not stop.is_set():  # Ctrl-C reaches the children too, and ends their start
            raise
    finally:
        for task in (*tasks, stopping):
            task.cancel()
        await asyncio.gather(*tasks, stopping, return_exceptions=True)


async def _until_serving(group: Sequence[_Child], *others: asyncio.Task[Any]) -> None:
    """Wait until each child of the group serves, or one of the other tasks is done; raise that task's error if it has one."""
    serving = [asyncio.create_task(child.serving.wait()) for child in group]
    for one in serving:
        await _first(one, *others)
        if not one.done():
            break
    for one in serving:
        one.cancel()


async def _first(*waited: asyncio.Future[Any]) -> None:
    """Wait until one of the futures is done, and raise its error if it has one."""
    done, _ = await asyncio.wait(waited, return_when=asyncio.FIRST_COMPLETED)
    for one in done:
        one.result()


class _Child:
    """One process of the service, which is restarted after a growing pause whenever it ends."""

    def __init__(self, name: str, directory: Path, environment: Mapping[str, str], grace_s: float) -> None:
        self.name = name
        self.serving = asyncio.Event()
        self.addresses: tuple[str, ...] = ()
        self.http_addresses: dict[str, str] = {}
        self._arguments = ("serve", "--part", name, "--directory", str(directory))
        self._environment = environment
        self._patience_s = 2 * grace_s + _AFTER_GRACE_S

    async def keep(self) -> None:
        """Run the process until cancelled. Raises ProcessNotStarted if it ends before it has ever served."""
        loop, pause_s = asyncio.get_running_loop(), _FIRST_PAUSE_S
        while True:
            began_s = loop.time()
            code, error = await self._tried()
            if not self.serving.is_set():
                raise ProcessNotStarted(self.name, code)
            log.warning("process_ended", extra={"child": self.name, "code": code, **error})
            pause_s = pause_after(loop.time() - began_s, pause_s)
            await asyncio.sleep(pause_s)

    async def _tried(self) -> tuple[int, dict[str, str]]:
        """Return the exit code once the process has ended, or the error with which it could not begin: the others still serve."""
        try:
            return await self._run(), {}
        except OSError as error:  # too many processes, or the installation is being replaced
            return _NOT_BEGUN, {"error": str(error)}

    async def _run(self) -> int:
        """Return the exit code once the process has ended. On cancellation, drain it, and kill it if that takes too long."""
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "sidecar", *self._arguments),
            env=self._environment,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
        )
        try:
            assert process.stdout is not None
            await hear_lines(process.stdout, self._hear)
            return await process.wait()
        finally:
            await child_process.stop(process, self._patience_s)

    def _hear(self, payload: dict[str, Any]) -> None:
        self.addresses = tuple(payload.pop("addresses"))
        self.http_addresses = payload
        if self.serving.is_set():
            log.info("process_serves_again", extra={"child": self.name})
        self.serving.set()


async def hear_lines(lines: asyncio.StreamReader, hear: Callable[[dict[str, Any]], None]) -> None:
    """Pass each message that a child prints to `hear`, until its output ends. Other lines, as a library may print, are logged."""
    while not lines.at_eof():
        try:
            if line := await lines.readline():
                hear(orjson.loads(line))
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            log.warning("child_line_unreadable", extra={"error": type(error).__name__})


@contextmanager
def _reserved(listen: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Reserve the ports of the addresses for the processes of this service, and yield the addresses with the actual ports.

    A port is first bound exclusively, so that a port in use is refused; then it is opened to processes that share it. Raises
    SettingInvalid.
    """
    with contextlib.ExitStack() as stack:
        yield tuple([text if text.startswith("unix:") else _reserve(text, stack) for text in listen])


def _reserve(text: str, stack: contextlib.ExitStack) -> str:
    host, _, port = check_listen_address(text, is_tls=True).target.rpartition(":")
    bare = host.removeprefix("[").removesuffix("]")
    try:
        family, _, _, _, address = socket.getaddrinfo(bare, int(port), type=socket.SOCK_STREAM)[0]
        held = stack.enter_context(socket.socket(family, socket.SOCK_STREAM))
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        held.bind(address)
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    except OSError as error:
        raise SettingInvalid("SIDECAR_LISTEN", f"{text} cannot be opened", "free the port or choose another") from error
    return f"{host}:{held.getsockname()[1]}"


def _remove_sockets(listen: Sequence[str], *, above: int) -> None:
    """Remove sockets left by a service with more processes, because clients would try them."""
    for text in listen:
        if text.startswith("unix:"):
            path = check_listen_address(own_address(text, above), is_tls=True).socket_path
            first = check_listen_address(text, is_tls=True).socket_path
            assert path is not None
            assert first is not None
            for other in first.parent.glob(f"{first.name}.*"):
                if other.suffix[1:].isdigit() and int(other.suffix[1:]) > above:
                    other.unlink(missing_ok=True)


@contextmanager
def _directory(settings: Settings) -> Iterator[Path]:
    """Yield a private directory for the sockets between the processes: below the data directory if its path is short."""
    data_dir = settings.data_dir
    fits = len(os.fsencode(data_dir)) + _SOCKET_NAME_BYTES <= MAX_SOCKET_PATH_BYTES
    is_inside = fits and data_dir.is_dir() and os.access(data_dir, os.W_OK | os.X_OK)
    try:
        directory = Path(tempfile.mkdtemp(prefix="processes-", dir=data_dir if is_inside else None))
    except OSError as error:
        fix = "set TMPDIR to a writable directory"
        raise SettingInvalid("SIDECAR_PROCESSES", "there is no directory for the processes' sockets", fix) from error
    try:
        yield directory
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def most_connections(settings: Settings, count: int) -> int:
    """Return the number of connections that a service with `count` processes that answer calls may open."""
    a_process = settings.turn_pool_size + settings.background_pool_size + _CONNECTIONS_BESIDE_POOLS
    processes = count + 1 if count > 1 else 1
    return processes * a_process + settings.worker_pool_size + _OTHER_CONNECTIONS
