"""The candidates for hubs of periods, with all the pages that have their tag and not only the changed ones."""

from __future__ import annotations

from dataclasses import replace

from compiler.plan.batch import ParentCandidate
from compiler.plan.contract import PageKey, PageType
from compiler.plan.judging.parents import PERIOD
from compiler.plan.names.locating import PERIOD_TAG
from store.db.queries import Connection
from store.scope import Scope
from store.wiki import candidates


async def with_all_pages(
    connection: Connection, scope: Scope, found: tuple[ParentCandidate, ...]
) -> tuple[ParentCandidate, ...]:
    """Return the candidates, those of periods with all active pages that have their tag."""
    tags = {f"{PERIOD_TAG}{one.slug}" for one in found if one.kind == PERIOD}
    pages: dict[str, set[PageKey]] = {}
    for tag, kind, slug in await candidates.tagged(connection, scope, sorted(tags)):
        pages.setdefault(tag.removeprefix(PERIOD_TAG), set()).add(PageKey(PageType(kind), slug))
    return tuple(
        replace(one, pages=tuple(sorted({*one.pages, *pages.get(one.slug, ())}))) if one.kind == PERIOD else one
        for one in found
    )
