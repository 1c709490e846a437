"""An admin's acts on the wiki: names, pages archived and brought back, held names set aside."""

from __future__ import annotations

from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute

from sidecar.http.console.desk import Desk, Visit, read_id, route
from sidecar.http.console.pages.wiki import key_of


def routes(desk: Desk) -> list[BaseRoute]:
    """Return the forms of the wiki."""
    return [
        route(desk, "/wiki/mentions/{mention_id}/ignore", ignore_mention, methods=["POST"]),
        route(desk, "/wiki/{type}/{slug}/archive", archive_page, methods=["POST"]),
        route(desk, "/wiki/{type}/{slug}/alias", add_alias, methods=["POST"]),
    ]


async def ignore_mention(visit: Visit) -> Response:
    """Set a held name aside."""
    visit.require_admin()
    await visit.services.wiki.ignore_mention(visit.scope, read_id(visit, "mention_id"))
    visit.tell("The name is set aside.")
    return RedirectResponse("/wiki/mentions", 303)


async def archive_page(visit: Visit) -> Response:
    """Archive a page."""
    visit.require_admin()
    row = await visit.services.wiki.archive_page(visit.scope, "/".join(key_of(visit)))
    visit.tell(f"{row.title} is archived.")
    return RedirectResponse(row.path, 303)


async def add_alias(visit: Visit) -> Response:
    """Give a page a name."""
    visit.require_admin()
    alias = visit.form.get("alias", "").strip()
    row, _ = await visit.services.wiki.add_alias(visit.scope, "/".join(key_of(visit)), alias)
    visit.tell(f"{row.title} is also called {alias}.")
    return RedirectResponse(row.path, 303)
