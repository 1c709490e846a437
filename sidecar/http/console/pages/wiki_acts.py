"""An admin's acts on the wiki: names, pages archived and brought back, held names set aside."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute

from compiler.operations import acts
from compiler.plan.upkeep import ActRefused
from sidecar.http.console.desk import Desk, Visit, read_id, route
from sidecar.http.console.pages.wiki import key_of
from sidecar.runtime.errors import FailedPrecondition, NotFound
from sidecar.services.validation import read_text
from store.db.postgres import scoped
from store.db.queries import Connection
from store.wiki import browse
from store.wiki.browse import PageRow

_MAX_ALIAS_CHARS = 200


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
    mention_id = read_id(visit, "mention_id")
    async with _acting(visit) as connection:
        if not await acts.ignore_mention(connection, visit.scope, mention_id, now=visit.desk.clocks.now()):
            raise NotFound("mention")
    visit.tell("The name is set aside.")
    return RedirectResponse("/wiki/mentions", 303)


async def archive_page(visit: Visit) -> Response:
    """Archive a page."""
    visit.require_admin()
    async with _acting(visit) as connection:
        row = await _page(visit, connection)
        await acts.archive_page(connection, visit.scope, row, now=visit.desk.clocks.now())
    visit.tell(f"{row.title} is archived.")
    return RedirectResponse(row.path, 303)


async def add_alias(visit: Visit) -> Response:
    """Give a page a name."""
    visit.require_admin()
    name = read_text("alias", visit.form.get("alias", "").strip(), min_chars=1, max_chars=_MAX_ALIAS_CHARS)
    async with _acting(visit) as connection:
        row = await _page(visit, connection)
        await acts.add_alias(connection, visit.scope, row, name, now=visit.desk.clocks.now())
    visit.tell(f"{row.title} is also called {name}.")
    return RedirectResponse(row.path, 303)


@asynccontextmanager
async def _acting(visit: Visit) -> AsyncIterator[Connection]:
    """Yield a transaction to act in; what the plan refuses is told as the state's."""
    try:
        async with scoped(visit.desk.pools.background, visit.scope) as connection:
            yield connection
    except ActRefused as error:
        raise FailedPrecondition(error.subject, error.problem) from error


async def _page(visit: Visit, connection: Connection) -> PageRow:
    row = await browse.page_by_key(connection, visit.scope, *key_of(visit))
    if row is None:
        raise NotFound("page")
    return row
