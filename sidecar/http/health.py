"""Health and metrics over HTTP, and further routes such as webhooks.

`/livez` reports the state of the process alone, `/readyz` whether it takes calls, `/backendz` the state of its dependencies: a
broken database or source is reported there, and is never a reason to restart this process.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from sidecar.rpc.auth.authentication import bearer_token
from sidecar.runtime.errors import AdminRequired, PermissionDenied, Unauthenticated, Unavailable
from sidecar.telemetry.figures import CONTENT_TYPE, Figures
from store.errors import StoreError

_PATIENCE_S = 2.0


async def _no_admin(_: str) -> UUID:
    raise AdminRequired


async def _nothing() -> None:
    """Do nothing."""


@dataclass(frozen=True, slots=True)
class BackendStates:
    """The configured backends: whether each one's circuit breaker is open, by name, and the names by tenant id.

    `admin_of` returns the tenant of an admin's token, and raises a SidecarError for any other text.
    """

    resting: Callable[[], Mapping[str, bool]] = dict
    of_tenants: Mapping[UUID, Collection[str]] = field(default_factory=dict)
    admin_of: Callable[[str], Awaitable[UUID]] = _no_admin

    def all_resting(self) -> list[str]:
        """Return the names of the backends whose circuit breaker is open, sorted."""
        return sorted(name for name, is_resting in self.resting().items() if is_resting)

    async def named_to(self, authorization: str | None) -> list[str] | None:
        """Return the tenant's backends whose circuit breaker is open, if the header has an admin's token.

        None without a header, or while the token cannot be checked. Raises Unauthenticated or PermissionDenied.
        """
        if authorization is None:
            return None
        token = bearer_token((("authorization", authorization),)) or ""
        try:
            mine = self.of_tenants.get(await self.admin_of(token), ())
        except (Unavailable, StoreError):
            return None
        return [name for name in self.all_resting() if name in mine]


@dataclass(frozen=True, slots=True)
class Health:
    """The state that health reports: whether the process drains, the restarts of tasks, the open breakers.

    `reach_database` returns once the database has answered, and raises a StoreError if it does not. `embedder_trouble` returns
    the reason why the configured embedder gives no vectors, empty while it works. `processes` returns the states of the
    processes that answer calls, by name, empty if this process does; `ask_them` refreshes these states.
    """

    reach_database: Callable[[], Awaitable[None]]
    is_draining: Callable[[], bool]
    restarts: Callable[[], Mapping[str, int]]
    resting_sources: Callable[[], Sequence[str]]
    backends: BackendStates = field(default_factory=BackendStates)
    embedder_trouble: Callable[[], str] = str
    processes: Callable[[], Mapping[str, str]] = dict
    ask_them: Callable[[], Awaitable[None]] = _nothing

    def readiness(self) -> str:
        """Return `ready`, `draining`, or `waiting` if none of the processes that answer calls is ready."""
        processes = self.processes()
        is_waiting = bool(processes) and "serving" not in processes.values()
        return "draining" if self.is_draining() else "waiting" if is_waiting else "ready"

    async def database(self) -> str:
        """Return `ok`, or the reason why the database does not answer within 2 s."""
        try:
            async with asyncio.timeout(_PATIENCE_S):
                await self.reach_database()
            return "ok"
        except TimeoutError:
            return f"no answer within {_PATIENCE_S:g} s"
        except StoreError as error:
            return type(error).__name__


def health_app(health: Health, figures: Figures, *, extra: Sequence[BaseRoute] = ()) -> Starlette:
    """Return the application of health, metrics and the extra routes."""

    async def alive(_: Request) -> Response:
        body: dict[str, Any] = {"status": "alive", "task_restarts": dict(health.restarts())}
        if processes := health.processes():
            body["processes"] = dict(processes)
        return JSONResponse(body)

    async def ready(_: Request) -> Response:
        status = health.readiness()
        return JSONResponse({"status": status}, 200 if status == "ready" else 503)

    async def backends(request: Request) -> Response:
        try:
            named = await health.backends.named_to(request.headers.get("authorization"))
        except (Unauthenticated, PermissionDenied) as error:
            return JSONResponse({"error": str(error)}, 401 if isinstance(error, Unauthenticated) else 403)
        await health.ask_them()
        resting_count = len(health.backends.all_resting())
        answer: dict[str, Any] = {"database": await health.database()}
        answer["resting_sources"] = sorted(health.resting_sources())
        answer["resting_backend_count"] = resting_count
        answer["embedder"] = health.embedder_trouble() or "ok"
        is_well = (
            answer["database"] == answer["embedder"] == "ok" and not answer["resting_sources"] and not resting_count
        )
        if named is not None:
            answer["resting_backends"] = named
        return JSONResponse({"status": "well" if is_well else "impaired", **answer}, 200 if is_well else 503)

    async def metrics(_: Request) -> Response:
        await health.ask_them()
        return Response(figures.as_text(), headers={"content-type": CONTENT_TYPE})

    routes: list[BaseRoute] = [
        Route("/livez", alive),
        Route("/readyz", ready),
        Route("/backendz", backends),
        Route("/metrics", metrics),
    ]
    return Starlette(routes=[*routes, *extra])
