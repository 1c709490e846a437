"""What the pages work with, and one visit: who looks, at whose data, with what session."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs
from uuid import UUID

from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from sidecar.assembler import Assembler, Clocks
from sidecar.errors import InvalidArgument, NotFound, PermissionDenied, Unauthenticated
from sidecar.http.console.sessions import COOKIE, Session, Sessions
from sidecar.http.console.writing import render
from sidecar.recorder import Recorder
from sidecar.replayer import Replayer
from sidecar.rpc.identity import Identity, Role, resolve_scope
from sidecar.rpc.status import TABLE, message_of, row_of
from sidecar.telemetry.figures import Figures
from store.postgres import Pools
from store.scope import Scope

log = logging.getLogger(__name__)

Authenticate = Callable[[str], Awaitable[Identity]]


@dataclass(frozen=True, slots=True)
class Desk:
    """What the console reads and acts through: the same collaborators that the services have."""

    pools: Pools
    assembler: Assembler
    replayer: Replayer
    recorder: Recorder
    clocks: Clocks
    authenticate: Authenticate
    figures: Figures
    resting: Callable[[], Sequence[str]]
    sessions: Sessions = field(default_factory=Sessions)


@dataclass(frozen=True, slots=True)
class Visit:
    """One request of somebody signed in. `form` is empty but for a post, whose word was checked."""

    desk: Desk
    request: Request
    session: Session
    identity: Identity
    form: Mapping[str, str]

    @property
    def is_admin(self) -> bool:
        """Whether the visitor may change things."""
        return self.identity.role is Role.ADMIN

    @property
    def query(self) -> QueryParams:
        """The request's query."""
        return self.request.query_params

    @property
    def scope(self) -> Scope:
        """Whose data are looked at. Raises InvalidArgument while an admin has named nobody."""
        return resolve_scope(self.identity, "", self.session.owner)

    def page(self, template: str, **values: Any) -> Response:
        """Return a page."""
        return HTMLResponse(render(template, visit=self, path=self.request.url.path, **values))

    def require_admin(self) -> None:
        """Raise PermissionDenied for everybody else."""
        if not self.is_admin:
            raise PermissionDenied


Work = Callable[[Visit], Awaitable[Response]]


def route(desk: Desk, path: str, work: Work, *, methods: Sequence[str] = ("GET",)) -> Route:
    """Return the route of a page for those who are signed in."""

    async def answer(request: Request) -> Response:
        session_id = request.cookies.get(COOKIE, "")
        session = desk.sessions.get(session_id)
        if session is None:
            return _to_sign_in(request)
        try:
            identity = await desk.authenticate(session.token)
            return await work(Visit(desk, request, session, identity, await _form(request, session)))
        except Unauthenticated:
            desk.sessions.close(session_id)
            return _to_sign_in(request)
        except InvalidArgument as error:
            if error.field == "owner_id":
                return RedirectResponse("/owner", 303)
            return told(error, 400)
        except _KNOWN as error:
            return told(error, _STATUS.get(row_of(error).code.name, 500))

    return Route(path, answer, methods=list(methods))


_KNOWN = tuple(TABLE)
_STATUS = {
    "NOT_FOUND": 404,
    "PERMISSION_DENIED": 403,
    "INVALID_ARGUMENT": 400,
    "FAILED_PRECONDITION": 409,
    "ALREADY_EXISTS": 409,
    "ABORTED": 409,
    "RESOURCE_EXHAUSTED": 503,
    "UNAVAILABLE": 503,
    "DEADLINE_EXCEEDED": 504,
}


def told(error: Exception, status: int) -> Response:
    """Return the page of a failure; what is not meant for callers stays out of it, and is logged."""
    row = row_of(error)
    if row.is_hidden:
        log.error("page_failed", exc_info=error)
    text = "Something failed inside; the log says more." if row.is_hidden else row.message or message_of(error)
    return HTMLResponse(render("failure.html", visit=None, path="", text=text), status)


def read_id(visit: Visit, name: str) -> UUID:
    """Return an id of the path. Raises NotFound."""
    try:
        return UUID(visit.request.path_params[name])
    except ValueError as error:
        raise NotFound(name) from error


async def read_form(request: Request) -> dict[str, str]:
    """Return a posted form's fields; of a field sent twice, the last."""
    body = (await request.body()).decode(errors="replace")
    return {name: values[-1] for name, values in parse_qs(body, keep_blank_values=True).items()}


async def _form(request: Request, session: Session) -> Mapping[str, str]:
    if request.method != "POST":
        return {}
    form = await read_form(request)
    if not session.is_word(form.get("word", "")):
        raise PermissionDenied
    return form


def _to_sign_in(request: Request) -> Response:
    wanted = request.url.path if request.method == "GET" else "/"
    return RedirectResponse(f"/login?next={wanted}", 303)
