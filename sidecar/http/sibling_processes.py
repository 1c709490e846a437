"""The other processes of a service with several processes: their states and metrics, requested over private sockets."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from sidecar.http.connection import HttpLimits
from sidecar.http.listening import served
from sidecar.telemetry.figures import CONTENT_TYPE, Figures

_EVERY_S = 2.0
_PATIENCE_S = 1.0


@dataclass(frozen=True, slots=True)
class Impairments:
    """The impairments of a process: sources and backends with an open circuit breaker, and the reason why the embedder fails."""

    sources: Callable[[], Sequence[str]]
    backends: Callable[[], Mapping[str, bool]]
    embedder: Callable[[], str]

    def as_json(self) -> dict[str, Any]:
        """Return them as JSON for another process."""
        return {"sources": list(self.sources()), "backends": dict(self.backends()), "embedder": self.embedder()}


@dataclass(frozen=True, slots=True)
class _Member:
    """The last report of a process; `is_serving` is False if it did not answer."""

    is_serving: bool = False
    state: Mapping[str, Any] = field(default_factory=dict)
    figures: bytes = b""


class SiblingProcesses:
    """The last reports of the other processes of the service; `directory` holds a socket for each."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._members: dict[str, _Member] = {}

    async def keep_asking(self) -> None:
        """Ask every two seconds until cancelled."""
        while True:
            await self.ask()
            await asyncio.sleep(_EVERY_S)

    async def ask(self) -> None:
        """Ask each process now. A process that does not answer within a second keeps its last metrics: a counter never falls."""
        paths = sorted(self._directory.glob("*.sock"))
        reports = await asyncio.gather(*(self._asked(path) for path in paths))
        silent = {name: _Member(figures=one.figures) for name, one in self._members.items()}
        self._members = silent | {path.stem: one for path, one in zip(paths, reports, strict=True)}

    async def _asked(self, path: Path) -> _Member:
        transport = httpx.AsyncHTTPTransport(uds=str(path))
        try:
            async with httpx.AsyncClient(transport=transport, base_url="http://part", timeout=_PATIENCE_S) as client:
                state, figures = await client.get("/state"), await client.get("/metrics")
                return _Member(True, state.json(), figures.content)
        except (httpx.HTTPError, ValueError):
            return _Member(figures=self._members.get(path.stem, _Member()).figures)

    def states(self) -> dict[str, str]:
        """Return `serving` or `absent` for each process by name."""
        return {name: "serving" if one.is_serving else "absent" for name, one in sorted(self._members.items())}

    def figures(self) -> dict[str, bytes]:
        """Return each process's metrics in Prometheus' text format."""
        return {name: one.figures for name, one in self._members.items()}

    def joined(self, own: Impairments) -> Impairments:
        """Return the impairments of this process and the others."""

        def sources() -> list[str]:
            return sorted({*own.sources(), *(name for state in self._states() for name in state["sources"])})

        def backends() -> dict[str, bool]:
            resting = {name for state in self._states() for name, is_resting in state["backends"].items() if is_resting}
            return {name: is_resting or name in resting for name, is_resting in own.backends().items()}

        def embedder() -> str:
            return own.embedder() or next((state["embedder"] for state in self._states() if state["embedder"]), "")

        return Impairments(sources, backends, embedder)

    def _states(self) -> list[Mapping[str, Any]]:
        return [one.state for one in self._members.values() if one.is_serving]


async def serve_report(stack: AsyncExitStack, path: Path, impairments: Impairments, figures: Figures) -> None:
    """Serve this process's report at a private socket, until the stack closes."""

    async def state(_: Request) -> Response:
        return JSONResponse(impairments.as_json())

    async def metrics(_: Request) -> Response:
        return Response(figures.as_text(), headers={"content-type": CONTENT_TYPE})

    application = Starlette(routes=[Route("/state", state), Route("/metrics", metrics)])
    listener = _listener(path)
    stack.callback(_leave, path)
    await stack.enter_async_context(served(application, listener, HttpLimits(requests_per_s=0)))


def _leave(path: Path) -> None:
    """Remove the socket, and the directory if it is then empty, because a killed supervisor cannot."""
    path.unlink(missing_ok=True)
    with suppress(OSError):  # other sockets are there, or the directory is gone
        path.parent.rmdir()


def _listener(path: Path) -> socket.socket:
    path.unlink(missing_ok=True)  # left by a killed process
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(os.fspath(path))
    listener.listen(16)
    listener.setblocking(False)
    return listener
