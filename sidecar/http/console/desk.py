"""The collaborators of the console's pages, and one visit: its identity, session and owner."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from http import HTTPStatus
from typing import Any, TypeVar
from urllib.parse import parse_qs, quote
from uuid import UUID

from starlette.datastructures import QueryParams
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from sidecar.context.assembler import Assembler, Clocks
from sidecar.context.replay import Replayer
from sidecar.http.connection import has_many_stray_percents
from sidecar.http.console.sessions import COOKIE, ConsoleSession, Note, Sessions
from sidecar.http.console.writing import aside, render
from sidecar.rpc.auth.identity import Identity, Role, resolve_scope
from sidecar.rpc.transport.auditing import OK, Noting, is_noted, named
from sidecar.rpc.transport.status import TABLE, message_of, row_of
from sidecar.runtime.errors import FailedPrecondition, InvalidArgument, NotFound, PermissionDenied, Unauthenticated
from sidecar.services.audit import AuditLog
from sidecar.services.bundle import Services
from sidecar.telemetry.watch import Watch
from store.scope import Scope

log = logging.getLogger(__name__)

MAX_FORM_BYTES = 16 * 1024
MAX_VISITORS_FORM_BYTES = 1_000 * 1024
"""For visitors with a session: a letter of most scripts takes nine bytes in a form, and a memory has up to 100,000. Below the
limit of the connection, so that a larger form gets a page.
"""
MAX_FORM_FIELDS = 100
SHOWN_OWNER = "shown_owner"
PART_HEADER = "x-console-part"
"""The header of the requests by which a page's script refreshes a part of it."""
_TRIED_AT_ONCE = 2

Authenticate = Callable[[str], Awaitable[Identity]]
K = TypeVar("K")


PLACES = (
    ("Turns", (("Turns", "/turns"), ("Threads", "/threads"), ("Sources", "/sources"))),
    ("Wiki", (("Pages", "/wiki"), ("Graph", "/wiki/graph"), ("Waiting names", "/wiki/mentions"), ("Brain", "/brain"))),
    ("Compile", (("Compiles", "/compiles"), ("Quarantine", "/quarantine"), ("Decay", "/decay"))),
    ("Ontology", (("Types", "/ontology"), ("Change sets", "/ontology/changes"), ("Versions", "/ontology/versions"))),
    ("Cost", (("Spending", "/spending"), ("Reads", "/reads"))),
)
_ADMINS_PLACES = frozenset({"/brain", "/quarantine", "/ontology", "/ontology/changes", "/ontology/versions"})
_BY_LENGTH = sorted((place for _, rows in PLACES for _, place in rows), key=len, reverse=True)


@dataclass(frozen=True, slots=True)
class Switches:
    """The sources of this process (empty if unknown), and whether each backend's circuit breaker is open."""

    sources: frozenset[str] = frozenset()
    resting: Callable[[], Mapping[str, bool]] = dict


@dataclass(frozen=True, slots=True)
class Desk:
    """The collaborators of the console's pages.

    With `is_behind_tls`, browsers connect through a TLS proxy, and cookies are `Secure`. `trying` limits the number of questions
    tried at once, because they take no admission slots.
    """

    services: Services
    assembler: Assembler
    replayer: Replayer
    clocks: Clocks
    authenticate: Authenticate
    watch: Watch
    resting: Callable[[], Sequence[str]]
    embedder_trouble: Callable[[], str] = str
    switches: Switches = field(default_factory=Switches)
    is_behind_tls: bool = False
    audit: AuditLog | None = None
    sessions: Sessions = field(default_factory=Sessions)
    trying: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(_TRIED_AT_ONCE))


