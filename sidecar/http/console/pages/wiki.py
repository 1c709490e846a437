"""The wiki: search, a page with its sources, names that wait for a page, and an admin's changes to them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute

from compiler.plan.text import markdown, markup
from compiler.plan.text.sentences import sentences
from sidecar.http.console.desk import Desk, Visit, after, read_id, route
from sidecar.http.console.sentences import marked
from sidecar.http.console.writing import aside
from sidecar.runtime.errors import InvalidArgument
from store.wiki.browse import TYPES, Order, PageRow, SectionRow
from store.wiki.page_search import MOST_FOUND

_ROWS = 100
_MENTIONS = 50
_SHOWN_SOURCES = 100
_SHOWN_SENTENCES = 200


@dataclass(frozen=True, slots=True)
class ShownSection:
    """A section whose sentences have a mark if a memory supports them, and its sentences for a report."""

    row: SectionRow
    body_md: str
    sentences: Sequence[str] = ()


def routes(desk: Desk) -> list[BaseRoute]:
    """Return the pages of the wiki."""
    return [
        route(desk, "/wiki", list_pages),
        route(desk, "/wiki/mentions", list_mentions),
        route(desk, "/wiki/{type}/{slug}", show_page),
        route(desk, "/wiki/mentions/{mention_id}/ignore", ignore_mention, methods=["POST"]),
        route(desk, "/wiki/{type}/{slug}/archive", archive_page, methods=["POST"]),
        route(desk, "/wiki/{type}/{slug}/alias", add_alias, methods=["POST"]),
        route(desk, "/wiki/{type}/{slug}/rename", rename_page, methods=["POST"]),
        route(desk, "/wiki/{type}/{slug}/merge", merge_page, methods=["POST"]),
        route(desk, "/wiki/{type}/{slug}/unmerge", undo_merge, methods=["POST"]),
        route(desk, "/wiki/{type}/{slug}/wrong", report_sentence, methods=["POST"]),
        route(desk, "/wiki/{type}/{slug}/restore", restore_sentence, methods=["POST"]),
    ]


async def list_pages(visit: Visit) -> Response:
    """Show the pages that match a question, best first, or all pages in an order, a hundred at a time."""
    scope, question = visit.scope, visit.query.get("q", "")[:500].replace("\0", "")
    kind, wanted = visit.query.get("type", ""), visit.query.get("order", "")
    page_type = kind if kind in TYPES else ""
    order = Order(wanted) if wanted in [*Order] else Order.HUBNESS
    status = "archived" if visit.query.get("status") == "archived" else "active"
    if question.strip():
        rows = [hit.page for hit in await visit.services.wiki.search(scope, question, page_type=page_type)]
    else:
        rows = await visit.services.wiki.pages(
            scope, order, status=status, page_type=page_type, limit=_ROWS + 1, **_start(visit, order)
        )
    values = {"page_type": page_type, "status": status, "order": order, "types": TYPES, "orders": [*Order]}
    if question:
        is_cut = len(rows) == MOST_FOUND
        return await visit.page("wiki.html", rows=rows, more="", question=question, is_cut=is_cut, **values)
    more = _after(visit, rows[_ROWS - 1], order) if len(rows) > _ROWS else ""
    return await visit.page("wiki.html", rows=rows[:_ROWS], more=more, question=question, is_cut=False, **values)


def _after(visit: Visit, last: PageRow, order: Order) -> str:
    """Return the query string of the rows after `last`."""
    place = {
        Order.NAME: f"{last.type}_{last.slug}",
        Order.HUBNESS: f"{last.hubness_score}_{last.page_id}",
        Order.TIME: f"{last.last_compiled_at.isoformat()}_{last.page_id}",
    }
    return urlencode({**visit.query, "after": place[order]})


def _start(visit: Visit, order: Order) -> dict[str, Any]:
    """Return the position where a list continues; its beginning if the query has no valid position."""
    head, _, tail = visit.query.get("after", "")[:500].replace("\0", "").partition("_")
    if not tail:
        return {}
    try:
        match order:
            case Order.NAME:
                return {"after": (head, tail)}
            case Order.HUBNESS:
                return {"after": (min(int(head[:9]), 2**31 - 1), UUID(tail))}
            case Order.TIME:
                return {"after": after(visit, UUID)}
    except ValueError:
        return {}


async def show_page(visit: Visit) -> Response:
    """Show a page with its sections, the memories behind its sentences, names, links to and from it, and its compiles."""
    view = await visit.services.wiki.page_with_surroundings(visit.scope, *key_of(visit), most_links=_ROWS)
    if (view.whole.page.type, view.whole.page.slug) != key_of(visit):
        return RedirectResponse(view.whole.page.path, 303)
    around = {
        one: getattr(view, one)
        for one in ("whole", "links", "backlinks", "children", "counts", "parent", "jobs", "merged", "reports", "edges")
    }
    sections = await aside(partial(_shown, view.whole.sections))
    return await visit.page("page.html", sections=sections, most=_SHOWN_SOURCES, **around)


def _shown(sections: Sequence[SectionRow]) -> list[ShownSection]:
    return [
        ShownSection(
            one,
            marked(
                markup.harmless(one.body_md), [source.text or "" for source in one.sources], anchor=f"from-{one.slug}"
            ),
            () if one.aggregation else _sentences(one.body_md),
        )
        for one in sections
    ]


def _sentences(body_md: str) -> list[str]:
    lines = (line.removeprefix("- ") for line in body_md.split("\n"))
    return [one for line in lines for one in sentences(markdown.unescape(line))][:_SHOWN_SENTENCES]


async def list_mentions(visit: Visit) -> Response:
    """Show the names that wait for a page, or those of another status."""
    scope, wanted = visit.scope, visit.query.get("status", "open")
    status = wanted if wanted in {"open", "promoted", "ignored"} else "open"
    rows = await visit.services.wiki.mentions(scope, status, limit=_MENTIONS + 1, after=after(visit, UUID))
    last = rows[_MENTIONS - 1] if len(rows) > _MENTIONS else None
    more = urlencode({"status": status, "after": f"{last.updated_at.isoformat()}_{last.mention_id}"}) if last else ""
    return await visit.page("mentions.html", rows=rows[:_MENTIONS], status=status, more=more)


def key_of(visit: Visit) -> tuple[str, str]:
    """Return the type and slug of the path. Raises InvalidArgument."""
    page_type, slug = visit.request.path_params["type"], visit.request.path_params["slug"]
    if page_type not in TYPES:
        raise InvalidArgument("type", "is not a type of page", f"use one of {', '.join(TYPES)}")
    return page_type, slug.replace("\0", "")


async def ignore_mention(visit: Visit) -> Response:
    """Ignore a held name."""
    visit.require_admin()
    await visit.services.wiki.ignore_mention(visit.scope, read_id(visit, "mention_id"))
    visit.tell("The name is ignored.")
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


async def rename_page(visit: Visit) -> Response:
    """Give a page another title."""
    visit.require_admin()
    title = visit.form.get("title", "").strip()
    row = await visit.services.wiki.rename_page(visit.scope, "/".join(key_of(visit)), title)
    visit.tell(f"The page is now titled {row.title}.")
    return RedirectResponse(row.path, 303)


async def merge_page(visit: Visit) -> Response:
    """Merge a page into another."""
    visit.require_admin()
    into = visit.form.get("into", "").strip()
    row = await visit.services.wiki.merge_pages(visit.scope, "/".join(key_of(visit)), into)
    visit.tell(f"The page is now a part of {row.title}.")
    return RedirectResponse(row.path, 303)


async def undo_merge(visit: Visit) -> Response:
    """Undo a page's merge."""
    visit.require_admin()
    path, count, _ = await visit.services.wiki.undo_merge(visit.scope, "/".join(key_of(visit)))
    memories = "1 memory" if count == 1 else f"{count} memories"
    visit.tell(f"The merge is undone. A compile reads {memories} again.")
    row = await visit.services.wiki.page_by_key(visit.scope, *path.split("/")[2:])
    return RedirectResponse(path if row else "/wiki", 303)


async def report_sentence(visit: Visit) -> Response:
    """Remove a wrong sentence from the page."""
    page = "/".join(key_of(visit))
    report = await visit.services.wiki.report_sentence(visit.scope, page, visit.form.get("sentence", ""))
    memory = f" Its source is the memory {report.memory_id}." if report.memory_id else ""
    visit.tell(f"The sentence is removed from the page, and no later compile writes it there.{memory}")
    return RedirectResponse(report.ruling.page.path, 303)


async def restore_sentence(visit: Visit) -> Response:
    """Restore a reported sentence."""
    visit.require_admin()
    report = await visit.services.wiki.restore_sentence(visit.scope, visit.form.get("report_id", ""))
    visit.tell("The sentence is restored on the page.")
    return RedirectResponse(report.ruling.page.path, 303)
