"""The console as one application: its pages, its static files, and the guard before them."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Mount
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from sidecar.http.console import sign_in
from sidecar.http.console.desk import Desk
from sidecar.http.console.guard import Guard
from sidecar.http.console.pages import (
    backends,
    brain,
    compiles,
    decay,
    forgetting,
    graph,
    money,
    ontology,
    provenance,
    threads,
    turns,
    wiki,
)
from sidecar.http.console.writing import render

_FILES = Path(__file__).parent / "static"


def console(desk: Desk, *, hosts: Collection[str] = ()) -> ASGIApp:
    """Return the console. `hosts` are names by which it may be reached besides localhost."""
    subjects = (
        sign_in,
        turns,
        threads,
        graph,
        wiki,
        provenance,
        forgetting,
        compiles,
        decay,
        brain,
        ontology,
        backends,
        money,
    )
    pages = [page for subject in subjects for page in subject.routes(desk)]
    pages.append(Mount("/static", StaticFiles(directory=_FILES)))
    return Guard(Starlette(routes=pages, exception_handlers={404: _missing, 500: _broken}), hosts=hosts)


async def _missing(_: Request, __: Exception) -> Response:
    return HTMLResponse(render("failure.html", visit=None, text="There is no such page."), 404)


async def _broken(_: Request, __: Exception) -> Response:
    text = "An internal error occurred; the log has details."
    return HTMLResponse(render("failure.html", visit=None, text=text), 500)