@dataclass(frozen=True, slots=True)
class Visit:
    """One request of a signed-in visitor. `form` is empty except for a post, whose CSRF token was checked."""

    desk: Desk
    request: Request
    session: ConsoleSession
    identity: Identity
    form: Mapping[str, str]

    @property
    def services(self) -> Services:
        """The services for the page."""
        return self.desk.services

    @property
    def is_admin(self) -> bool:
        """Whether the visitor may change things."""
        return self.identity.role is Role.ADMIN

    @property
    def places(self) -> Sequence[tuple[str, Sequence[tuple[str, str]]]]:
        """The views that the visitor may open, by group."""
        hidden = () if self.is_admin else _ADMINS_PLACES
        shown = ((group, [one for one in rows if one[1] not in hidden]) for group, rows in PLACES)
        return [(group, rows) for group, rows in shown if rows]

    @property
    def here(self) -> str:
        """The view of this page; empty for none."""
        path = self.request.url.path
        path = "/threads" if path == "/thread" else path
        return next((place for place in _BY_LENGTH if path == place or path.startswith(f"{place}/")), "")

    @property
    def query(self) -> QueryParams:
        """The request's query."""
        return self.request.query_params

    @property
    def scope(self) -> Scope:
        """The scope of the shown owner. Raises InvalidArgument while an admin has chosen no owner."""
        return resolve_scope(self.identity, "", self.session.owner)

    def filtered_agent(self, agent_id: str) -> str:
        """Return the agent to filter by: an agent's own, or the one that an admin names; empty for all."""
        return agent_id if self.is_admin else self.identity.agent_id

    async def page(self, template: str, **values: Any) -> Response:
        """Return a page, rendered in the console's thread: a large one takes longer than a turn may be delayed."""
        return HTMLResponse(await aside(partial(render, template, visit=self, **values)))

    def tell(self, text: str, *, undo: str = "", undo_text: str = "Undo", **fields: str) -> None:
        """Show a message on the next page, with an undo button if `undo` is set."""
        self.session.notes.append(Note(text, undo, undo_text, {SHOWN_OWNER: self.session.owner, **fields}))

    def take_notes(self) -> list[Note]:
        """Return the messages for this page, and clear them; none for a page of which the visitor does not see the whole."""
        is_whole = self.request.method != "HEAD" and PART_HEADER not in self.request.headers
        return self.session.take_notes() if is_whole else []

    def require_admin(self) -> None:
        """Raise PermissionDenied unless the visitor is an admin."""
        if not self.is_admin:
            raise PermissionDenied


Work = Callable[[Visit], Awaitable[Response]]


def route(
    desk: Desk, path: str, work: Work, *, methods: Sequence[str] = ("GET",), is_about_owner: bool = True
) -> Route:
    """Return the route of a page for signed-in visitors. Jobs that a post queues are linked to its span.

    With `is_about_owner`, a form of a page that showed another owner than the session does now is refused.
    """

    async def watched(request: Request) -> Response:
        if request.method != "POST":
            return await answer(request)
        with desk.watch.post(path, request.headers) as posted:
            response = await answer(request)
            posted.status = response.status_code
        return response

    async def answer(request: Request) -> Response:
        session_id = request.cookies.get(COOKIE, "")
        session = desk.sessions.get(session_id)
        if session is None:
            return _to_sign_in(request)
        try:
            identity = await desk.authenticate(session.token)
            form = await _form(request, session, is_about_owner=is_about_owner)
            return await _audited(path, Visit(desk, request, session, identity, form), work)
        except Unauthenticated:
            desk.sessions.close(session_id)
            return _to_sign_in(request)
        except FormUnusable as error:
            return error_page(error, 413)
        except InvalidArgument as error:
            if error.field == "owner_id":
                return RedirectResponse(f"/owner?next={_wanted(request)}", 303)
            return error_page(error, 400)
        except _KNOWN as error:
            return error_page(error, _STATUS.get(row_of(error).code.name, 500))

    return Route(path, watched, methods=list(methods))


