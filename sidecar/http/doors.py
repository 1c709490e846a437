"""Health and metrics over HTTP, and the routes that others bring.

`/livez` speaks of the process alone, `/readyz` of whether it takes calls, `/backendz` of what stands behind it: a broken
database or source is told there, and is never a reason to restart this process.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from sidecar.telemetry.figures import CONTENT_TYPE, Figures
from store.errors import StoreError
from store.postgres import Pool, installation

_PATIENCE_S = 2.0


@dataclass(frozen=True, slots=True)
class Health:
    """What is asked about the process: whether it drains, how often tasks restarted, which breakers are open.

    `backends` says of each configured backend's name whether its own is: one of several behind a source.
    """

    pool: Pool
    is_draining: Callable[[], bool]
    restarts: Callable[[], Mapping[str, int]]
    resting_sources: Callable[[], Sequence[str]]
    backends: Callable[[], Mapping[str, bool]] = dict

    async def database(self) -> str:
        """Return `ok`, or why the database does not answer within 2 s."""
        try:
            async with asyncio.timeout(_PATIENCE_S), installation(self.pool, read_only=True):
                return "ok"
        except TimeoutError:
            return f"no answer within {_PATIENCE_S:g} s"
        except StoreError as error:
            return type(error).__name__


def doors(health: Health, figures: Figures, *, extra: Sequence[BaseRoute] = ()) -> Starlette:
    """Return the application of health, metrics and the extra routes."""

    async def alive(_: Request) -> Response:
        return JSONResponse({"status": "alive", "task_restarts": dict(health.restarts())})

    async def ready(_: Request) -> Response:
        is_draining = health.is_draining()
        return JSONResponse({"status": "draining" if is_draining else "ready"}, 503 if is_draining else 200)

    async def backends(_: Request) -> Response:
        found: dict[str, Any] = {"database": await health.database()}
        found["resting_sources"] = sorted(health.resting_sources())
        found["resting_backends"] = sorted(name for name, is_resting in health.backends().items() if is_resting)
        is_well = found["database"] == "ok" and not found["resting_sources"] and not found["resting_backends"]
        return JSONResponse({"status": "well" if is_well else "impaired", **found}, 200 if is_well else 503)

    async def metrics(_: Request) -> Response:
        return Response(figures.as_text(), headers={"content-type": CONTENT_TYPE})

    routes: list[BaseRoute] = [
        Route("/livez", alive),
        Route("/readyz", ready),
        Route("/backendz", backends),
        Route("/metrics", metrics),
    ]
    return Starlette(routes=[*routes, *extra])
