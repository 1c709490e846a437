"""Signing in and out: a token is exchanged for a session, and an admin chooses an owner."""

from __future__ import annotations

from datetime import timedelta
from functools import partial

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from sidecar.http.console.desk import Desk, FormUnusable, Visit, error_page, read_form, route
from sidecar.http.console.sessions import COOKIE
from sidecar.http.console.writing import aside, render
from sidecar.rpc.auth.identity import resolve_scope
from sidecar.rpc.transport.status import message_of
from sidecar.runtime.errors import KeysUnavailable, Unauthenticated
from sidecar.services.validation import read_id

_OWNERS_DAYS = 90


def routes(desk: Desk) -> list[BaseRoute]:
    """Return the pages of signing in."""

    async def show(request: Request) -> Response:
        return await _form(request.query_params.get("next", ""), "")

    async def sign_in(request: Request) -> Response:
        try:
            form = await read_form(request)
        except FormUnusable as error:
            return error_page(error, 413)
        wanted = form.get("next", "")
        token = "".join(form.get("token", "").split())
        if not token.isascii() or not token:
            return await _form(wanted, "Paste a token.", 401)
        try:
            await desk.authenticate(token)
        except (Unauthenticated, KeysUnavailable) as error:
            return await _form(wanted, message_of(error), 401)
        answer = RedirectResponse(_place(wanted), 303)
        answer.set_cookie(
            COOKIE, desk.sessions.open(token), httponly=True, samesite="strict", secure=desk.is_behind_tls
        )
        return answer

    return [
        Route("/login", show, methods=["GET"]),
        Route("/login", sign_in, methods=["POST"]),
        route(desk, "/logout", sign_out, methods=["POST"]),
        route(desk, "/owner", show_owners),
        route(desk, "/owner", choose_owner, methods=["POST"], is_about_owner=False),
    ]


async def sign_out(visit: Visit) -> Response:
    """End the session."""
    visit.desk.sessions.close(visit.request.cookies.get(COOKIE, ""))
    answer = RedirectResponse("/login", 303)
    answer.delete_cookie(COOKIE, httponly=True, samesite="strict", secure=visit.desk.is_behind_tls)
    return answer


async def show_owners(visit: Visit) -> Response:
    """Show the owners to choose from: those of the token, or, for an admin, those with turns in the last 90 days."""
    owners = [str(owner) for owner in visit.identity.owner_ids or ()]
    if visit.is_admin:
        now, tenant_id = visit.desk.clocks.now(), visit.identity.tenant_id
        since = now - timedelta(days=_OWNERS_DAYS)
        spending = await visit.services.costs.spent(tenant_id, since=since, until=now, by="owner")
        owners = sorted({row.key for row in spending})
    wanted = _place(visit.query.get("next", ""), "/turns")
    return await visit.page("owner.html", owners=owners[:200], wanted=wanted)


async def choose_owner(visit: Visit) -> Response:
    """Show an owner's data from now on. Raises the API's error for an owner out of reach."""
    owner = read_id("owner", visit.form.get("owner", ""))
    resolve_scope(visit.identity, "", owner)
    visit.session.owner = owner
    return RedirectResponse(_place(visit.form.get("next", "/turns")), 303)


async def _form(wanted: str, trouble: str, status: int = 200) -> Response:
    page = await aside(partial(render, "login.html", visit=None, wanted=_place(wanted), trouble=trouble))
    return HTMLResponse(page, status)


def _place(wanted: str, otherwise: str = "/") -> str:
    """Return the target after signing in: a path of this console, never another site."""
    is_path = wanted.startswith("/") and not wanted.startswith(("//", "/\\")) and wanted.isprintable()
    return wanted if is_path else otherwise