async def _audited(path: str, visit: Visit, work: Work) -> Response:
    """Return the page, and record an audit entry if such requests are audited."""
    desk, request, session = visit.desk, visit.request, visit.session
    if desk.audit is None or not is_noted(visit.identity, path):
        return await work(visit)
    object_ids = named({**request.path_params, **visit.form})
    method = f"{request.method} {path}"
    with Noting(desk.audit, visit.identity, "console", method, owner=session.owner, named=object_ids) as noted:
        response = await work(visit)
        noted.outcome = OK if response.status_code < HTTPStatus.BAD_REQUEST else str(response.status_code)
        return response


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


def error_page(error: Exception, status: int) -> Response:
    """Return the error page of a failure. Details that are not meant for callers are logged instead."""
    row = row_of(error)
    if row.is_hidden:
        log.error("page_failed", exc_info=error)
    text = "An internal error occurred; the log has details." if row.is_hidden else row.message or message_of(error)
    return HTMLResponse(render("failure.html", visit=None, text=text), status)


def read_id(visit: Visit, name: str) -> UUID:
    """Return the UUID of a path parameter. Raises NotFound."""
    try:
        return UUID(visit.request.path_params[name])
    except ValueError as error:
        raise NotFound(name) from error


def after(visit: Visit, read: Callable[[str], K]) -> tuple[datetime, K] | None:
    """Return the time and key of the row after which a list continues; None for the beginning, or if they are invalid."""
    at, _, key = visit.query.get("after", "")[:500].replace("\0", "").partition("_")
    try:
        moment = datetime.fromisoformat(at)
        return (moment, read(key)) if moment.tzinfo else None
    except ValueError:
        return None


class FormUnusable(InvalidArgument):
    """A posted form that is too large or incomplete."""

    def __init__(self, problem: str, most_bytes: int) -> None:
        super().__init__("form", problem, f"send at most {most_bytes // 1024} KiB and {MAX_FORM_FIELDS} fields")


async def read_form(request: Request, *, most_bytes: int = MAX_FORM_BYTES) -> dict[str, str]:
    """Return a posted form's fields; for a repeated field, the last value. Raises FormUnusable as soon as it is too large."""
    body = bytearray()
    try:
        async for piece in request.stream():
            body += piece
            if len(body) > most_bytes:
                raise FormUnusable(f"is larger than {most_bytes // 1024} KiB", most_bytes)
    except ClientDisconnect:
        raise FormUnusable("is incomplete", most_bytes) from None
    # A small form is parsed in a millisecond; in a thread it would delay the event loop for longer.
    parse = partial(_fields, bytes(body), most_bytes)
    return parse() if len(body) <= MAX_FORM_BYTES else await aside(parse)


def _fields(body: bytes, most_bytes: int) -> dict[str, str]:
    if has_many_stray_percents(body):
        raise FormUnusable("has percent signs that encode nothing", most_bytes)
    try:
        fields = parse_qs(body.decode(errors="replace"), keep_blank_values=True, max_num_fields=MAX_FORM_FIELDS)
    except ValueError:
        raise FormUnusable(f"has more than {MAX_FORM_FIELDS} fields", most_bytes) from None
    return {name: values[-1] for name, values in fields.items()}


async def _form(request: Request, session: ConsoleSession, *, is_about_owner: bool) -> Mapping[str, str]:
    if request.method != "POST":
        return {}
    form = await read_form(request, most_bytes=MAX_VISITORS_FORM_BYTES)
    if not session.is_csrf_token(form.get("csrf_token", "")):
        raise PermissionDenied
    # Tabs share the session and its owner, and owners may have memories and pages of the same id.
    if is_about_owner and form.get(SHOWN_OWNER, session.owner) != session.owner:
        raise FailedPrecondition("form", "is of a page of another owner than is shown now; open the page again")
    return form


def _to_sign_in(request: Request) -> Response:
    return RedirectResponse(f"/login?next={_wanted(request)}", 303)


def _wanted(request: Request) -> str:
    """Return the requested page with its query, encoded as a query's value; / for a post."""
    if request.method == "POST":
        return "/"
    query = request.url.query
    return quote(quote(request.scope["path"]) + (f"?{query}" if query else ""))
